"""Host-wide CPU time: busy and stolen, from /proc/stat."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

_NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
SOME_WORK = 0.10
"""Of its time: a core that was busy for less had none to speak of. Ticks and the kernel's own
chores are a few per cent."""


class HostCpu(Struct, frozen=True):
    """Totals since boot over some cores, in nanoseconds (at the resolution of a tick)."""

    busy_ns: int
    idle_ns: int
    steal_ns: int


def read_host_cpu(stat: Path = Path("/proc/stat"), cores: Sequence[int] = ()) -> HostCpu:
    """CPU time of all cores, or of those named. user + nice + system + irq + softirq are busy;
    guest time is already in user."""
    each = read_each(stat, cores)
    return HostCpu(sum(one.busy_ns for one in each), sum(one.idle_ns for one in each), sum(one.steal_ns for one in each))


def read_each(stat: Path = Path("/proc/stat"), cores: Sequence[int] = ()) -> tuple[HostCpu, ...]:
    """Each of the cores named by itself, in their order; without any, one reading of all of them
    together."""
    names = [f"cpu{core}" for core in cores] or ["cpu"]
    found: dict[str, HostCpu] = {}
    with stat.open(encoding="ascii") as file:
        for line in file:
            name, *fields = line.split()
            if not name.startswith("cpu"):
                break
            if name in names:
                user, nice, system, waiting, iowait, irq, softirq, stolen = (int(field) * _NS_PER_TICK for field in fields[:8])
                found[name] = HostCpu(user + nice + system + irq + softirq, waiting + iowait, stolen)
    return tuple(found.get(name, HostCpu(0, 0, 0)) for name in names)


def stolen_share(before: HostCpu, after: HostCpu) -> float:
    """Share of the time in which the cores had work that the hypervisor gave to somebody else. An
    idle core has nothing to be stolen.

    That time is reckoned as half of all at least: of a core that was nearly idle a few ticks would
    make a large share.
    """
    return stolen_over((before,), (after,))


def stolen_over(before: Sequence[HostCpu], after: Sequence[HostCpu]) -> float:
    """The same of several cores that were read each by itself: only those that had work count,
    unless none had.

    Cores that idle beside a busy one would hide what is stolen from it.
    """
    spans = [_span(one, other) for one, other in zip(before, after, strict=True)]
    counted = [span for span in spans if span.wanted_ns >= SOME_WORK * span.all_ns] or spans
    most = max(sum(span.wanted_ns for span in counted), sum(span.all_ns for span in counted) // 2)
    return sum(span.stolen_ns for span in counted) / most if most > 0 else 0.0


class _Span(NamedTuple):
    """One core between two readings, in nanoseconds: stolen, stolen or busy, all."""

    stolen_ns: int
    wanted_ns: int
    all_ns: int


def _span(before: HostCpu, after: HostCpu) -> _Span:
    stolen = after.steal_ns - before.steal_ns
    wanted = stolen + after.busy_ns - before.busy_ns
    return _Span(stolen, wanted, wanted + after.idle_ns - before.idle_ns)
