"""The answer of an explanation: where a request's time goes, or what a change did inside. Pure."""

from phpdyno.commands.explain.words import answer
from phpdyno.model.inside.explained import Explained
from phpdyno.model.notices import first_of
from phpdyno.report.answer.shape import MOST_LINES, CommandAnswer


def explain_answer(found: Explained, run: str) -> CommandAnswer:
    """What an explanation comes to: its last sentence, which names what matters most, above the
    others; `run` is the path of its directory, as a shell takes it."""
    *beside, result = answer(found) or ("nothing could be read",)
    arms = " against ".join(reversed(found.arms)) if len(found.arms) > 1 else found.arms[0] if found.arms else ""
    made = CommandAnswer(
        subject=" · ".join(each for each in (found.app, arms, f"{found.requests} requests") if each),
        result=result,
        standing="none",
        notices=first_of(found.warnings),
        notes=("Each part, with its spread: --verbose, or the report.",),
        next=(("Report", f"{run}/report.html"),),
    )
    while beside and made.with_beside(tuple(beside)).lines > MOST_LINES:
        beside.pop()
    return made.with_beside(tuple(beside))
