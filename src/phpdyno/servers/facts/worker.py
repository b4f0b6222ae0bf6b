"""Facts of a running worker: what it says of itself, and what /proc says of it."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from phpdyno._native import Engine, Target
from phpdyno.errors import DynoError
from phpdyno.model.decoding import NOT_JSON
from phpdyno.model.facts import OpcacheFacts, WorkerFacts
from phpdyno.server_files.fastcgi import http_request, request_params
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.facts.server import kernel_facts
from phpdyno.servers.programs.php import read_build_id

PROBE_TIMEOUT_NS = 10_000_000_000
MAY_LOOK = "in a container give phpdyno the capability SYS_PTRACE"
"""What helps where /proc keeps a worker of the servers' account from root."""


class ProbeAnswer(Struct, frozen=True):
    """What php_files/probe.php prints; `memory` is its process's smaps_rollup while PHP's heap held
    some chunks."""

    pid: int
    php_version: str
    ini: dict[str, str]
    env: dict[str, str]
    extensions: tuple[str, ...]
    realpath_cache_bytes: int
    opcache: OpcacheFacts | None
    served_files: int = 0
    ini_files: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    memory: str = ""

    @property
    def jit_free_bytes(self) -> int:
        """Free bytes of the JIT buffer, 0 without one."""
        return self.opcache.jit.buffer_free_bytes if self.opcache and self.opcache.jit else 0


def probe_worker(
    fastcgi: str,
    probe: Path,
    env_names: Sequence[str] = (),
    *,
    root: Path | None = None,
    listed: bool = False,
    timeout_ns: int = PROBE_TIMEOUT_NS,
) -> ProbeAnswer | None:
    """Ask whichever worker accepts next; None when nobody answers as the probe does (not up yet, or
    somebody else's port).

    With `root` it counts the files in that directory which the worker knows; `listed`: and names
    those that opcache holds.
    """
    query = _query(env_names, root) + ("&list=1" if listed else "")
    params = request_params(path=f"/{probe.name}?{query}", host="localhost", docroot=probe.parent, script=f"/{probe.name}")
    return _asked(fastcgi, Target.fastcgi(params, status=200), timeout_ns)


def probe_over_http(
    http: str, path: str, env_names: Sequence[str] = (), *, root: Path | None = None, timeout_ns: int = PROBE_TIMEOUT_NS
) -> ProbeAnswer | None:
    """The same of a server that has PHP in itself and answers for the probe at a URL path."""
    request = http_request(path=f"{path}?{_query(env_names, root)}", host="localhost")
    return _asked(http, Target.http(request, status=200), timeout_ns)


def _query(env_names: Sequence[str], root: Path | None) -> str:
    return urlencode([*(("env[]", name) for name in env_names), *([("root", str(root))] if root else [])])


def _asked(address: str, target: Target, timeout_ns: int) -> ProbeAnswer | None:
    answer = Engine(address, [target], keep_alive=False, response_timeout_ns=timeout_ns).fetch(0)
    if answer.outcome != 0:
        return None
    try:
        return msgspec.json.decode(answer.body, type=ProbeAnswer)
    except NOT_JSON:
        return None


def read_facts(ask: Callable[[], ProbeAnswer | None], family: Literal["unix", "tcp"], master: int) -> WorkerFacts:
    """Facts of one worker of those under `master`, whichever answers `ask`. Raises DynoError when
    none does, or it may not be looked at.

    Its huge pages are those that it had before it was asked, if that is more: PHP's heap gives back
    after a small request, which the probe is, what it held for a large one.
    """
    for _ in range(2):
        before = _anonymous_kib_of(children_of(master))
        answer = ask()
        if answer is None:
            break
        try:
            pid = pid_here(answer.pid, children_of(master))
            facts = facts_of(answer, pid=pid, family=family, workers=len(children_of(master)))
            return msgspec.structs.replace(facts, anon_huge_kib=max(facts.anon_huge_kib, before.get(pid, 0)))
        except PermissionError as error:
            raise DynoError("what /proc shows of the worker may not be read", next_step=MAY_LOOK) from error
        except OSError:
            continue  # the probe was this worker's last request (pm.max_requests): ask its successor
    raise DynoError("no worker answers the probe")


def pid_here(pid: int, known: Iterable[int]) -> int:
    """The number, as we see it, of the process among `known` that calls itself `pid`: in a PID
    namespace it has another one. `pid` itself where there is none. (Its own number is the last that
    /proc has of it.)"""
    for each in known:
        with suppress(OSError):
            told = Path(f"/proc/{each}/status").read_text(errors="replace")
            numbers = next((line.split()[1:] for line in told.splitlines() if line.startswith("NSpid:")), [str(each)])
            if int(numbers[-1]) == pid:
                return each
    return pid


def facts_of(answer: ProbeAnswer, *, family: Literal["unix", "tcp"], workers: int, pid: int | None = None) -> WorkerFacts:
    """What a process said of itself, with what /proc says of it; `pid` is its number here, where it
    calls itself another.

    Raises OSError when it is gone.
    """
    pid = answer.pid if pid is None else pid
    exe = Path(f"/proc/{pid}/exe").readlink()
    now, held = _huge_pages(pid), _huge_in(answer.memory)
    anon_huge_kib, hugetlb_kib = max(now[0], held[0]), max(now[1], held[1])
    mapped = mapped_paths(pid)
    told: dict[str, Any] = msgspec.structs.asdict(answer)
    told["pid"] = pid
    del told["scripts"], told["memory"]
    return WorkerFacts(
        **told,
        exe=str(exe),
        build_id=read_build_id(exe),
        opcache_so=_named(mapped, "opcache.so"),
        socket_family=family,
        workers=workers,
        anon_huge_kib=anon_huge_kib,
        hugetlb_kib=hugetlb_kib,
        mapped_extensions=tuple(path for path in mapped if path.endswith(".so")),
        preloaded=tuple(path for path in answer.env.get("LD_PRELOAD", "").replace(":", " ").split() if _named(mapped, path)),
        kernel=kernel_facts(pid, str(exe), mapped, lazy="LD_BIND_NOW" in answer.env),
    )


def mapped_paths(pid: int) -> tuple[str, ...]:
    """Files that are mapped into a process, each once, as /proc/PID/maps names them (what is no
    UTF-8 in a name is replaced: records name them). Raises OSError when it is gone or may not be
    read."""
    lines = Path(f"/proc/{pid}/maps").read_bytes().decode(errors="replace").split("\n")
    return tuple(dict.fromkeys(line.split(None, 5)[5] for line in lines if "/" in line))


def _named(mapped: Sequence[str], name: str) -> str:
    """The first mapped file of that path or name; '' when there is none."""
    return next((path for path in mapped if path == name or path.endswith(f"/{name}")), "")


def _anonymous_kib_of(pids: Iterable[int]) -> dict[int, int]:
    """Anonymous huge pages of those that are still there, in KiB."""
    found = {}
    for pid in pids:
        with suppress(OSError):
            found[pid], _ = _huge_pages(pid)
    return found


def _huge_pages(pid: int) -> tuple[int, int]:
    """Anonymous huge pages and hugetlb pages of a process, in KiB. Raises OSError when it is gone
    or may not be read."""
    return _huge_in(Path(f"/proc/{pid}/smaps_rollup").read_text())


def _huge_in(rollup: str) -> tuple[int, int]:
    totals = {"AnonHugePages": 0, "Shared_Hugetlb": 0, "Private_Hugetlb": 0}
    for line in rollup.splitlines():
        name, _, rest = line.partition(":")
        if name in totals:
            totals[name] += int(rest.split()[0])
    return totals["AnonHugePages"], totals["Shared_Hugetlb"] + totals["Private_Hugetlb"]
