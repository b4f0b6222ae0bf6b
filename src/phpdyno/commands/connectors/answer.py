"""The answer of a run of the lab: which client is the fastest, and by how much. Pure."""

from collections.abc import Sequence

from msgspec import Struct

from phpdyno.commands.connectors.found import LabFound, OperationFound, RowFound, is_ceiling
from phpdyno.model.notices import first_of
from phpdyno.report.answer.parts import ending_of, next_of, subject_words, table_of, with_room_for
from phpdyno.report.answer.shape import MOST_LINES, CommandAnswer, TableLine
from phpdyno.report.words import NOTHING, count

SCOPE = "Scope: this host, this server, these clients, these minutes."
ROWS, OPERATIONS = ("CLIENT", "OPERATIONS/S", "SPEED", "OF CEILING"), ("OPERATION", "FASTEST", "OPERATIONS/S", "SPEED")


class LabRun(Struct, frozen=True):
    """How a run of the lab ended, its time in seconds, and what was warned of."""

    outcome: str
    detail: str
    elapsed_s: float
    warnings: tuple[str, ...]


def connectors_answer(found: LabFound, ran: LabRun, run: str, page: str = "") -> CommandAnswer:
    """What a run comes to; `run` is the path of its directory, `page` that of a study's page ('':
    none), as a shell takes them."""
    best = {part.operation: row for part in found.parts if (row := fastest(part)) is not None}
    control = next((part.rows[0].row for part in found.parts if part.rows), "")
    failed = sum(row.failed for part in found.parts for row in part.rows)
    broken = [f"{part.operation}: {row.row} has no figure: {row.problem}" for part in found.parts for row in part.rows if row.problem]
    answer = CommandAnswer(
        subject=subject_words(
            ", ".join(part.operation for part in found.parts) or "nothing yet", "", "", ran.elapsed_s, outcome=ran.outcome
        ),
        result=_result(best) if best else ending_of(ran.outcome, ran.detail),
        standing="none" if best else "open",
        beside=(f"Speeds are over {control}, with intervals of {found.confidence:.0%} for all of them together.",) if control else (),
        notices=first_of(ran.warnings),
        doubts=(*((f"{failed:,} operations had no right answer",) if failed else ()), *broken[:1]),
        notes=(SCOPE,),
        next=(*next_of("connectors", ran.outcome, run), *((("Page", page),) if page else ())),
    )
    room = MOST_LINES - answer.lines - 1
    if len(found.parts) == 1:
        rows = [row for row in found.parts[0].rows if not row.problem]
        ordered = sorted(rows, key=lambda row: (is_ceiling(row), -(row.operations_per_s or 0.0)))
        answer = answer.with_table(table_of(ROWS, [_row(row, control) for row in ordered], room, "row"))
    elif best:
        lines = [TableLine((operation, row.row, *_speed(row, control))) for operation, row in best.items()]
        answer = answer.with_table(table_of(OPERATIONS, lines, room, "operation"))
    skipped = [f"{name} skipped: {why}" for name, why in found.skipped.items()]
    return with_room_for(answer, [*broken[1:], *skipped])


def fastest(part: OperationFound) -> RowFound | None:
    """The client with the most operations per second; None where none has a figure."""
    rows = [row for row in part.rows if row.operations_per_s is not None and not row.problem and not is_ceiling(row)]
    return max(rows, key=lambda row: row.operations_per_s or 0.0) if rows else None


def _result(best: dict[str, RowFound]) -> str:
    names: Sequence[str] = list(dict.fromkeys(row.row for row in best.values()))
    if len(names) == 1:
        row = next(iter(best.values()))
        speed = f": {_times(row)} the speed of the control" if len(best) == 1 and row.ratio is not None else ""
        return f"{names[0]} is the fastest{'' if len(best) == 1 else f' in all {len(best)} operations'}{speed}"
    return f"{count(len(names), 'client')} are the fastest, each in other operations"


def _row(row: RowFound, control: str) -> TableLine:
    share = NOTHING if row.of_ceiling is None else f"{row.of_ceiling:.0%}"
    return TableLine((row.row, *_speed(row, control), share))


def _speed(row: RowFound, control: str) -> tuple[str, str]:
    per_s = NOTHING if row.operations_per_s is None else f"{row.operations_per_s:,.0f}"
    return per_s, "control" if row.row == control else _times(row)


def _times(row: RowFound) -> str:
    """`53.5× (52.0 to 55.0)`, or that there is no interval."""
    if row.ratio is None:
        return NOTHING
    ends = "no interval yet" if row.low is None or row.high is None else f"{row.low:.2f} to {row.high:.2f}"
    return f"{row.ratio:.2f}× ({ends})"
