"""What holds whatever the distribution: an interval for a share that was counted and for a median,
and how probable a count is."""

import math
from collections.abc import Callable, Iterable, Sequence

ALPHA = 0.05
_BISECTIONS = 60
"""Halvings of (0, 1): more than a double can tell apart."""


def share_interval(count: int, of: int, alpha: float = ALPHA) -> tuple[float, float]:
    """The share behind `count` successes in `of` independent trials, with 1 - alpha confidence or
    more (Clopper & Pearson 1934).

    Nothing is known of no trials: (0, 1). Raises ValueError: a count below 0 or above `of`, alpha
    outside (0, 1).
    """
    if not 0 <= count <= of:
        raise ValueError(f"{count} of {of} is no share")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}")
    low = 0.0 if count == 0 else _root(lambda share: 1.0 - _probability(range(count), of, share) < alpha / 2)
    high = 1.0 if count == of else _root(lambda share: _probability(range(count + 1), of, share) > alpha / 2)
    return low, high


def at_least(count: int, of: int, share: float) -> float:
    """Probability of `count` or more of `of` independent trials, each with probability `share`."""
    if count <= 0 or share >= 1.0:
        return 1.0
    if share <= 0.0:
        return 0.0
    return min(1.0, _probability(range(count, of + 1), of, share))


def median_interval(values: Sequence[float], alpha: float = ALPHA) -> tuple[float, float] | tuple[None, None]:
    """The narrowest pair of order statistics that holds the median with 1 - alpha probability or
    more; nones below six values at 5 %.

    The number of values below the median is binomial(n, 1/2) (Conover, Practical Nonparametric
    Statistics, 3.2).
    """
    ordered, n = sorted(values), len(values)
    outside, rank = 0.0, 0
    while 2 * rank < n and outside + 2 * math.comb(n, rank) / 2**n <= alpha:
        outside += 2 * math.comb(n, rank) / 2**n
        rank += 1
    return (ordered[rank - 1], ordered[n - rank]) if rank else (None, None)


def _root(below: Callable[[float], bool]) -> float:
    """Where `below` turns from true to false between 0 and 1."""
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2


def _probability(counts: Iterable[int], of: int, share: float) -> float:
    """Probability of one of these numbers of successes in `of` trials, 0 < share < 1."""
    inside, outside = math.log(share), math.log1p(-share)
    whole = math.lgamma(of + 1)
    return math.fsum(
        math.exp(whole - math.lgamma(hits + 1) - math.lgamma(of - hits + 1) + hits * inside + (of - hits) * outside) for hits in counts
    )
