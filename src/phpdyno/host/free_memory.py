"""How much memory can still be taken: of the host, and below the limits of our own cgroups."""

from phpdyno.host.surroundings import limit_groups
from phpdyno.host.tree import Tree

_NO_LIMIT = 1 << 60


def free_kib(tree: Tree | None = None) -> int | None:
    """KiB that processes of ours can still take before the host swaps or a cgroup's limit is met; None where nothing tells.

    What a cgroup holds of files that nobody has open counts as free: the kernel gives it up first.
    """
    tree = tree or Tree()
    host = tree.kib("/proc/meminfo", "MemAvailable")
    left = [host] if host is not None else []
    for group, kind in limit_groups(tree):
        limit = tree.number(f"{group}/{'memory.max' if kind == 'cgroup2' else 'memory.limit_in_bytes'}")
        used = tree.number(f"{group}/{'memory.current' if kind == 'cgroup2' else 'memory.usage_in_bytes'}")
        if limit is not None and limit < _NO_LIMIT and used is not None:
            left.append(max(0, limit - used + _cached(tree, group)) // 1024)
    return min(left, default=None)


def _cached(tree: Tree, group: str) -> int:
    """Bytes of files in the group's memory that are not in use."""
    for line in (tree.text(f"{group}/memory.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name in {"inactive_file", "total_inactive_file"} and value.isdecimal():
            return int(value)
    return 0
