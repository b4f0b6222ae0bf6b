"""Whether consecutive blocks resemble each other, which would make the confidence sequence too
narrow."""

import math
from collections.abc import Sequence

LEAST_VALUES = 10
"""Below this the estimate is too rough to warn about."""


def lag_one(values: Sequence[float]) -> tuple[float, bool]:
    """Lag-1 autocorrelation of values in the order of time, and whether it warrants a warning: r >
    2 / sqrt(n) with n >= 10.

    2 / sqrt(n) bounds the usual 95 % band of an uncorrelated series (Bartlett). Below it nothing is
    to be warned of: where neighbours differ more than others their mean scatters less than the
    interval allows for, which errs on the safe side. Equal or fewer than two values give 0.0.
    Raises ValueError for a value that is not finite.
    """
    n = len(values)
    if not all(math.isfinite(value) for value in values):
        raise ValueError("an autocorrelation needs finite values")
    if n < 2:
        return 0.0, False

    mean = math.fsum(values) / n
    away = [value - mean for value in values]
    total = math.fsum(each * each for each in away)
    if total == 0.0:
        return 0.0, False
    r = math.fsum(now * then for now, then in zip(away[1:], away[:-1], strict=True)) / total
    return r, n >= LEAST_VALUES and r > 2.0 / math.sqrt(n)
