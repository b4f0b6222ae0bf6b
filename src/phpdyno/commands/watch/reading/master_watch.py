"""One master, watched: its children and its cgroups, read once an interval for all its pools."""

import time
from collections.abc import Iterator

from msgspec import Struct

from phpdyno.host.files.small_files import SmallFiles
from phpdyno.host.pressure import Throttled, memory_used, pressure_10s, throttled
from phpdyno.host.processes.times import inner_number
from phpdyno.host.surroundings import limits_of
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.live.watched_masters import WatchedMaster, started_ticks

LIMITS_EVERY_S = 10.0


class GroupSeen(Struct, frozen=True):
    """What its cgroups allow and take over one interval; None where there is no limit, or nothing
    tells."""

    memory_limit_kib: float | None = None
    memory_used_kib: float | None = None
    cpu_limit_cores: float | None = None
    throttled: float | None = None
    memory_pressure: float | None = None


class MasterWatch:
    """What its pools ask of it. `children` are those of the last look, `alive` says whether it is
    still the same process."""

    def __init__(self, master: WatchedMaster) -> None:
        self.master = master
        self.alive = True
        self.children: tuple[int, ...] = ()
        self._tree = SmallFiles()
        self._numbers: dict[int, int] = {}
        self._inner: frozenset[int] | None = None
        self._limits = limits_of(self._tree, master.pid)
        self._limits_s = time.monotonic()
        self._throttled = throttled(self._tree, self._limits.cpu)
        self.group = GroupSeen()
        self.look()

    def look(self) -> None:
        """Begin an interval."""
        self.alive = started_ticks(self.master.pid) == self.master.started
        self.find_children()
        now = time.monotonic()
        if now - self._limits_s >= LIMITS_EVERY_S:
            self._limits, self._limits_s = limits_of(self._tree, self.master.pid), now
        limits, before = self._limits, self._throttled
        self._throttled = throttled(self._tree, limits.cpu)
        self.group = GroupSeen(
            limits.memory.value,
            memory_used(self._tree, limits.memory),
            limits.cpu.value,
            throttled_share(before, self._throttled),
            pressure_10s(self._tree, "memory", limits.memory.place),
        )

    def find_children(self) -> None:
        """Look for its workers anew: one may have come or gone since the interval began."""
        self.children = children_of(self.master.pid)
        if self.master.inside:
            self._numbers = {pid: self._numbers[pid] if pid in self._numbers else inner_number(pid) for pid in self.children}
        self._inner = frozenset(self.number(pid) for pid in self.children) or None

    @property
    def inner(self) -> frozenset[int] | None:
        """Its children as their own PID namespace numbers them; None where the kernel tells of
        none."""
        return self._inner

    def number(self, pid: int) -> int:
        """The number of one of its children in its own PID namespace."""
        return self._numbers.get(pid, pid)

    def hidden(self) -> Iterator[str]:
        """Limits that cannot be seen, each with the reason."""
        for what, limit in (("memory", self._limits.memory), ("CPU", self._limits.cpu)):
            if limit.hidden:
                yield f"whether a cgroup limits its {what} is not known: {limit.hidden}"


def throttled_share(before: Throttled, now: Throttled) -> float | None:
    """Share of the periods between two readings in which a CPU limit stopped the group; None where
    that is not told."""
    if before.periods is None or before.stopped is None or now.periods is None or now.stopped is None:
        return None
    periods = now.periods - before.periods
    return (now.stopped - before.stopped) / periods if periods > 0 else 0.0
