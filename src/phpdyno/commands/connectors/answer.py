"""The answer of a run of the lab: which client is the fastest, and by how much. Pure."""

from msgspec import Struct

from phpdyno.commands.connectors import view
from phpdyno.commands.connectors.found import LabFound, OperationFound, RowFound, is_ceiling
from phpdyno.model.notices import first_of
from phpdyno.report.answer.parts import ending_of, next_of, subject_words, table_of, with_room_for
from phpdyno.report.answer.shape import MOST_LINES, AnswerTable, CommandAnswer, TableLine
from phpdyno.report.words import NOTHING, count

SCOPE = "Scope: this host, this server, these clients, these minutes."
ROWS, OPERATIONS = ("CLIENT", "OPERATIONS/S", "SPEED", "OF SERVER'S MOST"), ("OPERATION", "FASTEST", "OPERATIONS/S", "SPEED")


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
        subject=subject_words(f"Tarantool: {', '.join(best) or 'nothing yet'}", "", "", ran.elapsed_s, outcome=ran.outcome),
        result=_result(best, control) if best else ending_of(ran.outcome, ran.detail),
        standing="none" if best else "open",
        beside=_beside(found, control),
        notices=first_of(ran.warnings),
        doubts=(*((f"{failed:,} operations had no right answer",) if failed else ()), *broken[:1]),
        notes=(SCOPE,),
        next=(*next_of("connectors", ran.outcome, run), *((("Page", page),) if page else ())),
    )
    room = MOST_LINES - answer.lines - 1
    if len(found.parts) == 1:
        rows = [row for row in found.parts[0].rows if not row.problem]
        ordered = sorted(rows, key=lambda row: (is_ceiling(row), -(row.operations_per_s or 0.0)))
        # The control is what all are held against: it is there, however slow it is.
        shown = [*[row for row in ordered if row.row != control][: max(1, room - 2)], *[row for row in rows if row.row == control]]
        left = len(rows) - len(shown)
        rest = f"{count(left, 'more row')} in the report" if left else ""
        answer = answer.with_table(AnswerTable(ROWS, tuple(_row(row, control) for row in shown), rest))
    elif best:
        lines = [TableLine((operation, row.row, *_speed(row, control))) for operation, row in best.items()]
        answer = answer.with_table(table_of(OPERATIONS, lines, room, "operation"))
    skipped = [f"{name} skipped: {why}" for name, why in found.skipped.items()]
    return with_room_for(answer, [*broken[1:], *skipped])


def fastest(part: OperationFound) -> RowFound | None:
    """The client with the most operations per second; None where none has a figure."""
    rows = [row for row in part.rows if row.operations_per_s is not None and not row.problem and not is_ceiling(row)]
    return max(rows, key=lambda row: row.operations_per_s or 0.0) if rows else None


def _beside(found: LabFound, control: str) -> tuple[str, ...]:
    """What speeds are held against, and how sure they are."""
    if not control:
        return ()
    sure = any(row.low is not None for part in found.parts for row in part.rows)
    level = f"Intervals hold together with {found.confidence:.0%}." if sure else "No interval yet: a longer --budget gives them."
    said = f"Speed: operations/s over those of {control}, the control. Server's most: all that it can do. own: phpdyno's client."
    return (said, level)


def _result(best: dict[str, RowFound], control: str) -> str:
    """Which is the fastest; where any of them has no interval, what is highest so far."""
    names = list(dict.fromkeys(row.row for row in best.values()))
    sure = all(row.row == control or row.low is not None for row in best.values())
    if len(names) > 1:
        who, where = count(len(names), "client"), "each in other operations"
        return f"{who} are the fastest, {where}" if sure else f"highest so far: {who}, {where}"
    row = next(iter(best.values()))
    if len(best) > 1:
        where = f"in all {len(best)} operations"
        return f"{row.row} is the fastest {where}" if sure else f"highest so far {where}: {row.row}"
    if row.row == control or row.ratio is None:
        return f"{row.row}, the control, is the fastest" if row.row == control else f"highest so far: {row.row}"
    if not sure:
        return f"highest so far: {row.row}, about {row.ratio:.2g} times the control's operations/s"
    return f"{row.row} is the fastest: {view.speed(row)} the control's operations/s"


def _row(row: RowFound, control: str) -> TableLine:
    share = NOTHING if row.of_ceiling is None else f"{row.of_ceiling:.0%}"
    return TableLine((row.row, *_speed(row, control), share))


def _speed(row: RowFound, control: str) -> tuple[str, str]:
    """Operations per second, and the speed over the control's; shorter than the report where it has
    no interval."""
    if row.row == control:
        return view.rate(row), "control"
    short = row.ratio is not None and (row.low is None or row.high is None)
    return view.rate(row), f"{row.ratio:.2g}× (no interval)" if short else view.speed(row)
