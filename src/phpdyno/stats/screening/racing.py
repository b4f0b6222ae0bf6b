"""A race of arms: which have left, which are still in it, and who has won, however often one looks.

Two arms are compared within blocks: the difference of their log ratios with the control, in which
the control's own draw cancels. Each pair of arms has a confidence sequence of its own, so with
probability 1 - alpha they all hold at all times, and no arm leaves wrongly. Racing: Maron and Moore
(1997); by sequences that hold at any time: Howard and others (2021), here Wang and Ramdas
(2310.03722).
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

from msgspec import Struct

from phpdyno.stats.comparison.judge import margin_log
from phpdyno.stats.comparison.sequence import MIXTURE, Interval, contrast, least_blocks

CONTROL = ""
"""The control's name in a race: it takes part with a log ratio of 0 in every block, and changes
nothing, so it is the simplest of all."""

RaceEnd = Literal["one left", "all within the margin", "open"]


class RacingArm(Struct, frozen=True):
    """An arm in the race. `parts`: how many things it changes; fewer are simpler. `log_ratios` by
    block, against the control."""

    name: str
    parts: int
    log_ratios: Mapping[int, float]


class Departure(Struct, frozen=True):
    """An arm that left: which one it is certain to be worse than, by how much (log ratio of the
    other less its own)."""

    name: str
    beaten_by: str
    by: Interval


class Standing(Struct, frozen=True):
    """A race as it stands. `left` are the arms still in it, best estimate first. There is a
    `winner` even while the race is open: the one with the best estimate, which a confirmation on
    other instances has yet to bear out."""

    left: tuple[str, ...]
    departed: tuple[Departure, ...]
    winner: str
    end: RaceEnd


def race(racers: Sequence[RacingArm], *, alpha: float, margin: float, mixture: float = MIXTURE, entered: int | None = None) -> Standing:
    """Who is left of `racers` and the control, by all blocks so far.

    An arm leaves when it is certain to be worse than another by the margin (a fraction), or at all
    when the other is no less simple. The race ends when one is left, or when all that are left are
    certain to differ by less than the margin: then the simplest has won, of equally simple ones
    that with the best estimate. `racers` are those that left, with the blocks that they had, and
    those still in it; of `entered` in all (None: no more than these), whoever was taken out for
    another reason included. Alpha is divided over all pairs of them. Raises ValueError: a name
    twice or the control's, fewer entered than race, alpha outside (0, 1), a margin below 0.
    """
    field = _field(racers)
    bound = margin_log(margin)
    if entered is not None and entered < len(racers):
        raise ValueError(f"{len(racers)} race, and {entered} entered")
    each_alpha = pair_alpha(entered or len(racers), alpha)
    ahead = _differences(field, each_alpha, mixture)
    departed = _departed(field, ahead, bound)
    gone = {each.name for each in departed}
    ranked = sorted(field, key=lambda each: (-_mean(each), each.parts, each.name))
    # Arms that left earlier share few blocks with the others, so all could be beaten by somebody;
    # the best estimate then stays.
    left = [each for each in ranked if each.name not in gone] or ranked[:1]
    names = tuple(each.name for each in left)
    if len(left) == 1:
        return Standing(names, departed, names[0], "one left")
    if all(_within(ahead.get((one, other)), bound) for one, other in combinations(names, 2)):
        return Standing(names, departed, min(left, key=lambda each: each.parts).name, "all within the margin")
    return Standing(names, departed, names[0], "open")


def pair_alpha(racers: int, alpha: float) -> float:
    """Error probability of one pair's sequence in a race of so many arms and the control
    (Bonferroni). Raises ValueError: no racers."""
    if racers < 1:
        raise ValueError("a race needs an arm")
    return alpha / (racers * (racers + 1) / 2)


def least_race_blocks(racers: int, alpha: float, mixture: float = MIXTURE) -> int:
    """Blocks before which no arm can leave."""
    return least_blocks(pair_alpha(racers, alpha), mixture)


def _field(racers: Sequence[RacingArm]) -> tuple[RacingArm, ...]:
    names = [each.name for each in racers]
    if len(set(names)) < len(names) or CONTROL in names:
        raise ValueError("every arm of a race needs a name of its own, and none the control's")
    blocks = {block for each in racers for block in each.log_ratios}
    return (*racers, RacingArm(CONTROL, 0, dict.fromkeys(sorted(blocks), 0.0)))


def _differences(field: Sequence[RacingArm], alpha: float, mixture: float) -> dict[tuple[str, str], Interval]:
    """How far the first of each two is ahead of the second, over the blocks that they share; none
    where they share none."""
    found = {}
    for one, other in combinations(field, 2):
        ahead = contrast(one.log_ratios, other.log_ratios, alpha, mixture)
        if ahead is not None:
            found[one.name, other.name] = ahead
            found[other.name, one.name] = _turned(ahead)
    return found


def _turned(ahead: Interval) -> Interval:
    low = None if ahead.high is None else -ahead.high
    high = None if ahead.low is None else -ahead.low
    return Interval(-ahead.mean, low, high, ahead.n, ahead.sd)


def _departed(field: Sequence[RacingArm], ahead: Mapping[tuple[str, str], Interval], bound: float) -> tuple[Departure, ...]:
    """Each arm that another is certain to beat, with the one that beats it most surely; being
    beaten is transitive in truth, so an arm that left itself may have beaten it."""
    found = []
    for slower in field:
        beats = []
        for faster in field:
            lead = ahead.get((faster.name, slower.name))
            needed = 0.0 if faster.parts <= slower.parts else bound
            if lead is not None and lead.low is not None and lead.low > 0.0 and lead.low >= needed:
                beats.append((lead.low, faster.name, lead))
        if beats:
            _, name, lead = max(beats, key=lambda each: each[:2])
            found.append(Departure(slower.name, name, lead))
    return tuple(found)


def _within(ahead: Interval | None, bound: float) -> bool:
    return ahead is not None and ahead.low is not None and ahead.high is not None and -bound < ahead.low and ahead.high < bound


def _mean(racer: RacingArm) -> float:
    return sum(racer.log_ratios.values()) / len(racer.log_ratios) if racer.log_ratios else 0.0
