"""The answer of a run of `size` on one screen: the pool, what it does, and how to have it. Pure."""

from phpdyno.commands.size.found import ConfirmedRow, SizeFound
from phpdyno.commands.size.words import mib, predicted_words, rate
from phpdyno.model.notices import WARNING, first_of
from phpdyno.report.answer.parts import SCOPE, next_of, subject_of, table_of, with_room_for
from phpdyno.report.answer.shape import MOST_LINES, CommandAnswer, Standing, TableLine
from phpdyno.report.reached import missing_of
from phpdyno.report.words import NOTHING, count
from phpdyno.stats.change import change_of, signed

LEAST_ROWS = 4
"""Pools that are shown in any case."""


def size_answer(found: SizeFound, run: str, bundle: str) -> CommandAnswer:
    """What a run comes to; `run` is the path of its directory and `bundle` that of its pool file
    ('': none was written), as a shell takes them."""
    pool = found.recommended
    report = next_of("size", found.outcome, run)
    applied = (("Apply", f"sudo phpdyno bundle apply {bundle}"), ("Undo", "sudo phpdyno bundle rollback")) if bundle else ()
    head, _, rest = found.answer.partition("; ")
    subject = subject_of(found.app, "", found.environment, found.elapsed_s, outcome=found.outcome)
    predicted = predicted_words(pool)
    missed = (f"{WARNING}{predicted[:1].lower()}{predicted[1:]}",) if pool.within is False else ()
    answer = CommandAnswer(
        subject=f"{subject} · {count(found.cores, 'core')} for PHP",
        result=head,
        standing=_standing(found),
        beside=(f"{rest[:1].upper()}{rest[1:]}",) if rest else (),
        notes=(SCOPE,),
        doubts=(*missed, *missing_of(found.reached)),
        notices=first_of(found.warnings),
        next=(*applied, *report) if found.outcome == "finished" else report,
    )
    rows = [_line(row, pool.workers) for row in found.confirmed if row.per_s is not None]
    if rows:
        heads = ("WORKERS", "REQUESTS/S", f"AGAINST {pool.workers}", "MEMORY")
        room = max(min(len(rows), LEAST_ROWS), MOST_LINES - answer.lines - 1)
        answer = answer.with_table(table_of(heads, rows, room, "pool"))
    return with_room_for(answer, [each for each in found.sentences[:2] if not (missed and each == predicted)])


def _standing(found: SizeFound) -> Standing:
    pool = found.recommended
    if pool.meets is False or pool.reason == "nothing":
        return "bad"
    return "open" if found.outcome != "finished" or pool.reason == "unsure" else "good"


def _line(row: ConfirmedRow, recommended: int) -> TableLine:
    """One pool: against the recommended one as percent, and its memory."""
    over = row.over
    beside = (
        NOTHING
        if row.workers == recommended or over is None or over.low is None or over.high is None
        else signed(change_of(1 / over.value, 1 / over.high, 1 / over.low, less_is_better=False))
    )
    served = NOTHING if row.per_s is None else rate(row.per_s.value)
    memory = NOTHING if row.memory_kib is None else mib(row.memory_kib)
    return TableLine((f"{row.workers}  {row.what}", served, beside, memory), "good" if row.workers == recommended else "none")
