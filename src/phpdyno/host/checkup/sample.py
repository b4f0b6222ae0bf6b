"""The host watched for a moment: what others use, whether it swaps, whether the wall clock
steps."""

import os
import time
from pathlib import Path

from msgspec import Struct

from phpdyno.host.clock import HostCpu, read_host_cpu, stolen_share
from phpdyno.host.files.small_files import SmallFiles, whole

SAMPLE_S = 1.5
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_BUSIEST = 3
_NOTHING = HostCpu(0, 0, 0)


class Sample(Struct, frozen=True):
    """`steal_since_boot` is a share of the time in which cores had work; `others_cores` counts
    cores kept busy by others.

    `busiest` are other processes as (number, name, cores used). `step_s` is by how much the wall
    clock moved against the steady one.
    """

    seconds: float
    steal_since_boot: float
    others_cores: float
    busiest: tuple[tuple[int, str, float], ...]
    swapped_pages: int
    step_s: float


class _Moment(Struct, frozen=True):
    cpu: HostCpu
    ours_s: float
    ticks: dict[int, tuple[str, int]]
    swapped: int
    steady_s: float
    wall_s: float


def take_sample(tree: SmallFiles | None = None, seconds: float = SAMPLE_S) -> Sample | None:
    """Watch the host for `seconds`, doing nothing meanwhile; None where /proc/stat cannot be
    read."""
    tree = tree or SmallFiles()
    before = _now(tree)
    if before is None:
        return None
    time.sleep(seconds)
    after = _now(tree)
    return None if after is None else _between(before, after)


def _between(before: _Moment, after: _Moment) -> Sample:
    took = max(1e-9, after.steady_s - before.steady_s)
    busy = (after.cpu.busy_ns - before.cpu.busy_ns) / 1e9 - (after.ours_s - before.ours_s)
    used = [
        (pid, name, (ticks - before.ticks.get(pid, (name, ticks))[1]) / _TICKS_PER_S / took) for pid, (name, ticks) in after.ticks.items()
    ]
    # A tick in the sample is no load.
    busiest = sorted((each for each in used if each[2] * took * _TICKS_PER_S > 1), key=lambda each: -each[2])
    return Sample(
        seconds=took,
        steal_since_boot=stolen_share(_NOTHING, after.cpu),
        others_cores=max(0.0, busy / took),
        busiest=tuple(busiest[:_BUSIEST]),
        swapped_pages=after.swapped - before.swapped,
        step_s=(after.wall_s - before.wall_s) - (after.steady_s - before.steady_s),
    )


def _now(tree: SmallFiles) -> _Moment | None:
    try:
        cpu = read_host_cpu(tree.path("/proc/stat"))
    except (OSError, ValueError):
        return None
    if not cpu.busy_ns:
        return None  # a file without the line of all cores
    ours = os.times()
    ticks = _ticks_of_others(tree)
    return _Moment(cpu, ours.user + ours.system, ticks, _swapped(tree), time.monotonic(), time.time())


def _ticks_of_others(tree: SmallFiles) -> dict[int, tuple[str, int]]:
    """Name and CPU ticks of each process that we may see, ourselves excepted."""
    found: dict[int, tuple[str, int]] = {}
    processes: list[Path] = []
    try:
        processes = [path for path in tree.path("/proc").iterdir() if path.name.isdigit() and int(path.name) != os.getpid()]
    except OSError:
        return found
    for process in processes:
        text = tree.text(f"/proc/{process.name}/stat") or ""
        name, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        if len(fields) > 12:
            found[int(process.name)] = (name, (whole(fields[11]) or 0) + (whole(fields[12]) or 0))
    return found


def _swapped(tree: SmallFiles) -> int:
    """Pages that were swapped in or out since boot."""
    lines = (tree.text("/proc/vmstat") or "").splitlines()
    return sum(whole(value) or 0 for name, _, value in (line.partition(" ") for line in lines) if name in {"pswpin", "pswpout"})
