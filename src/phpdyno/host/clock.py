"""Host-wide CPU time: busy and stolen, from /proc/stat."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

_NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class HostCpu(Struct, frozen=True):
    """Totals since boot over some cores, in nanoseconds (at the resolution of a tick)."""

    busy_ns: int
    idle_ns: int
    steal_ns: int


def read_host_cpu(stat: Path = Path("/proc/stat"), cores: Sequence[int] = ()) -> HostCpu:
    """Of all cores, or of those named. user + nice + system + irq + softirq are busy; guest time is already in user."""
    names = {f"cpu{core}" for core in cores} or {"cpu"}
    busy = idle = steal = 0
    with stat.open(encoding="ascii") as file:
        for line in file:
            name, *fields = line.split()
            if not name.startswith("cpu"):
                break
            if name in names:
                user, nice, system, waiting, iowait, irq, softirq, stolen = (int(field) for field in fields[:8])
                busy += user + nice + system + irq + softirq
                idle += waiting + iowait
                steal += stolen
    return HostCpu(busy * _NS_PER_TICK, idle * _NS_PER_TICK, steal * _NS_PER_TICK)


def stolen_share(before: HostCpu, after: HostCpu) -> float:
    """Share of the time in which the cores had work that the hypervisor gave to somebody else. An idle core has nothing to be stolen.

    That time is reckoned as half of all at least: of a core that was nearly idle a few ticks would make a large share.
    """
    steal = after.steal_ns - before.steal_ns
    wanted = steal + after.busy_ns - before.busy_ns
    most = max(wanted, (wanted + after.idle_ns - before.idle_ns) // 2)
    return steal / most if most > 0 else 0.0
