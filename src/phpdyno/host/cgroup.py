"""A cgroup per component, so that its CPU time can be read in one go, workers that have ended included."""

import contextlib
import os
from pathlib import Path

from msgspec import Struct


class CpuGroups(Struct, frozen=True):
    """Where cgroups with CPU accounting can be made: the hierarchy's directory, the file to read, nanoseconds per unit in it."""

    root: Path
    file: str
    key: str
    ns_per_unit: int


def find_cpu_groups(mounts: Path = Path("/proc/mounts")) -> CpuGroups | None:
    """The cpuacct hierarchy (v1, nanoseconds) or the unified one (v2, microseconds); None where we may not make groups."""
    candidates: list[CpuGroups] = []
    # A mount point of another account may hold any byte but the blank and the line feed.
    for line in mounts.read_bytes().decode(errors="surrogateescape").split("\n"):
        _, place, kind, options = [*line.split(" "), "", "", "", ""][:4]
        if kind == "cgroup" and "cpuacct" in options.split(","):
            candidates.insert(0, CpuGroups(Path(place), "cpuacct.usage", "", 1))
        elif kind == "cgroup2" and Path(place).name != "unified":
            candidates.append(CpuGroups(Path(place), "cpu.stat", "usage_usec", 1000))
    return next((found for found in candidates if _may_make_groups(found)), None)


def cpu_source(groups: CpuGroups | None) -> str:
    """Where CPU time is read, in one word."""
    return "cgroup" if groups else "schedstat"


def _may_make_groups(groups: CpuGroups) -> bool:
    probe = groups.root / f"phpdyno-probe-{os.getpid()}"
    with contextlib.suppress(OSError):
        probe.mkdir()
        readable = (probe / groups.file).exists() and os.access(probe / "cgroup.procs", os.W_OK)
        probe.rmdir()
        return readable
    return False
