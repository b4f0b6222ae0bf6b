"""The memory map of a process by what is mapped, from /proc/PID/smaps."""

import re

from phpdyno.host.files.small_files import SmallFiles
from phpdyno.host.processes.memory import MemoryUnreadable
from phpdyno.model.inside.memory_map import MapKind, Mapped, MemoryMap

_HEAD = re.compile(r"^[0-9a-f]+-[0-9a-f]+ ")
_LIBRARY = re.compile(r"\.so(\.|$)")
_SHARED_NAMES = ("/dev/zero", "/memfd:", "/SYSV", "/dev/shm/", "anon_inode:", "/anon_hugepage")  # noqa: S108 (what /proc calls them)
_FIELDS = ("Pss", "Rss", "Private_Clean", "Private_Dirty")


def parse_map(text: str, program: str) -> MemoryMap:
    """A smaps, `program` being the executable's path. Raises ValueError for what is none."""
    sums: dict[MapKind, dict[str, int]] = {}
    mine: dict[str, int] | None = None
    for line in text.splitlines():
        if _HEAD.match(line):
            words = line.split(maxsplit=5)
            if len(words) < 5:
                raise ValueError("the head of a mapping is cut off")
            kind = kind_of(words[1], words[5] if len(words) > 5 else "", program)
            mine = sums.setdefault(kind, dict.fromkeys(_FIELDS, 0))
        elif mine is not None:
            name, _, rest = line.partition(":")
            if name in mine:
                mine[name] += int(rest.split()[0])
    if not sums:
        raise ValueError("no mapping")
    return {
        kind: Mapped(each["Pss"], each["Private_Clean"] + each["Private_Dirty"], each["Rss"])
        for kind, each in sorted(sums.items(), key=lambda one: -one[1]["Pss"])
    }


def kind_of(permissions: str, name: str, program: str) -> MapKind:
    """The kind of one mapping. Pure."""
    if permissions.endswith("s") or name.startswith(_SHARED_NAMES):
        return "shared"
    if name.startswith("[heap"):
        return "heap"
    if name.startswith("[") and not name.startswith("[anon"):
        return "stack"
    if not name.startswith("/"):
        return "anonymous"
    path = name.removesuffix(" (deleted)")
    if path == program:
        return "program"
    return "libraries" if _LIBRARY.search(path) else "files"


def read_map_of(pid: int, program: str, tree: SmallFiles | None = None) -> MemoryMap:
    """Read the memory map of one process. Raises MemoryUnreadable where it may not be read, or is
    gone."""
    place = f"/proc/{pid}/smaps"
    try:
        text = (tree or SmallFiles()).path(place).read_text(encoding="utf-8", errors="replace")
        return parse_map(text, program)
    except PermissionError as error:
        raise MemoryUnreadable("its memory may not be read", where=place, next_step="run phpdyno as root") from error
    except (OSError, ValueError) as error:
        raise MemoryUnreadable(f"its memory map cannot be read: {error}", where=place) from error
