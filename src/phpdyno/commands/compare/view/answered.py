"""What the answers under load say: how many were compared and how, and how rare a wrong one would
have to be to be missed."""

from typing import Annotated

from msgspec import Struct

from phpdyno.model.answered import AnswerCount
from phpdyno.report.view_parts import says

SURE = 3.0
"""Of n right answers, at most 3 / n of all are wrong, with 95 % confidence (the rule of three)."""


class AnsweredRow(Struct, frozen=True):
    """What a treatment answered while it was driven, warm-up included."""

    exact: Annotated[int, says("Answers whose whole body was compared with the control's, byte for byte.")]
    masked: Annotated[int, says("Answers whose whole body was compared, but for what moves in the control's.")]
    by_length: Annotated[int, says("Answers of which only status and length were compared.")]
    wrong: Annotated[int, says("How many of all were none that the control was seen to give.")]
    control: Annotated[int, says("Answers of the control's, compared in the same ways.")]
    control_wrong: Annotated[int, says("How many of those were not as all others.")]
    may_have_missed: Annotated[
        float | None, says("Share of wrong answers that would have been seen 19 times in 20. Null where some were wrong, or none compared.")
    ]
    said: Annotated[str, says("The same in words.")]


def answered_row(control: AnswerCount, treated: AnswerCount) -> AnsweredRow | None:
    """The row of a treatment; None where nothing was counted (journals of before it was)."""
    if not treated.total:
        return None
    whole = treated.exact + treated.masked
    return AnsweredRow(
        exact=treated.exact,
        masked=treated.masked,
        by_length=treated.by_length,
        wrong=treated.wrong,
        control=control.total,
        control_wrong=control.wrong,
        may_have_missed=SURE / whole if whole >= SURE and not treated.wrong else None,
        said=_words(control, treated, whole),
    )


def _words(control: AnswerCount, treated: AnswerCount, whole: int) -> str:
    kinds = ((treated.exact, "byte for byte"), (treated.masked, "but for what moves"), (treated.by_length, "by length alone"))
    how = ", ".join(f"{count:,} {said}" if count != treated.total else said for count, said in kinds if count)
    if treated.wrong:
        own = f"{control.wrong:,} of the control's {control.total:,}"
        return f"{treated.wrong:,} of {treated.total:,} answers wrong, and {own} (compared {how})"
    said = f"none of {treated.total:,} answers wrong (compared {how})"
    if whole >= SURE:
        return f"{said}; a fault in 1 of {whole / SURE:,.0f} or more would have been seen"
    return f"{said}, which shows no other text of about that length"
