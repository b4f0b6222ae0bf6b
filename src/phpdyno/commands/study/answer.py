"""The answer of a study: what is claimed, what was found here, what is left to measure. Pure."""

from collections.abc import Sequence

from phpdyno.commands.study.view.claims import EffectClaim, claims_of, in_one_sentence, in_times, metric_of
from phpdyno.commands.study.view.shape import StudyView
from phpdyno.model.notices import first_of
from phpdyno.report.answer.parts import SCOPE, table_of, with_room_for
from phpdyno.report.answer.shape import MOST_LINES, AnswerTable, CommandAnswer, TableLine
from phpdyno.report.words import NOTHING, count, duration

ELSEWHERE = " on the page"


def study_answer(view: StudyView, run: str, page: str) -> CommandAnswer:
    """What a study comes to; `run` is the path of its directory and `page` that of its page ('': it
    could not be written), as a shell takes them."""
    left = [part for part in view.missing if part.state in {"open", "failed"}]
    claims = claims_of(view)
    said = in_one_sentence(view)
    php = (f"PHP {view.php}",) if view.php else ()
    failed = [f"{part.name} failed: {part.detail}" for part in left if part.state == "failed"]
    never = [f"{part.name} is not possible on this host: {part.detail}" for part in view.missing if part.state == "impossible"]
    answer = CommandAnswer(
        subject=" · ".join((view.title, *php, duration(view.elapsed_s))),
        result=_result(said, len(left)),
        standing="open" if left else "none",
        notices=first_of(view.warnings),
        doubts=tuple(failed[:1]),
        notes=(SCOPE,),
        next=(*((("Go on", f"phpdyno study --resume {run}"),) if left else ()), *((("Page", page),) if page else ())),
    )
    if claims:
        answer = answer.with_table(_table(view, claims, MOST_LINES - answer.lines - 1))
    return with_room_for(answer, (*failed[1:], *never))


def _table(view: StudyView, claims: Sequence[EffectClaim], room: int) -> AnswerTable:
    theirs = any(each.claimed != NOTHING for each in claims)
    metric, better = metric_of(view.contrasts), ", × BETTER" if in_times(view) else ""
    claimed = "CLAIMED" if view.sweeps or metric == "throughput" else "CLAIMED: REQ/S"
    here = f"HERE: {'CPU' if metric == 'cpu' else 'REQ/S'}{better}" if view.contrasts else "HERE"
    lines = [_line(each, found, theirs=theirs) for each in claims for found in each.here]
    return table_of(("QUESTION", *((claimed,) if theirs else ()), here), lines, room, "row", where=ELSEWHERE)


def _result(said: str, left: int) -> str:
    told = f"{count(left, 'part')} not measured yet" if left else "all parts are measured"
    return f"{said}; {told}" if said else told


def _line(claim: EffectClaim, here: str, *, theirs: bool) -> TableLine:
    return TableLine((claim.question, *((claim.claimed,) if theirs else ()), here))
