"""php-fpm masters that run on this host and are not ours: found and read below /proc, never
signalled, stopped or asked."""

import os
import pwd
import re
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from phpdyno.config.trusted import refuse_untrusted
from phpdyno.errors import DynoError

TITLE = "php-fpm: master process ("
_TITLE = TITLE.encode()
MOST_TITLE = 1 << 16
TITLES = b"master process (%s)"
"""What every php-fpm's binary holds: a title alone can be given to any program, and this one is
going to be executed."""
OURS = "phpdyno-"
BY_HAND = "give the pool's settings by hand (ini.NAME=…;pool.pm=…)"
MOST_HEAP_BYTES = 1 << 26
FPM_SOCKETS = "FPM_SOCKETS="
"""php-fpm hands its sockets over a reload in this variable; then its environment is longer than
what it was started with."""


class LiveMaster(Struct, frozen=True):
    """A running master: its binary, its configuration file, its directory, how it was started
    (`started_s`: seconds since 1970).

    `argv` and `env` are None where they cannot be read: php-fpm overwrites both with its title, and
    only its memory still holds them.
    """

    pid: int
    exe: str
    config: Path
    cwd: Path
    started_s: float
    argv: tuple[str, ...] | None = None
    env: dict[str, str] | None = None


class Masters(Struct, frozen=True):
    """The masters of our own account's pools, by pid; `refused` say of the others why not: a
    container, a replaced binary, another account.

    Those of other accounts come last: any account can give a process this title.
    """

    found: tuple[LiveMaster, ...] = ()
    refused: tuple[DynoError, ...] = ()


def live_masters() -> Masters:
    """Every master that runs here and is not ours."""
    found, refused, foreign = [], [], []
    for pid, config in titles():
        if (stranger := _of_another_account(pid)) is not None:
            foreign.append(stranger)
            continue
        try:
            found.append(_master(pid, config))
        except DynoError as error:
            refused.append(error)
    return Masters(tuple(found), (*refused, *foreign))


def titles() -> Iterator[tuple[int, str]]:
    """Process and configuration file ('' where the title is cut off) of every master that does not
    run from a live directory."""
    for pid in sorted(map(int, filter(str.isdecimal, os.listdir("/proc")))):  # noqa: PTH208 (asked again and again by who watches)
        try:
            with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as stream:  # noqa: PTH123 (the same)
                line = stream.read(MOST_TITLE)
        except OSError:
            continue  # it ended, or belongs to somebody whose processes are hidden from us
        if not line.startswith(_TITLE):
            continue
        title = line.partition(b"\0")[0].decode("utf-8", "surrogateescape")
        if not any(part.startswith(OURS) for part in title.split("/")):
            yield pid, title[len(TITLE) : -1] if title.endswith(")") else ""


def _of_another_account(pid: int) -> DynoError | None:
    """Why a process is not ours to read: its title is the only thing that makes it a php-fpm, and
    what it names is opened and executed."""
    where = f"php-fpm, process {pid}"
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return DynoError("it ended while it was looked at", where=where, next_step="try again")
    uids = {int(uid) for uid in status.partition("\nUid:")[2].partition("\n")[0].split()}  # real, effective, saved, of the file system
    if uids == {os.geteuid()}:
        return None
    owner = _account(max(uids, default=0))
    return DynoError(f"it belongs to another account ({owner})", where=where, next_step=f"run phpdyno as {owner}, or {BY_HAND}")


def _account(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _master(pid: int, config: str) -> LiveMaster:
    where = f"php-fpm, process {pid}"
    if not config:
        raise DynoError("its title is cut off, so its configuration file is not known", where=where, next_step=BY_HAND)
    try:
        exe = os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115 (the text, not a path: it may end in " (deleted)")
        other_root = not Path(f"/proc/{pid}/root").samefile("/")
        home = Path(f"/proc/{pid}/cwd").readlink()
        started_s = _started_s(pid)
    except PermissionError as error:
        raise DynoError("this pool cannot be looked into (permission denied)", where=where, next_step=BY_HAND) from error
    except OSError as error:
        raise DynoError("it ended while it was looked at", where=where, next_step="try again") from error
    if other_root:
        raise DynoError("it runs in a container with a root directory of its own", where=where, next_step="run phpdyno inside it")
    if exe.endswith(" (deleted)"):
        what = f"{exe.removesuffix(' (deleted)')} was replaced since it started (an upgrade?)"
        raise DynoError(what, where=where, next_step="restart php-fpm, or give its settings by hand")
    memory = _Memory(pid, exe)
    master = LiveMaster(pid=pid, exe=exe, config=home / config, cwd=home, started_s=started_s, argv=memory.argv(), env=memory.env())
    refuse_strangers_files(master)
    return master


def refuse_strangers_files(master: LiveMaster) -> None:
    """Raises DynoError where its binary or its configuration could be another account's, is no
    php-fpm, or its number is another's now."""
    where = f"php-fpm, process {master.pid}"
    try:
        for path in (Path(master.exe), master.config):
            refuse_untrusted(path, where=where)
        is_php = TITLES in Path(master.exe).read_bytes()
        same = _started_s(master.pid) == master.started_s and _of_another_account(master.pid) is None
    except OSError as error:
        raise DynoError(f"{error.filename}: {error.strerror}", where=where, next_step=BY_HAND) from error
    if not is_php:
        raise DynoError(f"{master.exe} is no php-fpm, whatever its title says", where=where, next_step=BY_HAND)
    if not same:
        raise DynoError("it ended while it was looked at", where=where, next_step="try again")


def started_with(pid: int) -> tuple[tuple[str, ...] | None, dict[str, str] | None]:
    """Arguments and environment of a master of any account, from its heap; None, each, where they
    cannot be read. Nothing is executed."""
    memory = _Memory(pid, "")
    return memory.argv(), memory.env()


class _Memory:
    """The heap of a master, in which php-fpm keeps copies of its arguments and its environment:
    arrays of pointers to strings."""

    def __init__(self, pid: int, exe: str) -> None:
        self._exe = exe
        self._argv_bytes, self._env_bytes = _sizes(pid)
        self._start, self._data = _heap(pid)
        self._found = list(self._arrays())

    def argv(self) -> tuple[str, ...] | None:
        """The arguments: the array whose strings are together as long as the command line was; None
        unless there is exactly one."""

        def is_php(program: str) -> bool:
            return "fpm" in Path(program).name or Path(program).name == Path(self._exe).name

        found = {
            strings for strings in self._found if sum(len(each) + 1 for each in strings) == self._argv_bytes and is_php(_text(strings[0]))
        }
        return tuple(_text(each) for each in found.pop()) if len(found) == 1 else None

    def env(self) -> dict[str, str] | None:
        """The environment: the array of NAME=value as long as what the process was started with;
        None where there is none."""
        if not self._env_bytes:
            return {} if self._argv_bytes else None
        best: dict[str, str] | None = None
        for strings in self._found:
            texts = [_text(each) for each in strings]
            if all(re.match(r"[A-Za-z_][A-Za-z0-9_]*=", each) for each in texts):
                length = sum(len(each) + 1 for each in strings)
                reloaded = any(each.startswith(FPM_SOCKETS) for each in texts)
                if length == self._env_bytes or (reloaded and self._env_bytes / 2 < length <= self._env_bytes):
                    best = dict(each.split("=", 1) for each in texts)
        return best

    def _arrays(self) -> Iterator[tuple[bytes, ...]]:
        """Every run of pointers into the heap that a null pointer ends, as the strings that they
        point to."""
        end = self._start + len(self._data)
        words = [entry[0] for entry in struct.iter_unpack("<Q", self._data)]
        run: list[int] = []
        for word, following in pairwise([*words, 1]):
            if not self._start <= word < end:
                run = []
                continue
            run.append(word)
            if following == 0:
                yield tuple(self._string(at) for at in run)

    def _string(self, address: int) -> bytes:
        at = address - self._start
        return self._data[at : self._data.find(b"\0", at)]


def _started_s(pid: int) -> float:
    """When a process was started, in seconds since 1970."""
    booted = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime "))
    ticks = int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    return int(booted.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")


def _sizes(pid: int) -> tuple[int, int]:
    """Bytes that the command line and the environment had when the process was started; 0 where
    they are hidden."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return 0, 0
    arg_start, arg_end, env_start, env_end = map(int, stat.rpartition(")")[2].split()[45:49])
    return arg_end - arg_start, env_end - env_start


def _heap(pid: int) -> tuple[int, bytes]:
    """Address and content of its heap; nothing where it may not be read."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
        span = next(line.split()[0] for line in lines if line.endswith("[heap]"))
        start, end = (int(part, 16) for part in span.split("-"))
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
            memory.seek(start)
            data = memory.read(min(end - start, MOST_HEAP_BYTES))
    except (OSError, StopIteration):
        return 0, b""
    return start, data[: len(data) & ~7]


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
