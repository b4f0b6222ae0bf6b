"""CPU time of a component of an instance: from its own cgroup where there is one, else from the
schedstat of its processes."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from phpdyno.host.cgroup import CpuGroups
from phpdyno.host.clock import read_host_cpu

_NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_POLL_S = 0.00002
_GONE = b""


class Meter(Protocol):
    """Reads the CPU nanoseconds that a component has used so far."""

    def read_ns(self) -> int:
        """Total so far, in nanoseconds."""

    def close(self) -> None:
        """Give up the open files."""


class CgroupMeter:
    """`cpuacct.usage` or `cpu.stat` of one cgroup: exact once its processes are off the CPU, ended
    workers included."""

    def __init__(self, groups: CpuGroups, group: Path) -> None:
        self._fd = os.open(group / groups.file, os.O_RDONLY | os.O_CLOEXEC)
        self._key = groups.key.encode()
        self._ns_per_unit = groups.ns_per_unit

    def read_ns(self) -> int:
        """Total of the group."""
        text = os.pread(self._fd, 512, 0)
        if not self._key:
            return int(text)
        return int(text.split(self._key, 1)[1].split(None, 1)[0]) * self._ns_per_unit

    def close(self) -> None:
        """Close the accounting file. Idempotent: its number may be somebody else's by then."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class SchedstatMeter:
    """Sum of `schedstat` over a process tree, with what ended children left in their parent's
    account (a tick's resolution)."""

    def __init__(self, leader: int) -> None:
        self._leader = leader

    def read_ns(self) -> int:
        """Total of the leader, its living descendants and the children they have collected."""
        return sum(_task_ns(pid) + _collected_ns(pid) for pid in (self._leader, *children_of(self._leader)))

    def close(self) -> None:
        """Nothing is kept open."""


class SumMeter:
    """What several meters count together."""

    def __init__(self, meters: Sequence[Meter]) -> None:
        self._meters = tuple(meters)

    def read_ns(self) -> int:
        """Total of all of them."""
        return sum(meter.read_ns() for meter in self._meters)

    def close(self) -> None:
        """Close each."""
        for meter in self._meters:
            meter.close()


class HostMeter:
    """Busy time of all cores from /proc/stat, at the resolution of a tick: right on average over
    many slots."""

    def read_ns(self) -> int:
        """Total since boot."""
        return read_host_cpu().busy_ns

    def close(self) -> None:
        """Nothing is kept open."""


def host_meter(groups: CpuGroups | None) -> Meter:
    """CPU time of everything on the host: the root cgroup's account where it can be read
    (nanoseconds), else /proc/stat."""
    return CgroupMeter(groups, groups.root) if groups else HostMeter()


def children_of(pid: int) -> tuple[int, ...]:
    """Direct children of a process (php-fpm's and nginx's workers); empty when it is gone."""
    try:
        return tuple(int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_bytes().split())
    except OSError:
        return ()


def _task_ns(pid: int) -> int:
    total = 0
    try:
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 (called for every slot)
            with open(f"/proc/{pid}/task/{task}/schedstat", "rb") as file:  # noqa: PTH123
                total += int(file.read().split(None, 1)[0])
    except OSError:
        return total
    return total


def _collected_ns(pid: int) -> int:
    try:
        fields = _stat_fields(pid)
    except OSError:
        return 0
    return (int(fields[13]) + int(fields[14])) * _NS_PER_TICK


def _stat_fields(pid: int) -> list[bytes]:
    """Fields of /proc/PID/stat from the state (index 0) on."""
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 (called for every slot)
        stat = file.read()
    return stat[stat.rindex(b")") + 2 :].split()


def await_idle(leader: int, timeout_s: float = 0.25, *, itself: bool = False) -> bool:
    """Wait until no worker of `leader`, nor the leader when it works `itself`, is on a CPU: work
    after the response belongs to the request.

    False when one still runs after `timeout_s` (a request that goes on in the background).
    """
    deadline = time.monotonic() + timeout_s
    alone = (leader,) if itself else ()
    while any(_is_running(pid) for pid in (*alone, *children_of(leader))):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def is_asleep(pid: int) -> bool:
    """Whether a process waits for something to happen, or has ended: then it is not in the middle
    of a fork, where it runs or waits for the kernel."""
    return _state_of(pid) in {b"S", b"Z", _GONE}


def _is_running(pid: int) -> bool:
    return _state_of(pid) == b"R"


def _state_of(pid: int) -> bytes:
    """The letter that /proc has for it, _GONE for one that is not there."""
    try:
        return _stat_fields(pid)[0]
    except OSError:
        return _GONE
