"""Syscalls of each row's client, counted by strace in a pass of their own, when nothing is timed
any more."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno.commands.connectors.operations import MOST_IN_FLIGHT
from phpdyno.drive.driver import failures
from phpdyno.errors import DynoError
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.explain.tracing.strace import CannotTrace, find_strace
from phpdyno.explain.tracing.syscalls import tracing
from phpdyno.journal.replacing import read_record, replace_record
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Panel, Plan
from phpdyno.model.runs.connector import CEILING, ConnectorRow
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.tarantool.connectors import ConnectorBench, ConnectorInstance

FILE = "syscalls.json"
SCHEMA = 1
OPERATIONS = 2 * MOST_IN_FLIGHT
"""Over so many they are counted; that they were asked for is in it, a few calls."""


class SyscallsFound(Struct, frozen=True):
    """Syscalls per operation by row, and why a row has none. `missing` says why nothing could be
    counted, '' where it could."""

    schema: int
    per_operation: dict[str, float] = {}
    why_not: dict[str, str] = {}
    missing: str = ""


def read_syscalls(part: Path) -> SyscallsFound:
    """Read what was counted for an operation; the result is empty where nothing was. Raises
    DynoError for a damaged or newer record."""
    path = part / FILE
    return read_record(path, SyscallsFound, what="count of syscalls", schema=SCHEMA) if path.is_file() else SyscallsFound(SCHEMA)


def count_syscalls(plan: Plan, rows: Mapping[str, ConnectorRow], bench: ConnectorBench, *, part: Path, progress: Progress) -> None:
    """Count each row's on a fresh process that is warm; kept beside the journal, as is that strace
    is missing or forbidden."""
    per_operation: dict[str, float] = {}
    why_not: dict[str, str] = {}
    missing = ""
    try:
        find_strace()
        for arm in (plan.control, *plan.treatments):
            if rows[arm.name].connector != CEILING:
                progress.phase(f"{arm.name}: counting syscalls")
                try:
                    per_operation[arm.name] = _count(arm, plan, bench)
                except CannotTrace:
                    raise
                except DynoError as error:
                    why_not[arm.name] = error.what
    except CannotTrace as error:
        missing = str(error)
    replace_record(part / FILE, SyscallsFound(SCHEMA, per_operation, why_not, missing))


def _count(arm: Arm, plan: Plan, bench: ConnectorBench) -> float:
    """Raises ArmFailed, CannotTrace."""
    instances = bench.start([arm])
    try:
        (instance,) = instances
        if not isinstance(instance, ConnectorInstance):
            raise DynoError("only a client's syscalls are counted", where=arm.name)
        driven = driven_instance(
            instance, bench, Panel(plan.metric, arm, (), 1), workload=plan.workload, transport=plan.transport, lengths={}
        )
        sequence = np.zeros(OPERATIONS, dtype=np.uint32)
        try:
            _drive(driven, instance, sequence)
            with tracing(bench.supervisor, [child.pid for child in instance.children]) as found:
                _drive(driven, instance, sequence)
        finally:
            driven.driver.close()
    finally:
        bench.stop(instances)
    return sum(each.calls for each in found.syscalls) / OPERATIONS


def _drive(driven: DrivenInstance, instance: ConnectorInstance, sequence: NDArray[np.uint32]) -> None:
    instance.space.restore()
    if failure := failures(driven.driver.drive(sequence)):
        raise ArmFailed(instance.arm, f"requests fail: {failure}")


def is_counted(part: Path) -> bool:
    """Whether the pass was made for an operation, or could not be."""
    return (part / FILE).is_file()
