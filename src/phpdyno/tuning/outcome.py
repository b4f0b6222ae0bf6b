"""What the statistics of a stage say, as the record of a tune keeps it: names and ratios instead of
numbers of factors and logarithms."""

import math
from collections.abc import Mapping, Sequence

from msgspec import structs

from phpdyno.model.runs.tune import ChangeEffect, PartFound, Race, Racer, Together, TunedRatio
from phpdyno.stats.comparison.sequence import Interval, confidence_sequence
from phpdyno.stats.screening.effects import EffectEstimate, Screened
from phpdyno.stats.screening.racing import RacingArm as Running
from phpdyno.stats.screening.racing import Standing
from phpdyno.tuning.ablation import WinnerPart
from phpdyno.tuning.factors import Entry, Factor
from phpdyno.tuning.race_entries import certain, judged

NO_TIME = "there was no time for it"
"""The fate of a racer that was not measured."""
LARGEST_LOG = 700.0
"""exp() of more does not fit a float."""


def ratio_of(seen: Interval) -> TunedRatio:
    """An interval of log ratios as a ratio."""
    return TunedRatio(_exp(seen.mean), _end(seen.low), _end(seen.high), seen.n)


def screened_effects(factors: Sequence[Factor], screened: Screened, margin: float) -> tuple[tuple[ChangeEffect, ...], tuple[Together, ...]]:
    """Each change with its standing, the best first, and the interactions that are certain."""
    found = [
        ChangeEffect(factors[each.factor].levels[each.level - 1].name, each.standing, _of_estimate(each.effect))
        for each in judged(screened, margin)
    ]
    together = [
        Together((factors[each.factors[0]].name, factors[each.factors[1]].name), _known(each.effect))
        for each in screened.interactions
        if certain(each)
    ]
    return tuple(sorted(found, key=lambda each: -(each.ratio.value if each.ratio else 0.0))), tuple(together)


def race_found(
    entries: Sequence[Entry],
    blocks: int,
    running: Sequence[Running],
    standing: Standing | None,
    broken: Mapping[str, str],
    *,
    alpha: float,
    mixture: float,
) -> Race:
    """How every entry fared, those that are left first. `broken` says of some why they may not
    win."""
    logs = {each.name: tuple(each.log_ratios.values()) for each in running}
    fates = dict(broken)
    if standing is not None:
        for gone in standing.departed:
            fates[gone.name] = f"beaten by {gone.beaten_by or 'the control'} by {math.expm1(gone.by.low or 0.0):.1%} or more"
        for name in standing.left:
            fates[name] = "won" if name == standing.winner else "not told apart from the winner"
    order = {name: place for place, name in enumerate(standing.left if standing else ())}
    racers = [
        Racer(
            each.name,
            each.settings,
            ratio_of(confidence_sequence(logs[each.name], alpha, mixture)) if logs.get(each.name) else None,
            fates.get(each.name, NO_TIME),
        )
        for each in sorted(entries, key=lambda each: (standing is None or each.name != standing.winner, order.get(each.name, len(order))))
    ]
    return Race(blocks, tuple(racers), standing.winner if standing else "", standing.end if standing else "nobody could be measured")


def all_stay(parts: Sequence[PartFound], why: str) -> tuple[PartFound, ...]:
    """Parts of a winner that is adopted whole: those that were to be dropped stay, because what
    would be left was not adopted."""
    reason = f"kept: what is left without the dropped parts was not adopted ({why})"
    return tuple(each if each.kept else structs.replace(each, kept=True, reason=reason) for each in parts)


def part_found(factors: Sequence[Factor], winner: Entry, part: WinnerPart) -> PartFound:
    """One part of the winner, by the change that it makes."""
    change = factors[part.factor].choices[winner.levels[part.factor] - 1]
    ratio = None if part.contribution is None else ratio_of(part.contribution)
    return PartFound(change.name, change.settings, ratio, part.kept, part.reason)


def _of_estimate(effect: EffectEstimate | None) -> TunedRatio | None:
    return None if effect is None else _known(effect)


def _known(effect: EffectEstimate | None) -> TunedRatio:
    if effect is None:
        raise ValueError("an effect that is certain has an estimate")
    return TunedRatio(_exp(effect.value), _end(effect.low), _end(effect.high))


def _end(value: float | None) -> float | None:
    return None if value is None else _exp(value)


def _exp(value: float) -> float:
    return math.exp(max(-LARGEST_LOG, min(LARGEST_LOG, value)))
