"""What a run of the lab came to, read from the journals of its parts."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from phpdyno.commands.connectors.counting import SyscallsFound, read_syscalls
from phpdyno.commands.connectors.record import read_lab
from phpdyno.experiment.comparison.state import FAILED, RunState
from phpdyno.journal.reader import FILE, read_journal
from phpdyno.journal.records import Incident, Planned, Record
from phpdyno.model.facts import HostFacts
from phpdyno.model.observation import Cost, Observation
from phpdyno.model.runs.connector import CEILING, ConnectorRow
from phpdyno.model.verdict import Verdict
from phpdyno.stats.comparison.sequence import Interval, contrast

SERVER = "tarantool"
DOCUMENT: Literal["phpdyno.connectors/1"] = "phpdyno.connectors/1"


class RowFound(Struct, frozen=True):
    """One row in one operation."""

    row: Annotated[str, Meta(description="The connector, its packer and engine, operations in flight, processes, transport.")]
    operations_per_s: Annotated[float | None, Meta(description="Right answers per second of wall time; null where it was not measured.")]
    ratio: Annotated[float | None, Meta(description="Speed over the control's, from pairs; null for the control itself.")] = None
    low: Annotated[float | None, Meta(description="Lower end of its interval; null while that is infinite.")] = None
    high: Annotated[float | None, Meta(description="Upper end of its interval; null while that is infinite.")] = None
    least: Annotated[float | None, Meta(description="The lowest of the ratios of single blocks; null without a block.")] = None
    most: Annotated[float | None, Meta(description="The highest of them; null without a block.")] = None
    of_ceiling: Annotated[
        float | None, Meta(description="Share of the server's ceiling over the same transport, from blocks; null where that is unknown.")
    ] = None
    of_ceiling_low: Annotated[float | None, Meta(description="Lower end of its interval; null while that is infinite.")] = None
    of_ceiling_high: Annotated[float | None, Meta(description="Upper end of its interval; null while that is infinite.")] = None
    client_ns: Annotated[float | None, Meta(description="CPU nanoseconds of the client per operation.")] = None
    server_ns: Annotated[float | None, Meta(description="CPU nanoseconds of the server per operation.")] = None
    p50_ns: Annotated[int | None, Meta(description="Median time of an operation, the median over blocks.")] = None
    p99_ns: Annotated[int | None, Meta(description="99th percentile of it, the median over blocks.")] = None
    syscalls: Annotated[
        float | None, Meta(description="Syscalls of the client per operation, from a pass of its own; null where they were not counted.")
    ] = None
    failed: Annotated[int, Meta(description="Operations without a right answer.")] = 0
    blocks: Annotated[int, Meta(description="Blocks that count.")] = 0
    problem: Annotated[str, Meta(description="Why it has no figure; empty where it has one.")] = ""


class BestFound(Struct, frozen=True):
    """The fastest of the rows that differ in what they have in flight, or in processes."""

    kind: Annotated[str, Meta(description="What they have in common: connector, packer, engine, transport.")]
    row: Annotated[str, Meta(description="The fastest one.")]
    alike: Annotated[
        tuple[str, ...],
        Meta(description="Others that it is not told apart from: intervals overlap, or what single blocks gave while there are none."),
    ]


class OperationFound(Struct, frozen=True):
    """All rows in one operation, the control first."""

    operation: Annotated[str, Meta(description="The operation.")]
    rows: Annotated[tuple[RowFound, ...], Meta(description="The rows, the control first.")]
    finished: Annotated[bool, Meta(description="Whether it was measured to its end.")]
    best: Annotated[tuple[BestFound, ...], Meta(description="Of each kind that has several rows, the fastest.")] = ()
    excluded: Annotated[int, Meta(description="Observations that do not count, by a rule fixed in advance.")] = 0
    no_syscalls: Annotated[str, Meta(description="Why syscalls could not be counted; empty where they could, or not yet.")] = ""


class LabFound(Struct, frozen=True):
    """A run of connectors with all that was found."""

    schema: Annotated[Literal["phpdyno.connectors/1"], Meta(description="Name and version of this format.")]
    run: Annotated[str, Meta(description="The run's directory.")]
    parts: Annotated[tuple[OperationFound, ...], Meta(description="The operations in their order.")]
    host: Annotated[HostFacts | None, Meta(description="The machine; null before it was looked at.")]
    confidence: Annotated[float, Meta(description="Of all intervals together.")]
    skipped: Annotated[dict[str, str], Meta(description="Rows that could not be measured, and why.")]


def lab_found(run: Path) -> LabFound:
    """What is known of a run by now. Raises UsageError where it is none, DynoError."""
    record = read_lab(run)
    parts, host = [], None
    for operation in record.asked.operations:
        journal = run / operation / FILE
        records = read_journal(journal) if journal.is_file() else []
        if any(isinstance(each, Planned) for each in records):
            state = RunState.replay(records)
            host = state.host or host
            part = _with_syscalls(_part(operation, state, _failures(records)), read_syscalls(run / operation))
            parts.append(structs.replace(part, best=tuple(best_of(part.rows, record.asked.rows))))
    return LabFound(DOCUMENT, str(run), tuple(parts), host, record.asked.confidence, record.asked.skipped)


def _part(operation: str, state: RunState, failures: Mapping[str, str]) -> OperationFound:
    plan = state.plan
    counting = [seen for seen in state.observations if not seen.excluded]
    control = _of([seen.control for seen in counting], plan.control.name)
    rows = []
    for arm in plan.treatments:
        seen = [each for each in counting if each.treatment == arm.name]
        rows.append(_treated(arm.name, seen, state.verdicts.get(arm.name), failures.get(arm.name, "")))
    return OperationFound(
        operation,
        _shares((control, *rows), counting, plan.alpha),
        finished=not state.open_treatments(),
        excluded=len(state.observations) - len(counting),
    )


def _failures(records: Iterable[Record]) -> dict[str, str]:
    """Why blocks of an arm failed, the last reason."""
    return {each.arm: each.detail for each in records if isinstance(each, Incident) and each.kind == FAILED}


def _with_syscalls(part: OperationFound, counted: SyscallsFound) -> OperationFound:
    rows = tuple(structs.replace(row, syscalls=counted.per_operation.get(row.row)) for row in part.rows)
    why_not = "; ".join(f"{row}: {why}" for row, why in counted.why_not.items())
    return structs.replace(part, rows=rows, no_syscalls=counted.missing or why_not)


def best_of(found: Sequence[RowFound], rows: Sequence[ConnectorRow]) -> Iterator[BestFound]:
    """The fastest row of each kind that has several with a figure. The ceiling is of no kind."""
    by_name = {row.name: row for row in rows}
    kinds: dict[str, list[RowFound]] = {}
    for each in found:
        row = by_name.get(each.row)
        if row is not None and not each.problem and row.connector != CEILING and each.operations_per_s is not None:
            # The control is not faster than itself.
            compared = each if each.ratio is not None else structs.replace(each, ratio=1.0, low=1.0, high=1.0)
            kinds.setdefault(structs.replace(row, in_flight=1, processes=1).name, []).append(compared)
    for kind, members in kinds.items():
        if len(members) > 1:
            best = max(members, key=lambda each: each.ratio or 0.0)
            lowest = _bounds(best)[0]
            alike = tuple(each.row for each in members if each is not best and _bounds(each)[1] >= lowest)
            yield BestFound(kind, best.row, alike)


def _bounds(row: RowFound) -> tuple[float, float]:
    """The ends of its interval, or of its single blocks while there is none. One block tells only
    that it is above 0."""
    if row.low is not None and row.high is not None:
        return row.low, row.high
    if row.blocks > 1 and row.least is not None and row.most is not None:
        return row.least, row.most
    return 0.0, math.inf


def is_ceiling(row: RowFound) -> bool:
    """Whether a row is the server's ceiling, and no client."""
    return row.row.startswith(f"{CEILING} ")


def _shares(rows: Sequence[RowFound], counting: Sequence[Observation], alpha: float) -> tuple[RowFound, ...]:
    """The rows with what share of the ceiling each reaches: of each block in which both were
    measured beside one control."""
    control, *_ = rows
    ceilings = {_through(row.row): row.row for row in rows if is_ceiling(row) and not row.problem}
    by_block: dict[str, dict[int, float]] = {}
    for seen in counting:
        by_block.setdefault(seen.treatment, {})[seen.block] = seen.log_ratio
    made = []
    for row in rows:
        most = by_block.get(ceilings.get(_through(row.row), ""), {})
        own = dict.fromkeys(most, 0.0) if row is control else by_block.get(row.row, {})
        share = contrast(own, most, alpha) if own and most and not row.problem else None
        made.append(row if share is None else _with_share(row, share))
    return tuple(made)


def _with_share(row: RowFound, share: Interval) -> RowFound:
    low, high = (None if bound is None else math.exp(bound) for bound in (share.low, share.high))
    return structs.replace(row, of_ceiling=math.exp(share.mean), of_ceiling_low=low, of_ceiling_high=high)


def _through(row: str) -> str:
    return row.rsplit(" ", 1)[-1]


def _treated(name: str, seen: Sequence[Observation], verdict: Verdict | None, failure: str) -> RowFound:
    found = _of([each.treated for each in seen], name)
    effect = verdict.effect if verdict else None
    problem = verdict.reason if verdict and verdict.kind == "invalid" else ""
    ratios = [math.exp(each.log_ratio) for each in seen]
    return RowFound(
        row=name,
        operations_per_s=None if problem else found.operations_per_s,
        ratio=effect.ratio if effect else None,
        low=effect.low if effect else None,
        high=effect.high if effect else None,
        least=min(ratios, default=None),
        most=max(ratios, default=None),
        client_ns=found.client_ns,
        server_ns=found.server_ns,
        p50_ns=found.p50_ns,
        p99_ns=found.p99_ns,
        failed=found.failed,
        blocks=len(seen),
        problem=problem or ("" if seen else failure or "not measured yet"),
    )


def _of(costs: Sequence[Cost], name: str) -> RowFound:
    asked, failed = sum(cost.requests for cost in costs), sum(cost.failed for cost in costs)
    if not asked or not sum(cost.drive_ns for cost in costs):
        return RowFound(name, None, problem="not measured yet")
    return RowFound(
        row=name,
        operations_per_s=1e9 * (asked - failed) / sum(cost.drive_ns for cost in costs),
        client_ns=sum(cost.php_cpu_ns for cost in costs) / asked,
        server_ns=sum(cost.services_cpu_ns.get(SERVER, 0) for cost in costs) / asked,
        p50_ns=_median(cost.service_p50_ns for cost in costs),
        p99_ns=_median(cost.service_p99_ns for cost in costs),
        failed=failed,
        blocks=len(costs),
    )


def _median(values: Iterable[int]) -> int:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
