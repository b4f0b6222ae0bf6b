"""The answer of a selfcheck: whether verdicts of this host can be relied on, and why. Pure."""

from collections.abc import Sequence

from phpdyno.commands.selfcheck.judged import CheckRow
from phpdyno.commands.selfcheck.view import ChecksView
from phpdyno.model.notices import WARNING
from phpdyno.report.answer.parts import with_room_for
from phpdyno.report.answer.shape import CommandAnswer, Standing
from phpdyno.report.words import count

ORDER = ("not reached", "reached", "open")
"""What is said first; a contradiction above all."""
WORDS = {"not reached": "NOT REACHED", "reached": "as it should be", "open": "too few comparisons yet"}


def selfcheck_answer(view: ChecksView, run: str) -> CommandAnswer:
    """What a selfcheck comes to; `run` is the path of its directory, as a shell takes it."""
    judged = [row for row in view.rows if row.outcome != "–"]
    unfinished = view.done < view.wanted
    php = f" · PHP {view.php.split()[-1]}" if view.php else ""
    go_on = (("Go on", f"phpdyno selfcheck --resume {run}"),) if unfinished else ()
    more = (("More", "phpdyno selfcheck"),) if not unfinished and any(row.outcome == "open" for row in judged) else ()
    kept = (("Look", f"phpdyno report {run}/{view.kept[0]}"),) if view.kept else ()
    answer = CommandAnswer(
        subject=f"selfcheck on {view.app}{php} · {view.done} of {count(view.wanted, 'comparison')}",
        result=view.conclusion,
        standing=_standing(view, judged, unfinished=unfinished),
        doubts=tuple(f"{WARNING}{text}" for text in view.warnings),
        next=(*go_on, *more, *kept, ("All", f"phpdyno selfcheck --resume {run} --verbose")),
    )
    told = sorted(judged, key=lambda row: ORDER.index(row.outcome))
    return with_room_for(answer, [*_without_number(view), *map(_line, told)])


def _standing(view: ChecksView, judged: Sequence[CheckRow], *, unfinished: bool) -> Standing:
    if view.contradicted:
        return "bad"
    return "open" if unfinished or any(row.outcome == "open" for row in judged) else "good"


def _line(row: CheckRow) -> str:
    return f"{WORDS[row.outcome]}: {row.check}: {row.found} (target: {row.target})"


def _without_number(view: ChecksView) -> list[str]:
    return [f"{count(len(view.invalid), 'comparison')} gave no number: {view.invalid[0]}"] if view.invalid else []
