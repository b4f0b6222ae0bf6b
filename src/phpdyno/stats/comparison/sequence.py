"""The anytime-valid t confidence sequence: an interval for a mean that stays valid however often it
is looked at."""

import math
from collections.abc import Iterable, Mapping

from msgspec import Struct

MIXTURE = 0.25
"""Prior variance of the standardised effect (g). At 0.25 about 34 blocks decide an effect of half a
standard deviation."""


class Interval(Struct, frozen=True):
    """A mean with its interval, in the unit of the values; `low` and `high` are None while the
    interval is infinite.

    `sd` is the sample standard deviation (n - 1), 0.0 for a single value.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    sd: float


def confidence_sequence(values: Iterable[float], alpha: float, g: float = MIXTURE) -> Interval:
    """Interval for the mean of `values` that holds at every n at once with probability >= 1 -
    alpha.

    Scale-invariant Gaussian mixture for normal observations of unknown variance (Wang & Ramdas,
    arXiv 2310.03722). Equal values give an interval of no width once n reaches `least_blocks`. The
    order of the values does not matter. Raises ValueError: no values, a value that is not finite,
    alpha outside (0, 1), g <= 0.
    """
    held = [float(value) for value in values]
    if not held:
        raise ValueError("a confidence sequence needs at least one value")
    if not all(math.isfinite(value) for value in held):
        raise ValueError("a confidence sequence needs finite values")

    n = len(held)
    mean = math.fsum(held) / n
    sd = math.sqrt(math.fsum((value - mean) * (value - mean) for value in held) / (n - 1)) if n > 1 else 0.0
    factor = half_width_factor(n, alpha, g)
    if factor is None:
        return Interval(mean, None, None, n, sd)
    return Interval(mean, mean - factor * sd, mean + factor * sd, n, sd)


def contrast(first: Mapping[int, float], second: Mapping[int, float], alpha: float, g: float = MIXTURE) -> Interval | None:
    """The interval of how far `first` is ahead of `second`, both log ratios by block, over the
    blocks that they share: what the control did in a block cancels out. None where they share none;
    raises ValueError as `confidence_sequence` does."""
    shared = sorted(first.keys() & second.keys())
    return confidence_sequence([first[block] - second[block] for block in shared], alpha, g) if shared else None


def half_width_factor(n: int, alpha: float, g: float = MIXTURE) -> float | None:
    """Half-width of the interval at n values, in sample standard deviations; None while it is
    infinite.

    With u = t^2 / (n - 1), the Bayes factor (1 + ng)^(-1/2) * [(1 + u) / (1 + u / (1 + ng))]^(n/2)
    set to 1 / alpha and solved for u.
    """
    _check(alpha, g)
    if n < 2 or not _is_finite(n, alpha, g):
        return None

    spread = 1.0 + n * g
    k = math.exp((math.log(spread) - 2.0 * math.log(alpha)) / n)
    shortfall = 1.0 - k / spread
    return math.sqrt((n - 1) / n * (k - 1.0) / shortfall) if shortfall > 0.0 else None


def least_blocks(alpha: float, g: float = MIXTURE) -> int:
    """The least n for which the interval is finite: 7 at alpha = 0.05, 9 at 0.0125 (g = 0.25)."""
    _check(alpha, g)
    n = 2
    while not _is_finite(n, alpha, g):
        n += 1
    return n


def _is_finite(n: int, alpha: float, g: float) -> bool:
    # k < 1 + ng, in logs; the left side grows with n, so once finite always finite.
    return (n - 1) * math.log1p(n * g) > -2.0 * math.log(alpha)


def _check(alpha: float, g: float) -> None:
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}")
    if not (g > 0.0 and math.isfinite(g)):
        raise ValueError(f"g must be positive and finite, not {g}")
