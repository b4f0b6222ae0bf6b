"""php-fpm masters of any account and any container that run here, found by their titles; nothing of
theirs is executed or asked."""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct, field

from phpdyno.config.fpm_conf import GLOBAL, ConfEntry, Variables, read_fpm_conf
from phpdyno.errors import DynoError
from phpdyno.host.files.below_root import below_root, glob_below
from phpdyno.host.files.small_files import SmallFiles, whole
from phpdyno.host.processes.times import inner_number
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.live.masters import started_with, titles
from phpdyno.servers.live.taken_over import options_of

POOL_TITLE = "php-fpm: pool "
STATUS_SUFFIX = "_status"
"""How the pool ends that php-fpm makes for `pm.status_listen`."""
PREFIX = Path("/usr")
"""Where relative includes begin in most builds; no program is executed to ask."""
MOST_CONFIG = 1 << 22
MOST_POOLS = 1000
BACKLOG = 511
"""php-fpm's own default."""


class WatchedMaster(Struct, frozen=True):
    """A running master. `config` is a path as it sees it, '' where its title is cut off; `inside`:
    it has another root or PID namespace.

    `started` (clock ticks since boot) tells it from a later process of its number. `group` is the
    last part of its cgroup's path.
    """

    pid: int
    uid: int
    config: str
    started: int
    inside: bool
    group: str = ""


class WatchedPool(Struct, frozen=True):
    """A pool as its master's file has it; where the file cannot be read (`unread` says why) only
    its name is known.

    `address` is `unix:/path` or `tcp:HOST:PORT`, '' where it is not known; so is `status_address`.
    Directives are as they are written.
    """

    master: WatchedMaster
    name: str
    directives: dict[str, str] = field(default_factory=dict)
    process_max: int = 0
    unread: str = ""

    @property
    def shown(self) -> str:
        """Its name as text that can be written anywhere: a name may hold any bytes."""
        return as_text(self.name)

    @property
    def key(self) -> str:
        """What tells it from every other pool that runs: PID:NAME."""
        return f"{self.master.pid}:{self.shown}"

    @property
    def address(self) -> str:
        """Where it listens."""
        return address_of(self.directives.get("listen", ""))

    @property
    def status_address(self) -> str:
        """Where its status page listens beside its own socket, '' for nowhere."""
        return address_of(self.directives.get("pm.status_listen", ""))

    @property
    def status_path(self) -> str:
        """The path of its status page; php-fpm takes / where it listens beside and the path is not
        said."""
        return self.directives.get("pm.status_path", "") or ("/" if self.status_address else "")

    @property
    def backlog(self) -> int:
        """What it asks for as the limit of its queue; the kernel may give less
        (net.core.somaxconn)."""
        asked = whole(self.directives.get("listen.backlog")) or BACKLOG
        return asked if asked > 0 else 1 << 16

    def number(self, directive: str) -> int | None:
        """A directive that is a number; None where it is not said."""
        return whole(self.directives.get(directive))


def watched_masters(tree: SmallFiles | None = None) -> list[WatchedMaster]:
    """Every master that runs and is not ours, by process number; those that end meanwhile are left
    out."""
    tree = tree or SmallFiles()
    found = []
    for pid, config in titles():
        uid, started = whole((tree.field(f"/proc/{pid}/status", "Uid") or "").partition("\t")[0]), started_ticks(pid)
        if uid is not None and started is not None and not _is_child_of_master(pid, tree):
            groups = (tree.text(f"/proc/{pid}/cgroup") or "").splitlines()
            group = max((line.rpartition("/")[2] for line in groups), key=len, default="")
            found.append(WatchedMaster(pid, uid, config, started, _is_inside(pid), group))
    return found


def started_ticks(pid: int) -> int | None:
    """When a process was started, in clock ticks since boot; None where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
    except OSError:
        return None


def pools_of(master: WatchedMaster) -> list[WatchedPool]:
    """The pools of a master: by its file, else by its workers' titles."""
    try:
        sections = _sections(master)
    except (OSError, DynoError) as error:
        why = error.what if isinstance(error, DynoError) else f"{error.filename}: {error.strerror}"
        return [WatchedPool(master, name, unread=why) for name in _titled(master)]
    overall = {entry.key: entry.value for entry in sections.get(GLOBAL, [])}
    process_max = whole(overall.get("process.max")) or 0
    pools = [
        WatchedPool(master, name, {entry.key: entry.value.replace("$pool", name) for entry in entries if not entry.index}, process_max)
        for name, entries in sections.items()
        if name != GLOBAL
    ]
    return pools[:MOST_POOLS]


def _sections(master: WatchedMaster) -> dict[str, list[ConfEntry]]:
    if not master.config:
        raise DynoError("its title is cut off, so its configuration file is not known")
    # Of another account's process, whose title may be a lie, a heap of any size is not gone
    # through.
    trusted = master.uid in {0, os.geteuid()}
    argv, env = _started_with(master.pid, master.started) if trusted else (None, None)
    given = [value for letter, value in options_of(argv or ()) if letter == "p"]
    top = os.open(f"/proc/{master.pid}/root", os.O_PATH | os.O_CLOEXEC) if master.inside else None
    try:
        files = _FilesOf(master, top)
        return read_fpm_conf(Path("/", master.config), prefix=Path(given[-1]) if given else PREFIX, variables=Variables(env), files=files)
    finally:
        if top is not None:
            os.close(top)


@lru_cache(maxsize=64)
def _started_with(pid: int, started: int) -> tuple[tuple[str, ...] | None, dict[str, str] | None]:
    """Once for each process: going through its heap takes 0.2 s, and what it was started with does
    not change."""
    return started_with(pid)


class _FilesOf:
    """The files that a master reads, as it sees them. `top` is its opened root directory, None
    where that is ours.

    Any account can give a process this title: as root only files of root's or of the master's own
    account are read.
    """

    def __init__(self, master: WatchedMaster, top: int | None) -> None:
        self._accounts = {0, master.uid}
        self._top = top

    def read(self, path: Path, where: str) -> bytes:
        """Content of a plain file. Raises OSError, DynoError."""
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY) if self._top is None else below_root(self._top, path)
        with os.fdopen(file, "rb") as stream:
            held = os.fstat(stream.fileno())
            if not stat.S_ISREG(held.st_mode):
                raise DynoError(f"{path} is no plain file", where=where)
            if os.geteuid() == 0 and held.st_uid not in self._accounts:
                raise DynoError(f"{path} belongs to another account than php-fpm", where=where)
            return stream.read(MOST_CONFIG)

    def glob(self, pattern: str) -> Sequence[Path]:
        """Plain files that an include names, in order."""
        return glob_below(self._top, pattern)


def _titled(master: WatchedMaster) -> Iterator[str]:
    seen = dict.fromkeys(name for pid in children_of(master.pid) if (name := pool_of_worker(pid)))
    return (name for name in seen if not (name.endswith(STATUS_SUFFIX) and name.removesuffix(STATUS_SUFFIX) in seen))


def pool_of_worker(pid: int) -> str:
    """The pool that a worker's title names; '' where it is none, or has ended."""
    try:
        title = Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0].decode("utf-8", "surrogateescape").rstrip()
    except OSError:
        return ""
    return title.removeprefix(POOL_TITLE) if title.startswith(POOL_TITLE) else ""


def _is_child_of_master(pid: int, tree: SmallFiles) -> bool:
    """A worker that was just forked still bears its master's title."""
    parent = whole(tree.field(f"/proc/{pid}/status", "PPid"))
    try:
        title = tree.path(f"/proc/{parent}/cmdline").read_bytes()
    except OSError:
        return False
    return title.startswith(b"php-fpm: master process (")


def _is_inside(pid: int) -> bool:
    """Whether it sees another root directory than we do, or has a number of its own in a PID
    namespace."""
    try:
        if not Path(f"/proc/{pid}/root").samefile("/"):
            return True
    except OSError as error:
        if error.errno not in {errno.EACCES, errno.EPERM}:
            return False
    return inner_number(pid) != pid


def as_text(name: str) -> str:
    """What was decoded with escapes for bytes that are no UTF-8, with a sign for each of them
    instead."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def address_of(listen: str) -> str:
    """`listen` as `unix:/path` or `tcp:HOST:PORT`; a pool that listens everywhere is found on
    loopback; '' for a relative path."""
    if listen.startswith("/"):
        return f"unix:{listen}"
    if listen.isdecimal():
        return f"tcp:127.0.0.1:{listen}"
    host, _, port = listen.rpartition(":")
    if not port.isdecimal():
        return ""
    return f"tcp:{'127.0.0.1' if host in {'', '*', '0.0.0.0', '[::]'} else host}:{port}"  # noqa: S104 (what is compared, not bound)
