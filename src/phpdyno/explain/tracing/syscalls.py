"""Syscalls of a running instance, counted by strace in a pass of their own. Counts are exact; times
under strace mean nothing."""

import contextlib
import re
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno.drive.driver import failures
from phpdyno.errors import DynoError
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.explain.tracing.attached import attached
from phpdyno.explain.tracing.strace import await_attached, find_strace, place_of_output, sleeping_pool
from phpdyno.host.files.plain import read_plain
from phpdyno.model.runs.study import SyscallCount
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.supervision.supervisor import Supervisor

LOG = "strace"
_RULE = re.compile(r"-[ -]*-")


class Traced(Struct):
    """Filled when the tracing ends: the counts, and how many processes were traced from the
    start."""

    processes: int
    syscalls: tuple[SyscallCount, ...] = ()


def parse_summary(text: str) -> tuple[SyscallCount, ...]:
    """The table of `strace -c`, most calls first. Its column `errors` is blank where no call
    failed; a table may lack it altogether.

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


def count_syscalls(supervisor: Supervisor, driven: DrivenInstance, sequence: NDArray[np.uint32]) -> Traced:
    """Drive `sequence` while strace counts what the pool's master and workers ask of the kernel.
    The instance should be warm.

    Included is all that they do from the moment strace has attached until the last answer is out
    and every process asleep again: accepting the connection, the request, what follows the
    response, and the master's own timer. Nothing is subtracted. Raises CannotTrace where the host
    forbids it, ArmFailed when a request fails.
    """
    instance = driven.instance
    with tracing(supervisor, sleeping_pool(instance.php_pid)) as traced:
        samples = driven.driver.drive(sequence)
        sleeping_pool(instance.php_pid)
    failure = failures(samples)
    if failure:
        raise ArmFailed(instance.arm, f"requests fail under strace: {failure}")
    return traced


@contextlib.contextmanager
def tracing(supervisor: Supervisor, pids: Sequence[int], *, as_service: bool = False) -> Iterator[Traced]:
    """Count the syscalls of `pids` and of what they fork meanwhile. strace runs as we do, or as the
    servers' account (`as_service`).

    The result is filled when the block ends. Raises CannotTrace: strace missing, ptrace forbidden.
    """
    summary = place_of_output(supervisor, as_service=as_service) / "summary"
    summary.unlink(missing_ok=True)
    argv = [find_strace(), "-c", "-f", "-o", str(summary), "-p", ",".join(map(str, pids))]
    traced = Traced(len(pids))
    with attached(supervisor, LOG, argv, lambda child: await_attached(child, pids), as_service=as_service):
        yield traced
    try:
        traced.syscalls = parse_summary(read_plain(summary).decode())
    except (OSError, ValueError) as error:
        raise DynoError(f"strace left no table of its counts: {error}", where=str(summary)) from error
