"""Whether each part of the winner carries its weight: the winner with and without it, within the
same blocks."""

import math
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, structs

from phpdyno.model.verdict import Relevance, VerdictKind
from phpdyno.stats.comparison.judge import judge, margin_log
from phpdyno.stats.comparison.sequence import MIXTURE, Interval, contrast
from phpdyno.tuning.factors import Entry, Factor, entry

HELPED = "kept: helped in the screening; the final check is open"
LOOKS = "kept: the whole is proved, and this part looks to carry it"
LogRatios = Mapping[int, float]
"""One arm against the control, by block."""


class Trial(Struct, frozen=True):
    """The winner and the arm that lacks one part (its factor's number) in the same blocks: their
    log ratios, or why that arm is invalid."""

    factor: int
    whole: LogRatios
    without: LogRatios
    invalid: str = ""


class WinnerPart(Struct, frozen=True):
    """What one part contributes to the winner (log ratio of the winner against the winner without
    it), and whether it stays."""

    factor: int
    contribution: Interval | None
    kind: VerdictKind
    relevance: Relevance
    kept: bool
    reason: str


def without_each(factors: Sequence[Factor], winner: Entry) -> tuple[Entry, ...]:
    """The winner without each of its parts; none when it has one part only, whose contribution is
    the winner's own effect."""
    places = [number for number, level in enumerate(winner.levels) if level]
    if len(places) < 2:
        return ()
    return tuple(
        entry(factors, (*winner.levels[:place], 0, *winner.levels[place + 1 :]), f"without {factors[place].name}") for place in places
    )


def ablate(
    trials: Sequence[Trial], *, alpha: float, margin: float, mixture: float = MIXTURE, helped: Collection[int] = ()
) -> tuple[WinnerPart, ...]:
    """Which parts stay. Alpha is divided over them; each sequence holds however often one looks.

    A part stays when its contribution is certain to be above 0 and not certain to be below the
    margin: the bundle changes only what was shown to be worth it. Where that is open, it stays when
    the screening has shown that it helps (`helped`: their factors). It stays as well where the
    winner without it is invalid. The winner is confirmed, so something of it stays: what is open
    and looks as if it added the margin, or else what looks to add most. Raises ValueError: no
    trial, alpha outside (0, 1), a margin below 0.
    """
    if not trials:
        raise ValueError("an ablation needs a part")
    parts = tuple(_part(each, alpha / len(trials), margin, mixture, helped=each.factor in helped) for each in trials)
    if any(each.kept for each in parts):
        return parts
    promising = {each.factor for each in parts if each.kind == "inconclusive" and _looks(each) >= margin_log(margin)}
    stay = promising or {max(parts, key=_looks).factor}
    return tuple(structs.replace(each, kept=True, reason=LOOKS) if each.factor in stay else each for each in parts)


def settled(part: WinnerPart) -> bool:
    """Whether more blocks could not change the decision."""
    return part.kind in {"equivalent", "regressed", "invalid"} or part.relevance in {"relevant", "not relevant"}


def remaining(factors: Sequence[Factor], winner: Entry, parts: Sequence[WinnerPart]) -> Entry:
    """The winner with the parts that stay."""
    gone = {each.factor for each in parts if not each.kept}
    return entry(factors, tuple(0 if number in gone else level for number, level in enumerate(winner.levels)))


def too_much_lost(loss: Interval, margin: float) -> bool:
    """Whether parts that are small alone are not small together: `loss` is the log ratio of the
    winner against what remained of it, from blocks of its own, and it is certain to be above 0 and
    not certain to be below the margin."""
    kind, relevance = judge(loss, margin)
    return kind == "improved" and relevance != "not relevant"


def _looks(part: WinnerPart) -> float:
    return part.contribution.mean if part.contribution else -math.inf


def _part(trial: Trial, alpha: float, margin: float, mixture: float, *, helped: bool) -> WinnerPart:
    if trial.invalid:
        return WinnerPart(trial.factor, None, "invalid", "", True, f"kept: without it {trial.invalid}")
    seen = contrast(trial.whole, trial.without, alpha, mixture)
    if seen is None:
        reason = HELPED if helped else "dropped: no time to check it"
        return WinnerPart(trial.factor, None, "inconclusive", "", helped, reason)
    kind, relevance = judge(seen, margin)
    if kind == "inconclusive" and helped:
        return WinnerPart(trial.factor, seen, kind, relevance, True, HELPED)
    kept = kind == "improved" and relevance != "not relevant"
    return WinnerPart(trial.factor, seen, kind, relevance, kept, _reason(kind, relevance))


def _reason(kind: VerdictKind, relevance: Relevance) -> str:
    if kind == "improved":
        return "dropped: it adds less than the margin" if relevance == "not relevant" else "kept: it adds to the rest"
    words: dict[VerdictKind, str] = {
        "regressed": "dropped: the rest is better without it",
        "equivalent": "dropped: the rest is as good without it",
        "inconclusive": "dropped: no measurable benefit",
        "improved": "",
        "invalid": "",
    }
    return words[kind]
