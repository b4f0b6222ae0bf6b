"""Quantiles of measured times, by nearest rank: always a value that was really measured."""

import math
import sys

import numpy as np
from numpy.typing import ArrayLike

_HAIR = 4.0 * sys.float_info.epsilon
"""Of a rank: 99.9 % of 1000 is a little over 999 in floating point, and would be the largest of
all."""


def percentile(values_ns: ArrayLike, percent: float) -> int:
    """The smallest value such that at least `percent` % of `values_ns` (nanoseconds, any shape) are
    not above it.

    Nearest rank (Hyndman & Fan, type 1). Raises ValueError: no values, a value that is not finite,
    percent outside 0..100.
    """
    values = np.asarray(values_ns).ravel()
    if values.size == 0:
        raise ValueError("a percentile needs at least one value")
    if not 0.0 <= percent <= 100.0:
        raise ValueError(f"a percentile lies between 0 and 100, not {percent}")
    if not np.isfinite(values).all():
        raise ValueError("a percentile needs finite values")
    rank = max(1, math.ceil(values.size * percent / 100.0 * (1.0 - _HAIR)))
    return int(np.partition(values, rank - 1)[rank - 1])
