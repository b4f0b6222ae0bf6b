"""What is tried and not believed: the processor's counters, the steady clock on every core, the
kernel's idea of the wall clock, steal.

Nothing here changes the host; each trial ends within about a second.
"""

import ctypes
import errno
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from phpdyno.host.clock import read_host_cpu, stolen_share
from phpdyno.host.cores import on_cores

CLOCK_READS = 20_000
BATCHES = 10
HOPS_PER_CORE = 100
STEAL_S = 1.0
"""/proc/stat counts in ticks of 10 ms: one of them is 1 % of this."""

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_ATTR_BYTES = 112
_CYCLES_OF_USER_CODE = 1 << 5 | 1 << 6  # exclude_kernel, exclude_hv
_SPIN = 20_000

_TIMEX_BYTES = 512  # more than any kernel writes
_TIMEX_STATUS = 40  # offset of `status` in struct timex where long has eight bytes
_STA_UNSYNC = 0x40


class CounterTrial(Struct, frozen=True):
    """The outcome of perf_event_open for hardware cycles of ourselves, with the kernel's words
    where it refused."""

    outcome: Literal["counts", "absent", "forbidden", "unknown"]
    detail: str = ""


class ClockTrial(Struct, frozen=True):
    """CLOCK_MONOTONIC as we read it, in nanoseconds; `backwards_ns` is the largest step back in
    `hops` moves between cores."""

    resolution_ns: int
    read_ns: float
    backwards_ns: int
    hops: int


class StealTrial(Struct, frozen=True):
    """`share` is what the hypervisor took of the time in which `cores` had work; None where
    /proc/stat does not show that work."""

    cores: tuple[int, ...]
    seconds: float
    share: float | None


def try_steal(cores: Sequence[int], seconds: float = STEAL_S, stat: Path = Path("/proc/stat")) -> StealTrial:
    """Keep the last of these cores busy and see what is taken of it: from an idle one a hypervisor
    takes nothing.

    One thread keeps one core busy; the others, idle beside it, would only hide what is taken.
    """
    one = tuple(cores[-1:])
    start = time.monotonic()
    try:
        before = read_host_cpu(stat, one)
        with on_cores(one):
            while time.monotonic() - start < seconds:
                pass
        after = read_host_cpu(stat, one)
    except (OSError, ValueError):
        return StealTrial(one, seconds, None)
    took = time.monotonic() - start
    seen_s = (after.busy_ns - before.busy_ns + after.steal_ns - before.steal_ns) / 1e9
    # A container may show cores of other numbers than the kernel's: then our work is not there.
    return StealTrial(one, took, stolen_share(before, after) if seen_s > took / 2 else None)


def try_cycles() -> CounterTrial:
    """Count our own cycles in user code for a moment."""
    number = _PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        return CounterTrial("unknown", f"perf_event_open has no known number on {platform.machine()}")
    attributes = (ctypes.c_char * _ATTR_BYTES)()
    # type 0 (hardware), size, config 0 (cycles); the flags are the sixth 64-bit word.
    ctypes.memmove(ctypes.addressof(attributes) + 4, _ATTR_BYTES.to_bytes(4, "little"), 4)
    ctypes.memmove(ctypes.addressof(attributes) + 40, _CYCLES_OF_USER_CODE.to_bytes(8, "little"), 8)
    fd = ctypes.CDLL(None, use_errno=True).syscall(number, attributes, 0, -1, -1, 0)
    if fd < 0:
        return _refused(ctypes.get_errno())
    try:
        for _ in range(_SPIN):
            pass
        counted = int.from_bytes(os.read(fd, 8), "little")
    except OSError as error:
        return CounterTrial("unknown", error.strerror or "")
    finally:
        os.close(fd)
    return CounterTrial("counts" if counted else "absent", f"{counted} cycles counted")


def _refused(number: int) -> CounterTrial:
    if number in {errno.EACCES, errno.EPERM}:
        return CounterTrial("forbidden", os.strerror(number))
    if number in {errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.ENOSYS, errno.ENXIO}:
        return CounterTrial("absent", os.strerror(number))
    return CounterTrial("unknown", os.strerror(number))


def try_clock(cores: Sequence[int], reads: int = CLOCK_READS, hops_per_core: int = HOPS_PER_CORE) -> ClockTrial:
    """Read the steady clock in a row, then on one core after the other: it must never go back."""
    clock = time.monotonic_ns
    # The quickest batch: in the others somebody else had the core for a while.
    read_ns = min(_batch_ns(max(1, reads // BATCHES)) for _ in range(BATCHES))
    backwards, last, hops = 0, clock(), hops_per_core * len(cores)
    with on_cores(tuple(cores)):
        for hop in range(hops):
            os.sched_setaffinity(0, {cores[hop % len(cores)]})
            now = clock()
            backwards, last = max(backwards, last - now), now
    return ClockTrial(round(time.clock_getres(time.CLOCK_MONOTONIC) * 1e9), read_ns, backwards, hops)


def _batch_ns(reads: int) -> float:
    clock = time.monotonic_ns
    start = clock()
    for _ in range(reads):
        clock()
    return (clock() - start) / reads


def wall_clock_synchronised() -> bool | None:
    """Whether the kernel holds the wall clock to be steered by a time service; None where it cannot
    be asked."""
    if ctypes.sizeof(ctypes.c_long) != 8:
        return None
    timex = (ctypes.c_char * _TIMEX_BYTES)()  # all zero: read only
    try:
        if ctypes.CDLL(None, use_errno=True).adjtimex(timex) < 0:
            return None
    except AttributeError:
        return None
    status = int.from_bytes(timex.raw[_TIMEX_STATUS : _TIMEX_STATUS + 4], "little")
    return not status & _STA_UNSYNC
