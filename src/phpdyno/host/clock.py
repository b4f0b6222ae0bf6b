"""Host-wide CPU time: busy and stolen, from /proc/stat."""

import os
from pathlib import Path

from msgspec import Struct

_NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class HostCpu(Struct, frozen=True):
    """Totals since boot over all cores, in nanoseconds (at the resolution of a tick)."""

    busy_ns: int
    idle_ns: int
    steal_ns: int


def read_host_cpu(stat: Path = Path("/proc/stat")) -> HostCpu:
    """user + nice + system + irq + softirq are busy; guest time is already in user."""
    with stat.open(encoding="ascii") as file:
        user, nice, system, idle, iowait, irq, softirq, steal = (int(field) for field in file.readline().split()[1:9])
    return HostCpu((user + nice + system + irq + softirq) * _NS_PER_TICK, (idle + iowait) * _NS_PER_TICK, steal * _NS_PER_TICK)


def steal_fraction(before: HostCpu, after: HostCpu) -> float:
    """Share of the time between two readings that the hypervisor gave to somebody else."""
    steal = after.steal_ns - before.steal_ns
    total = steal + after.busy_ns - before.busy_ns + after.idle_ns - before.idle_ns
    return steal / total if total > 0 else 0.0
