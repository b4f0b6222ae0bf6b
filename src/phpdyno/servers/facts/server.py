"""What pool and web server of an instance show of themselves, and the kernel of a worker."""

import functools
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.host.files.plain import read_led
from phpdyno.host.sockets.listen_queue import ListenQueue
from phpdyno.knobs.catalogue.host import PAGE_KIB
from phpdyno.model.facts import KernelFacts, ServerFacts
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.facts.pool_status import read_process_manager

_CONNECTED = "03"
_ESTABLISHED = "01"
_DYNAMIC = 2
_DT_BIND_NOW, _DT_FLAGS, _DT_FLAGS_1 = 24, 30, 0x6FFFFFFB
_DF_BIND_NOW, _DF_1_NOW = 8, 1
_MAPPING = re.compile(r"(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) (?P<rights>[-rwxsp]{4}) \S+ \S+ \S+ *(?P<path>.*)")
_NAMELESS = "/anon_hugepage"
"""What the kernel calls reserved huge pages that are of no file."""
_HUGE = ("AnonHugePages:", "Private_Hugetlb:", "Shared_Hugetlb:")
_ELF64 = b"\x7fELF\x02\x01"


def server_facts(fastcgi: str, *, status: str, web: int | None, log: Path | None, kept: bool) -> ServerFacts:
    """Facts of the pool at `fastcgi`.

    `status`: address of its status page ('': not asked); `web`: nginx's master; `kept`: count
    connections. Never raises: what cannot be read is None.
    """
    # Before the status page is asked, whose own connection would count.
    connections = _open_connections(fastcgi) if kept else None
    return ServerFacts(
        process_manager=_manager(status),
        listen_limit=_listen_limit(fastcgi),
        kept_connections=connections,
        web_workers=0 if web is None else len(children_of(web)),
        access_log_bytes=_size(log) if log else None,
    )


def _manager(status: str) -> str:
    try:
        return read_process_manager(status) if status else ""
    except DynoError:
        return ""


def _listen_limit(fastcgi: str) -> int | None:
    try:
        with ListenQueue(fastcgi) as queue:
            return queue.read().limit
    except (OSError, ValueError):
        return None


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _open_connections(fastcgi: str) -> int | None:
    kind, _, place = fastcgi.partition(":")
    try:
        if kind == "unix":
            return connected_at(place, Path("/proc/net/unix").read_text(errors="surrogateescape"))
        return established_at(int(place.rpartition(":")[2]), Path("/proc/net/tcp").read_text())
    except (OSError, ValueError):
        return None


def connected_at(path: str, table: str) -> int:
    """Accepted connections of the socket at a path, from /proc/net/unix: they bear its name."""
    rows = (line.split(None, 7) for line in table.splitlines()[1:])
    return sum(len(row) == 8 and row[5] == _CONNECTED and row[7] == path for row in rows)


def established_at(port: int, table: str) -> int:
    """Connections that are open at a local port, from /proc/net/tcp."""
    rows = (line.split(None, 4) for line in table.splitlines()[1:])
    return sum(len(row) == 5 and row[3] == _ESTABLISHED and int(row[1].rpartition(":")[2], 16) == port for row in rows)


def kernel_facts(pid: int, exe: str, mapped: tuple[str, ...], *, lazy: bool) -> KernelFacts:
    """Facts that the kernel has of a process. Raises OSError when it is gone.

    `lazy`: look into the mapped files for those that bind their functions later.
    """
    maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    # Seven times as dear to read, for every instance of every block.
    smaps = Path(f"/proc/{pid}/smaps").read_text(errors="replace") if may_hold_moved_code(maps) else ""
    return KernelFacts(
        thp_off=thp_off(Path(f"/proc/{pid}/status").read_text(errors="replace")),
        text_kib=text_kib(maps, exe),
        code_huge_kib=code_huge_kib(smaps),
        hugepages=_reserved(),
        somaxconn=_number(Path("/proc/sys/net/core/somaxconn")),
        # A device may be mapped as well, and has no end.
        lazy=tuple(path for path in mapped if (path == exe or ".so" in path) and _leaves_for_later(Path(path))) if lazy else None,
    )


def thp_off(status: str) -> bool | None:
    """Whether prctl took a process's transparent huge pages away, from /proc/PID/status; None where
    the kernel (before 5.0) is silent."""
    found = next((line.split()[1] for line in status.splitlines() if line.startswith("THP_enabled:")), None)
    return None if found is None else found == "0"


def text_kib(maps: str, exe: str) -> int:
    """KiB of a program's own code, from /proc/PID/maps; 0 where it is no file any more (moved to
    huge pages as a whole)."""
    return sum(kib for kib, _, path in _code(maps) if path == exe)


def may_hold_moved_code(maps: str) -> bool:
    """Whether there is private code of no file that has room for a huge page, by /proc/PID/maps."""
    return any(private and kib >= PAGE_KIB and (path[:1] != "/" or path.startswith(_NAMELESS)) for kib, private, path in _code(maps))


def _code(maps: str) -> Iterator[tuple[int, bool, str]]:
    """The size of each executable mapping, whether it is private, and the file ('' for none)."""
    for line in maps.splitlines():
        found = _MAPPING.match(line)
        if found and "x" in found["rights"]:
            yield (int(found["end"], 16) - int(found["start"], 16)) >> 10, "p" in found["rights"], found["path"]


def code_huge_kib(smaps: str) -> int:
    """KiB of private code that is on huge pages, from /proc/PID/smaps. (What the JIT compiles lies
    in memory that all workers share.)"""
    total, counts = 0, False
    for line in smaps.splitlines():
        if found := _MAPPING.match(line):
            counts = "x" in found["rights"] and "p" in found["rights"]
        elif counts and line.startswith(_HUGE):
            total += int(line.split()[1])
    return total


def _reserved() -> int | None:
    try:
        told = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in told.splitlines() if line.startswith("HugePages_Total:")), None)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


@functools.cache
def _leaves_for_later(path: Path) -> bool:
    """Asked once of each file: all that a worker maps is some 100 MiB."""
    try:
        return binds_later(read_led(path))
    except (OSError, struct.error):
        return False


def binds_later(elf: bytes) -> bool:
    """Whether a little-endian 64-bit ELF file with a dynamic section asks for no binding at load;
    False for anything else.

    Raises struct.error for one that is cut short.
    """
    if not elf.startswith(_ELF64):
        return False
    (table,) = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for at in range(table, table + size * count, size):
        kind, _, offset = struct.unpack_from("<IIQ", elf, at)
        if kind == _DYNAMIC:
            (length,) = struct.unpack_from("<Q", elf, at + 32)
            entries = dict(struct.unpack_from("<QQ", elf, place) for place in range(offset, offset + length, 16))
            return not (_DT_BIND_NOW in entries or entries.get(_DT_FLAGS, 0) & _DF_BIND_NOW or entries.get(_DT_FLAGS_1, 0) & _DF_1_NOW)
    return False
