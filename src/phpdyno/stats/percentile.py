"""Quantiles of measured times, by nearest rank: always a value that was really measured."""

import numpy as np
from numpy.typing import ArrayLike


def percentile(values_ns: ArrayLike, percent: float) -> int:
    """The smallest value such that at least `percent` % of `values_ns` (nanoseconds, any shape) are not above it.

    Nearest rank (Hyndman & Fan, type 1). Raises ValueError: no values, a value that is not finite, percent outside 0..100.
    """
    values = np.asarray(values_ns).ravel()
    if values.size == 0:
        raise ValueError("a percentile needs at least one value")
    if not 0.0 <= percent <= 100.0:
        raise ValueError(f"a percentile lies between 0 and 100, not {percent}")
    if not np.isfinite(values).all():
        raise ValueError("a percentile needs finite values")
    return int(np.percentile(values, percent, method="inverted_cdf"))
