"""A cgroup per component, so that its CPU time can be read in one go, workers that have ended
included."""

import contextlib
import os
from pathlib import Path

from msgspec import Struct, structs


class CpuGroups(Struct, frozen=True):
    """Where cgroups with CPU accounting can be made: the hierarchy's directory, the file to read,
    nanoseconds per unit in it.

    They are made in `home`, our own group of that hierarchy: what limits us limits them, and who
    ends us ends them.
    """

    root: Path
    file: str
    key: str
    ns_per_unit: int
    own: str = ""
    """Our own group, relative to the root."""

    @property
    def home(self) -> Path:
        """The directory in which groups are made."""
        return self.root / self.own


def find_cpu_groups(mounts: Path = Path("/proc/mounts"), own: Path = Path("/proc/self/cgroup")) -> CpuGroups | None:
    """The cpuacct hierarchy (v1, nanoseconds) or the unified one (v2, microseconds); None where we
    may not make groups.

    Where our own group is not to be seen, as in some containers, groups are made at the top of what
    is.
    """
    candidates: list[CpuGroups] = []
    ours = _own_groups(own)
    # A mount point of another account may hold any byte but the blank and the line feed.
    for line in mounts.read_bytes().decode(errors="surrogateescape").split("\n"):
        _, place, kind, options = [*line.split(" "), "", "", "", ""][:4]
        if kind == "cgroup" and "cpuacct" in options.split(","):
            held = CpuGroups(Path(place), "cpuacct.usage", "", 1)
            candidates[:0] = [structs.replace(held, own=ours.get("cpuacct", "")), held]
        elif kind == "cgroup2" and Path(place).name != "unified":
            held = CpuGroups(Path(place), "cpu.stat", "usage_usec", 1000)
            candidates += [structs.replace(held, own=ours.get("", "")), held]
    return next((found for found in candidates if _may_make_groups(found)), None)


def _own_groups(file: Path) -> dict[str, str]:
    """Our own group in each hierarchy, relative to its top, by each of its controllers; '' is the
    unified one."""
    found = {}
    with contextlib.suppress(OSError):
        for line in file.read_bytes().decode(errors="surrogateescape").splitlines():
            _, controllers, path = [*line.split(":", 2), "", ""][:3]
            if ".." not in path.split("/"):  # above the top of what we see
                found.update(dict.fromkeys(controllers.split(","), path.strip("/")))
    return found


def cpu_source(groups: CpuGroups | None) -> str:
    """Where CPU time is read, in one word."""
    return "cgroup" if groups else "schedstat"


def _may_make_groups(groups: CpuGroups) -> bool:
    probe = groups.home / f"phpdyno-probe-{os.getpid()}"
    with contextlib.suppress(OSError):
        probe.mkdir()
        # Who moves a process needs the rights for it in the group above both places.
        movable = all(os.access(place / "cgroup.procs", os.W_OK) for place in (probe, groups.home))
        readable = (probe / groups.file).exists() and movable
        probe.rmdir()
        return readable
    return False
