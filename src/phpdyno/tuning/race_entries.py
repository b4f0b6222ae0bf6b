"""Who takes part in the race: what the screening did not reject, alone and together."""

from collections.abc import Sequence

from msgspec import Struct

from phpdyno.model.runs.tune import ChangeStanding
from phpdyno.stats.comparison.judge import margin_log
from phpdyno.stats.screening.effects import EffectEstimate, Interaction, LevelEffect, Screened
from phpdyno.stats.screening.factorial import Levels
from phpdyno.tuning.factors import Entry, Factor, entry

MOST_MIXED = 0.5
"""An interaction whose estimate holds another one by this part or more is nobody's to claim."""
PART_OF_MARGIN = 0.5
"""Of what is open takes part what looks to bring this part of the margin: a change that brings less
is one more thing to go wrong."""


class Judged(Struct, frozen=True):
    """One level of one factor after the screening; level 1 is the first."""

    factor: int
    level: int
    standing: ChangeStanding
    effect: EffectEstimate | None


def judged(screened: Screened, margin: float) -> tuple[Judged, ...]:
    """All levels; `margin` is the relevance margin as a fraction. Raises ValueError: a margin below
    0."""
    bound = margin_log(margin)
    return tuple(Judged(each.factor, each.level, _standing(each, bound), each.effect) for each in screened.mains)


def race_entries(factors: Sequence[Factor], screened: Screened, *, margin: float) -> tuple[Entry, ...]:
    """Who may race, the most promising first; none when everything was rejected.

    What all effects together say is best; all that is certain to help; all that may and looks to;
    the best with another level of a factor, or with what the factor has for later; the best without
    one of its parts, the least certain first; each change alone.
    """
    kept = {(each.factor, each.level): each for each in judged(screened, margin) if _hopeful(each, PART_OF_MARGIN * margin_log(margin))}
    if not kept:
        return ()
    sure = {place: each for place, each in kept.items() if each.standing == "helps"}
    best = _climb(screened, kept, _strongest(kept, len(factors)))
    wanted: list[Levels] = [best, _strongest(sure, len(factors)), _strongest(kept, len(factors))]
    ranked = sorted(kept, key=lambda place: -_value(kept[place].effect))
    wanted += [_with(best, factor, level) for factor, level in ranked if best[factor] != level]
    for factor in (number for number, level in enumerate(best) if level):
        first = len(factors[factor].levels) + 1
        wanted += [_with(best, factor, level) for level in range(first, len(factors[factor].choices) + 1)]
    wanted += [_with(best, factor, 0) for factor, level in reversed(ranked) if best[factor] == level]
    wanted += [_with((0,) * len(factors), factor, level) for factor, level in ranked]
    distinct = [levels for levels in dict.fromkeys(wanted) if any(levels)]
    return tuple(entry(factors, levels) for levels in distinct)


def without_common(every: Sequence[Entry], refused: Sequence[Entry]) -> tuple[Entry, ...]:
    """Those of `every` that have nothing of what all of the `refused` have in common; none where
    these have nothing in common."""
    parts = [{(place, level) for place, level in enumerate(each.levels) if level} for each in refused]
    common = set.intersection(*parts) if parts else set()
    return tuple(each for each in every if common and not any(each.levels[place] == level for place, level in common))


def predicted(screened: Screened, levels: Levels) -> float:
    """What the effects say an arm's log ratio with the control is, with the interactions that are
    certain and mixed with no other.

    A main effect is the mean over what the others are at, so it holds half of each interaction of
    its factor.
    """
    mains = {(each.factor, each.level): _value(each.effect) for each in screened.mains}
    total = sum(mains.get((factor, level), 0.0) for factor, level in enumerate(levels) if level)
    for each in screened.interactions:
        if certain(each):
            one, other = (1.0 if levels[factor] else 0.0 for factor in each.factors)
            total += _value(each.effect) * (one * other - (one + other) / 2.0)
    return total


def certain(interaction: Interaction) -> bool:
    """Whether an interaction is there for certain, and no other can be meant."""
    seen = interaction.effect
    if seen is None or seen.low is None or seen.high is None or seen.low <= 0.0 <= seen.high:
        return False
    return all(abs(share) < MOST_MIXED for _, share in interaction.mixed_with)


def _standing(main: LevelEffect, bound: float) -> ChangeStanding:
    seen = main.effect
    if seen is None:
        return "unknown"
    if seen.low is None or seen.high is None:
        return "open"
    if seen.high < 0.0:
        return "hurts"
    if seen.high < bound:
        return "too small"
    return "helps" if seen.low > 0.0 else "open"


def _hopeful(each: Judged, least: float) -> bool:
    return each.standing == "helps" or (each.standing == "open" and _value(each.effect) > least)


def _strongest(kept: dict[tuple[int, int], Judged], factors: int) -> Levels:
    """The level with the greatest effect of each factor, 0 where none is kept."""
    chosen = [0] * factors
    for factor, level in sorted(kept, key=lambda place: _value(kept[place].effect)):
        chosen[factor] = level
    return tuple(chosen)


def _climb(screened: Screened, kept: dict[tuple[int, int], Judged], start: Levels) -> Levels:
    """Change one factor at a time for as long as the prediction gets better."""
    best = start
    while True:
        steps = [_with(best, factor, level) for factor, level in kept] + [_with(best, factor, 0) for factor, _ in kept]
        better = max(steps, key=lambda levels: predicted(screened, levels))
        if predicted(screened, better) <= predicted(screened, best):
            return best
        best = better


def _with(levels: Levels, factor: int, level: int) -> Levels:
    return (*levels[:factor], level, *levels[factor + 1 :])


def _value(effect: EffectEstimate | None) -> float:
    return 0.0 if effect is None else effect.value
