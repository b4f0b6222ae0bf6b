"""php-fpm's status page of our own instances, asked over FastCGI.

With `pm.status_listen` (PHP 8.0) php-fpm makes a pool of its own for it, `NAME_status`, on demand:
no process before the first question, which forks a worker (5 ms) that ends after 10 s without
another. It answers although all workers of the real pool are busy. A question costs it 60 µs of CPU
and the master 20, both in the instance's cgroup, and us 75: ask outside of what is measured.
"""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from phpdyno._native import OUTCOMES, Engine, Target
from phpdyno.errors import DynoError
from phpdyno.model.decoding import NOT_JSON
from phpdyno.model.runs.readings import PoolStatus
from phpdyno.server_files.fastcgi import request_params
from phpdyno.server_files.php import STATUS_PATH

TIMEOUT_NS = 2_000_000_000
Count = Annotated[int, Meta(ge=0)]


class _Page(Struct, frozen=True, rename=lambda name: name.replace("_", " ")):
    """The page as php-fpm names its fields; newer versions may add some."""

    pool: str
    process_manager: str
    accepted_conn: Count
    listen_queue: Count
    max_listen_queue: Count
    listen_queue_len: Count
    idle_processes: Count
    active_processes: Count
    total_processes: Count
    max_active_processes: Count
    max_children_reached: Count
    slow_requests: Count
    start_time: int = 0


class PoolPage(Struct, frozen=True):
    """The page of a pool of somebody else's: its counters, `pm`, and when it was started (seconds
    since 1970)."""

    status: PoolStatus
    pm: str
    started_s: int


def status_listen(version: str, run: Path) -> str:
    """Where in the directory `run` the page listens; '' for the pool's own socket, as before PHP
    8.0."""
    return str(run / "status.sock") if int(version.partition(".")[0]) >= 8 else ""


def parse_status(body: bytes) -> PoolStatus:
    """The page in JSON. Raises DynoError for anything else."""
    return _status_of(_decoded(body, ""))


def _decoded(body: bytes, where: str) -> _Page:
    try:
        return msgspec.json.decode(body, type=_Page)
    except NOT_JSON as error:
        raise DynoError(f"this is not php-fpm's status page: {error}", where=where) from error


def _status_of(page: _Page) -> PoolStatus:
    if page.total_processes != page.idle_processes + page.active_processes:
        raise DynoError("php-fpm's status page contradicts itself: its processes are neither idle nor active")
    return PoolStatus(
        accepted=page.accepted_conn,
        listen_queue=page.listen_queue,
        max_listen_queue=page.max_listen_queue,
        listen_queue_len=page.listen_queue_len,
        idle=page.idle_processes,
        active=page.active_processes,
        total=page.total_processes,
        max_active=page.max_active_processes,
        max_children_reached=page.max_children_reached,
        slow_requests=page.slow_requests,
    )


def read_pool_status(address: str, *, timeout_ns: int = TIMEOUT_NS) -> PoolStatus:
    """Ask at an instance's `status` address (`unix:/path` or `tcp:HOST:PORT`). Raises DynoError
    when there is no page.

    At the pool's own address (before PHP 8.0) the question waits for a free worker and counts
    itself as active.
    """
    return parse_status(_page(address, timeout_ns))


def read_process_manager(address: str, *, timeout_ns: int = TIMEOUT_NS) -> str:
    """The pool's `pm` as the page at an address names it. Raises DynoError when there is no
    page."""
    return _decoded(_page(address, timeout_ns), address).process_manager


def read_pool_page(address: str, *, path: str, timeout_ns: int = TIMEOUT_NS) -> PoolPage:
    """The page of a pool that is not ours, at `path` (pm.status_path). Raises DynoError when there
    is no page or it may not be asked."""
    page = _decoded(_page(address, timeout_ns, path), address)
    return PoolPage(_status_of(page), page.process_manager, page.start_time)


def _page(address: str, timeout_ns: int, path: str = STATUS_PATH) -> bytes:
    params = request_params(path=f"{path}?json", host="localhost", docroot=Path("/"), script=path)
    engine = Engine(address, [Target.fastcgi(params, status=200)], keep_alive=False, response_timeout_ns=timeout_ns)
    answer = engine.fetch(0)
    if OUTCOMES[answer.outcome] != "ok":
        raise DynoError(f"php-fpm's status page does not answer: {answer.detail or OUTCOMES[answer.outcome]}", where=address)
    return answer.body
