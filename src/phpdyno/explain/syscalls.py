"""Syscalls of a running instance, counted by strace in a pass of their own. Counts are exact; times under strace mean nothing."""

import contextlib
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno.drive.driver import failures
from phpdyno.errors import DynoError
from phpdyno.experiment.slot import Lane
from phpdyno.explain.attached import attached
from phpdyno.host.plain import read_plain
from phpdyno.model.study import SyscallCount
from phpdyno.stack.instance import ArmFailed
from phpdyno.stack.meter import children_of
from phpdyno.stack.programs import find_program
from phpdyno.stack.supervise import Child, Supervisor

LOG = "strace"
ATTACH_S = 15.0
ASLEEP_S = 10.0
QUIET_LOOKS = 10
LOOK_S = 0.002
"""Twenty milliseconds of sleep: what follows an answer (logging, freeing) takes a few under strace."""
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
_ATTACHED = re.compile(r"^\S*strace: Process (\d+) attached", re.MULTILINE)
_REFUSED = re.compile(r"^\S*strace: .*?ptrace\((?:PTRACE_SEIZE|PTRACE_ATTACH), (\d+)\): (.+)$", re.MULTILINE)
_RULE = re.compile(r"-[ -]*-")
_FORBIDDEN = "Operation not permitted"


class CannotTrace(DynoError):  # noqa: N818 (it names the finding: this host does not let us count syscalls)
    """Syscalls cannot be counted here: strace is missing, or ptrace is forbidden. Whatever else was asked for goes on."""


class Traced(Struct):
    """Filled when the tracing ends: the counts, and how many processes were traced from the start."""

    processes: int
    syscalls: tuple[SyscallCount, ...] = ()


def parse_summary(text: str) -> tuple[SyscallCount, ...]:
    """The table of `strace -c`, most calls first. Its column `errors` is blank where no call failed; a table may lack it altogether.

    Raises ValueError when it is no such table or is cut off before its total.
    """
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    rules = [number for number, line in enumerate(lines) if _RULE.fullmatch(line.strip())]
    if len(rules) < 2 or not lines[-1].endswith(" total") or rules[0] == 0:
        raise ValueError("no whole table of strace -c")
    columns = lines[rules[0] - 1].replace("% time", "%time").split()
    if columns[-1] != "syscall" or "calls" not in columns:
        raise ValueError(f"unknown columns of strace -c: {' '.join(columns)}")
    found = [_count(line.split(), columns) for line in lines[rules[0] + 1 : rules[1]]]
    return tuple(sorted(found, key=lambda each: (-each.calls, each.name)))


def _count(cells: list[str], columns: list[str]) -> SyscallCount:
    place = columns.index("calls")
    failed = len(cells) == len(columns) and "errors" in columns
    if not failed and len(cells) != len(columns) - ("errors" in columns):
        raise ValueError(f"a row of strace -c that does not fit its columns: {' '.join(cells)}")
    return SyscallCount(cells[-1], int(cells[place]), int(cells[place + 1]) if failed else 0)


def count_syscalls(supervisor: Supervisor, lane: Lane, sequence: NDArray[np.uint32]) -> Traced:
    """Drive `sequence` while strace counts what the pool's master and workers ask of the kernel. The instance should be warm.

    Included is all that they do from the moment strace has attached until the last answer is out and every process asleep again: accepting
    the connection, the request, what follows the response, and the master's own timer. Nothing is subtracted.
    Raises CannotTrace where the host forbids it, ArmFailed when a request fails.
    """
    instance = lane.instance
    with tracing(supervisor, _sleeping_pool(instance.php_pid)) as traced:
        samples = lane.driver.drive(sequence)
        _sleeping_pool(instance.php_pid)
    failure = failures(samples)
    if failure:
        raise ArmFailed(instance.arm, f"requests fail under strace: {failure}")
    return traced


@contextlib.contextmanager
def tracing(supervisor: Supervisor, pids: Sequence[int], *, as_service: bool = False) -> Iterator[Traced]:
    """Count the syscalls of `pids` and of what they fork meanwhile. strace runs as we do, or as the servers' account (`as_service`).

    The result is filled when the block ends. Raises CannotTrace: strace missing, ptrace forbidden.
    """
    summary = _place_of_summary(supervisor, as_service=as_service) / "summary"
    summary.unlink(missing_ok=True)
    argv = [find_strace(), "-c", "-f", "-o", str(summary), "-p", ",".join(map(str, pids))]
    traced = Traced(len(pids))
    with attached(supervisor, LOG, argv, lambda child: _await_attached(child, pids), as_service=as_service):
        yield traced
    try:
        traced.syscalls = parse_summary(read_plain(summary).decode())
    except (OSError, ValueError) as error:
        raise DynoError(f"strace left no table of its counts: {error}", where=str(summary)) from error


def _place_of_summary(supervisor: Supervisor, *, as_service: bool) -> Path:
    """Where strace writes its table: a directory that nobody else writes to, since it follows a link that lies there."""
    if as_service:
        return supervisor.directory("strace-as-service")
    folder = supervisor.live / "strace"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _sleeping_pool(master: int) -> tuple[int, ...]:
    """The master and its workers once all sleep and go on sleeping, and the master has no more to start.

    Under strace a working process is mostly stopped, not running, so that it does not count as idle by not running. Raises DynoError.
    """
    deadline = time.monotonic() + ASLEEP_S
    pool: tuple[int, ...] = ()
    quiet = 0
    while quiet < QUIET_LOOKS:
        before, pool = pool, (master, *children_of(master))
        quiet = quiet + 1 if pool == before and all(_sleeps(pid) for pid in pool) else 0
        if time.monotonic() > deadline:
            raise DynoError(f"php-fpm does not come to rest within {ASLEEP_S:.0f} s, so its syscalls cannot be told by request")
        time.sleep(LOOK_S)
    return pool


def _sleeps(pid: int) -> bool:
    """Whether a process waits in the kernel; one that is gone does nothing more."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True
    return stat[stat.rindex(b")") + 2 :][:1] == b"S"


def find_strace() -> str:
    """Path of strace. Raises CannotTrace with the line that installs it."""
    try:
        return find_program("strace")
    except DynoError as error:
        raise CannotTrace(error.what, next_step=error.next_step) from error


def _await_attached(child: Child, pids: Sequence[int]) -> None:
    """Wait until strace says that it holds every process. Raises CannotTrace, with the next step that the host's own rule suggests."""
    deadline = time.monotonic() + ATTACH_S
    while True:
        alive = child.alive()
        said = child.said()
        refused = _REFUSED.search(said)
        if refused:
            raise _refusal(refused[2], int(refused[1]))
        if {int(pid) for pid in _ATTACHED.findall(said)} >= set(pids):
            return
        if not alive:
            raise CannotTrace(f"strace {child.ended_how()}: {child.tail()}")
        if time.monotonic() > deadline:
            raise CannotTrace(f"strace did not attach to {len(pids)} processes within {ATTACH_S:.0f} s: {child.tail()}")
        time.sleep(0.005)


def _refusal(why: str, pid: int) -> CannotTrace:
    if why != _FORBIDDEN:
        return CannotTrace(f"strace cannot attach to process {pid}: {why}")
    return CannotTrace("ptrace is forbidden here, so syscalls cannot be counted", next_step=remedy(_yama_scope()))


def remedy(yama_scope: int) -> str:
    """What would allow ptrace, given kernel.yama.ptrace_scope (0 where there is no Yama)."""
    if yama_scope >= 3:
        return "kernel.yama.ptrace_scope is 3, which only a reboot with another value changes"
    if yama_scope >= 1:
        return f"kernel.yama.ptrace_scope is {yama_scope}: run phpdyno as root (in a container with the capability SYS_PTRACE)"
    return "run phpdyno as root; in a container give it the capability SYS_PTRACE"


def _yama_scope() -> int:
    try:
        return int(YAMA.read_text())
    except (OSError, ValueError):
        return 0
