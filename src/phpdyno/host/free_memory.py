"""How much memory can still be taken: of the host, and below the limits of our own cgroups."""

from msgspec import Struct

from phpdyno.host.files.small_files import SmallFiles
from phpdyno.host.surroundings import groups_of

_NO_LIMIT = 1 << 60
_GIVEN_UP = frozenset({"active_file", "inactive_file", "slab_reclaimable"})
"""What the kernel gives up before a cgroup's limit is met (cgroup v2; in v1 with `total_` before
it, and without slabs)."""


class Room(Struct, frozen=True):
    """One limit on memory, and what is left below it, KiB."""

    limit_kib: int
    left_kib: int


def rooms(tree: SmallFiles | None = None) -> tuple[Room, ...]:
    """The host's memory and each limit of our own cgroups, as far as they can be read."""
    tree = tree or SmallFiles()
    total, available = tree.kib("/proc/meminfo", "MemTotal"), tree.kib("/proc/meminfo", "MemAvailable")
    found = [Room(total, available)] if total is not None and available is not None else []
    for group, kind in groups_of(tree):
        limit = tree.number(f"{group}/{'memory.max' if kind == 'cgroup2' else 'memory.limit_in_bytes'}")
        used = tree.number(f"{group}/{'memory.current' if kind == 'cgroup2' else 'memory.usage_in_bytes'}")
        if limit is not None and limit < _NO_LIMIT and used is not None:
            found.append(Room(limit // 1024, max(0, limit - used + _given_up(tree, group)) // 1024))
    return tuple(found)


def free_kib(tree: SmallFiles | None = None) -> int | None:
    """KiB that processes of ours can still take before the host swaps or a cgroup's limit is met;
    None where nothing tells."""
    return min((room.left_kib for room in rooms(tree)), default=None)


def _given_up(tree: SmallFiles, group: str) -> int:
    """Bytes of the group's memory that the kernel gives up first: pages of files, and caches of its
    own."""
    total = 0
    for line in (tree.text(f"{group}/memory.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name.removeprefix("total_") in _GIVEN_UP and value.isdecimal() and not _is_counted_twice(tree, group, name):
            total += int(value)
    return total


def _is_counted_twice(tree: SmallFiles, group: str, name: str) -> bool:
    """In v1 a group's own figure stands beside that of its whole tree, which is what its usage is
    of."""
    return not name.startswith("total_") and f"total_{name} " in (tree.text(f"{group}/memory.stat") or "")
