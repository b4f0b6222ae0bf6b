"""Asking the workers of a running pool: php_files/probe.php over FastCGI, and what /proc says of
them. Nothing is changed or signalled."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from msgspec import structs

from phpdyno.bundle.apply.proving import Live
from phpdyno.bundle.manifest import Manifest
from phpdyno.bundle.write.division import BEFORE_WORKERS, MARK
from phpdyno.errors import DynoError
from phpdyno.host.files.scratch import scratch_directory
from phpdyno.host.sockets.listen_queue import ListenQueue
from phpdyno.model.facts import ServerFacts, WorkerFacts
from phpdyno.paths import live_root
from phpdyno.servers.bench import PROBE
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.facts.worker import MAY_LOOK, ProbeAnswer, facts_of, probe_worker
from phpdyno.servers.live.masters import LiveMaster
from phpdyno.servers.live.pool import LivePool, import_pool

MOST_WORKERS = 8
"""So many are asked; they all come from one master."""
ASK_NS = 5_000_000_000
HOUR_S = 3600.0


def read_live(manifest: Manifest, mark: str, *, selector: str = "") -> Live:
    """What the pool of a bundle tells now; `selector` names it where its section alone does not.

    Raises DynoError and UsageError as `import_pool` does, and where another php-fpm than the
    bundle's runs it.
    """
    try:
        pool = import_pool(selector or f"{Path(manifest.php.executable).name}/{manifest.php.pool}")
    except DynoError as error:
        if selector or not manifest.before_all_else:
            raise
        what = f"the php-fpm of this bundle does not run: {error.what}"
        step = f"journalctl -u {manifest.php.unit} tells why; if it is not installed: {manifest.before_all_else}"
        raise DynoError(what, where=manifest.php.executable, next_step=step) from error
    master = pool.master
    if master is None or master.exe != str(Path(manifest.php.executable).resolve()):
        what = f"the pool runs {master.exe if master else 'another php-fpm'}, and the bundle is for {manifest.php.executable}"
        raise DynoError(what, where=f"live:{pool.selector}", next_step="name the right pool with --pool")
    workers, unasked = _ask_workers(pool, master, manifest)
    return Live(configured=pool.settings, workers=workers, unasked=unasked, mark=mark, env_known=master.env is not None)


def _ask_workers(pool: LivePool, master: LiveMaster, manifest: Manifest) -> tuple[tuple[WorkerFacts, ...], str]:
    """Facts of several workers, or why there are none."""
    if not pool.address:
        return (), "where the pool listens cannot be told from its files"
    names = tuple(name.removeprefix("env.") for name in manifest.settings if name.startswith("env."))
    found: dict[int, WorkerFacts] = {}
    with _probe() as probe:
        for _ in range(4 * MOST_WORKERS):
            answer = probe_worker(pool.address, probe, (MARK, *names), timeout_ns=ASK_NS)
            if answer is None:
                break
            try:
                found[answer.pid] = _facts(answer, pool, master)
            except PermissionError:
                return (), f"what /proc shows of its workers may not be read: run phpdyno as root; {MAY_LOOK}"
            except OSError:
                continue  # it was this worker's last request (pm.max_requests)
            if len(found) >= min(MOST_WORKERS, len(workers_of(master.pid, pool.section))):
                break
    if found:
        return tuple(found.values()), ""
    why = "chroot, PrivateTmp, open_basedir, listen.allowed_clients, the rights to its socket or a busy pool may be why"
    return (), f"no worker answers a question at {pool.address} ({why})"


def _facts(answer: ProbeAnswer, pool: LivePool, master: LiveMaster) -> WorkerFacts:
    """What a worker told. Variables that act when php-fpm starts are its master's, whatever the
    pool lets its workers see.

    Raises OSError when it is gone.
    """
    inherited = {name: value for name, value in (master.env or {}).items() if BEFORE_WORKERS.fullmatch(name)}
    told = structs.replace(answer, env={**inherited, **answer.env})
    family: Literal["unix", "tcp"] = "unix" if pool.address.startswith("unix:") else "tcp"
    facts = facts_of(told, family=family, workers=len(workers_of(master.pid, pool.section)))
    facts = structs.replace(facts, servers=ServerFacts(listen_limit=_listen_limit(pool.address)))
    if facts.opcache is None or facts.opcache.jit is None:
        return facts
    # Nobody saw how much was free before the first request: all of what is in use counts as
    # compiled, some KiB of the JIT's own included.
    jit = structs.replace(facts.opcache.jit, free_at_start_bytes=facts.opcache.jit.buffer_size_bytes)
    return structs.replace(facts, opcache=structs.replace(facts.opcache, jit=jit))


def workers_of(master: int, section: str) -> tuple[int, ...]:
    """Processes of a pool: php-fpm writes the pool's name into their titles."""
    title = f"php-fpm: pool {section}".encode()
    return tuple(pid for pid in children_of(master) if _title(pid) == title)


def _title(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0].rstrip()
    except OSError:
        return b""


def _listen_limit(address: str) -> int | None:
    try:
        with ListenQueue(address) as queue:
            return queue.read().limit
    except (OSError, ValueError):
        return None


@contextmanager
def _probe() -> Iterator[Path]:
    """A copy of the probe that every account may read; it looks old, because opcache leaves out
    what was changed just now."""
    with scratch_directory(live_root()) as place:
        place.chmod(0o755)
        copy = place / PROBE.name
        shutil.copyfile(PROBE, copy)
        copy.chmod(0o644)
        then = copy.stat().st_mtime - HOUR_S
        os.utime(copy, (then, then))
        yield copy
