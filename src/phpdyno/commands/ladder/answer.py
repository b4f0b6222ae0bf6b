"""The answer of a ladder: which build to take, and what each step brings. Pure."""

from phpdyno.commands.ladder.steps import best_of
from phpdyno.commands.ladder.view import LadderView
from phpdyno.model.notices import first_of
from phpdyno.model.runs.ladder import StepFound
from phpdyno.model.verdict import VerdictKind
from phpdyno.report.answer.parts import SCOPE, ending_of, next_of, table_of
from phpdyno.report.answer.shape import MOST_LINES, STANDING, CommandAnswer, Standing, TableLine
from phpdyno.report.change_words import change_seen, change_words
from phpdyno.report.words import duration, percent
from phpdyno.stats.change import said


def ladder_answer(view: LadderView, run: str) -> CommandAnswer:
    """What a ladder comes to; `run` is the path of its directory, as a shell takes it."""
    result, standing = _result(view)
    answer = CommandAnswer(
        subject=f"{view.title.partition(':')[0]} · {duration(view.elapsed_s)}",
        result=result,
        standing=standing,
        notes=(SCOPE,),
        notices=first_of(view.warnings),
        next=next_of("ladder", view.outcome, run),
    )
    lines = [_line(each) for each in view.steps]
    return answer.with_table(table_of(("STEP", "CPU PER REQUEST", "IN ALL", "VERDICT"), lines, MOST_LINES - answer.lines - 1, "step"))


def _result(view: LadderView) -> tuple[str, Standing]:
    best = best_of(view.steps)
    if best is not None and best.total is not None:
        words = said(change_seen(best.total), *_WORDS, percent(view.confidence))
        return f"{best.step.name}: {words}, against the PHP that is there", "good"
    if view.outcome == "finished":
        return "no step is certainly better than the PHP that is there", "none"
    return ending_of(view.outcome, view.outcome_detail), "open"


_WORDS = ("less CPU per request", "more CPU per request")


def short_standing(found: StepFound) -> str:
    """Whether a step is worth taking, in few words."""
    if found.earned:
        return "keep"
    words: dict[VerdictKind, str] = {
        "improved": "small gain",
        "regressed": "worse",
        "equivalent": "no difference",
        "invalid": "not measured",
        "inconclusive": "not decided",
    }
    return words[found.kind]


def _line(each: StepFound) -> TableLine:
    return TableLine(
        (f"{each.step.name} on {each.step.on}", change_words(each.ratio), change_words(each.total), short_standing(each)),
        "good" if each.earned else STANDING[each.kind],
    )
