"""Blame for a wrong answer: a treatment's, or nobody's because the control gives such as well."""

from typing import Literal

from msgspec.structs import replace

from phpdyno.model.answered import AnswerCount
from phpdyno.model.verdict import Verdict
from phpdyno.stats.exact import at_least

CERTAIN = 0.01
"""Error probability of saying that a treatment answers wrongly more often than its control."""

Blame = Literal["", "alone", "certain"]
"""`certain`: wrong answers come with the treatment. `alone`: the control gave none, but there are
too few to be certain. '': none, or no more than the control's share explains."""


def blame(control: AnswerCount, treated: AnswerCount) -> Blame:
    """Whether wrong answers are held against a treatment.

    With equal rates each of all wrong answers is the treatment's with the probability of its share
    of all answers, so their number is binomial. A share of the control's own clears a treatment, as
    far as it goes; no share at all never does.
    """
    if not treated.wrong:
        return ""
    if at_least(treated.wrong, treated.wrong + control.wrong, treated.total / max(1, treated.total + control.total)) <= CERTAIN:
        return "certain"
    return "" if control.wrong else "alone"


def wrong_words(control: AnswerCount, treated: AnswerCount) -> str:
    """How many answers were wrong, and of how many the control's were: `3 of 31,204 answers were
    not the control's (of its own: 0 of 31,310); first: ...`."""
    words = f"{treated.wrong:,} of {treated.total:,} answers were not the control's (of its own: {control.wrong:,} of {control.total:,})"
    return f"{words}; first: {treated.first}" if treated.first else words


def held_to_answers(verdict: Verdict, control: AnswerCount, treated: AnswerCount) -> Verdict:
    """The verdict on a treatment in view of what it answered: none where it alone answered wrongly,
    a warning where the control does so as well."""
    if verdict.kind == "invalid" or not treated.wrong:
        return verdict
    words = wrong_words(control, treated)
    if blame(control, treated):
        return Verdict(verdict.treatment, "invalid", proofs=verdict.proofs, reason=words, metric=verdict.metric)
    return replace(verdict, warnings=(*verdict.warnings, f"{words}: no more than the control's own share explains"))
