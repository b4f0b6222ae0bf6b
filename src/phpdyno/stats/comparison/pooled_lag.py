"""Lag-1 autocorrelation over many short series whose mean is known, pooled with an interval."""

import math
from collections.abc import Sequence

LEAST_SERIES = 6
"""With fewer, what the series differ by says too little of the mean's error."""
_NORMAL = 1.959963984540054


def lag_about(values: Sequence[float], centre: float) -> float | None:
    """Sum of the products of neighbours over the sum of their squares, both about a known mean: -1
    to 1; None when nothing differs from it.

    Its expectation is 0 for independent values that lie about the mean symmetrically, however few:
    a sample mean would make it negative.
    """
    away = [value - centre for value in values]
    products = math.fsum(now * then for now, then in zip(away[1:], away[:-1], strict=True))
    squares = math.fsum((now * now + then * then) / 2 for now, then in zip(away[1:], away[:-1], strict=True))
    return products / squares if squares > 0.0 else None


def pooled_lag(lags: Sequence[float], pairs: Sequence[int]) -> tuple[float, float | None, float | None]:
    """Mean of the series' autocorrelations, each with the weight of its pairs of neighbours, and
    its 95 % interval (t, over series).

    Nones below six series. Raises ValueError: no series, different lengths, a series without pairs.
    """
    if not lags or len(lags) != len(pairs) or min(pairs) < 1:
        raise ValueError("pooling needs series, each with its pairs of neighbours")
    total, n = sum(pairs), len(lags)
    mean = math.fsum(lag * count for lag, count in zip(lags, pairs, strict=True)) / total
    if n < LEAST_SERIES:
        return mean, None, None
    error = math.sqrt(math.fsum((count * (lag - mean)) ** 2 for lag, count in zip(lags, pairs, strict=True)) * n / (n - 1)) / total
    half = _student(n - 1) * error
    return mean, mean - half, mean + half


def _student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t (Cornish and Fisher): within 0.2 % from five degrees of
    freedom on."""
    z = _NORMAL
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2) + third
