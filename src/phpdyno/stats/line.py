"""Cost over the turns of a busy loop: a straight line, from which the true size of a planted effect
follows."""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from phpdyno.stats.comparison.sequence import confidence_sequence, least_blocks

MIXTURE = 1.0
"""g for a handful of rounds: finite from 5 on at 5 %."""


class Line(Struct, frozen=True):
    """cost = base_ns + turns x unit_ns, over rounds on instances of their own.

    `bend` is (slope of the upper half - slope of the lower half) / slope of the line, 0 for a
    straight line, with its interval (None: too few rounds). A difference, since the slope of half a
    round may well be negative where a host is noisy.
    """

    base_ns: float
    unit_ns: float
    bend: float
    bend_low: float | None
    bend_high: float | None
    rounds: int

    def cost_ns(self, turns: float) -> float:
        """What a request with so many turns costs."""
        return self.base_ns + turns * self.unit_ns

    def effect(self, turns: int, more: int) -> float:
        """log(cost with `more` turns / cost with `turns`)."""
        return math.log(self.cost_ns(more) / self.cost_ns(turns))

    def turns_for(self, effect: float, turns: int) -> int:
        """Turns that make a request by the fraction `effect` dearer than one with `turns`."""
        return turns + round(effect * self.cost_ns(turns) / self.unit_ns)


def fit_line(turns: Sequence[int], rounds: Sequence[Sequence[float]], alpha: float = 0.05) -> Line:
    """Least squares over all rounds; `rounds[r][i]` is the cost of a request with `turns[i]`
    (ascending), nanoseconds.

    Raises ValueError: fewer than three levels, no rounds, a cost that does not grow.
    """
    if len(turns) < 3 or not rounds:
        raise ValueError("a line with a bend needs three levels and a round")
    levels, costs = np.asarray(turns, dtype=np.float64), np.asarray(rounds, dtype=np.float64)
    unit, base = np.polyfit(levels, costs.mean(axis=0), 1)
    middle = len(levels) // 2
    lower = [_slope(levels[: middle + 1], row[: middle + 1]) for row in costs]
    upper = [_slope(levels[middle:], row[middle:]) for row in costs]
    if min(unit, base) <= 0.0:
        raise ValueError("more turns of the loop do not cost more: this host is too noisy, or the loop does not run")
    bends = [(above - below) / float(unit) for above, below in zip(upper, lower, strict=True)]
    seen = confidence_sequence(bends, alpha, MIXTURE)
    return Line(float(base), float(unit), seen.mean, seen.low, seen.high, len(bends))


def least_rounds(alpha: float = 0.05) -> int:
    """Rounds from which the bend has a finite interval."""
    return least_blocks(alpha, MIXTURE)


def _slope(levels: "np.ndarray[tuple[int], np.dtype[np.float64]]", costs: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
    return float(np.polyfit(levels, costs, 1)[0])
