"""Student's t: its distribution function for whole degrees of freedom, exactly, the quantile by
halving, and the power of a test by it."""

import math

STEPS = 100
"""Each halves an angle below pi / 2: far below the last digit of a float."""

POWER_Z = 1.2816
"""Normal quantile of 90 %: an effect is planned to be found in nine runs of ten."""


def quantile(probability: float, freedom: int) -> float:
    """The value that t with `freedom` degrees of freedom is below with this probability. Raises
    ValueError: outside (0, 1), no freedom."""
    if not 0.0 < probability < 1.0 or freedom < 1:
        raise ValueError(f"a quantile needs a probability between 0 and 1 and a degree of freedom, not {probability} and {freedom}")
    if probability < 0.5:
        return -quantile(1.0 - probability, freedom)
    within = 2.0 * probability - 1.0
    low, high = 0.0, math.pi / 2.0
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        if between(middle, freedom) < within:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan((low + high) / 2.0)


def simultaneous(alpha: float, number: int, freedom: int) -> float:
    """Half-width, in standard errors, of each of `number` intervals that hold together with
    probability 1 - alpha or more.

    Sidak (1967): for correlated t with one common standard deviation, too. Raises ValueError as
    `quantile`, or without an interval.
    """
    if number < 1:
        raise ValueError("there is no interval to be held")
    each = -math.expm1(math.log1p(-alpha) / number)
    return quantile(1.0 - each / 2.0, freedom)


def found_from(reach: float, freedom: int) -> float:
    """The least effect, in true standard errors, that an interval of half-width `reach` estimated
    ones shows in nine runs of ten.

    The standard error is estimated with `freedom` degrees of freedom, so the interval is now
    shorter, now longer: with few of them more is needed than `reach` and a normal quantile. This is
    the noncentrality at which noncentral t exceeds `reach` with 90 % probability, by the normal
    approximation (Abramowitz and Stegun, 26.7.10). Raises ValueError: no freedom.
    """
    if freedom < 1:
        raise ValueError(f"a standard error needs a degree of freedom, not {freedom}")
    return reach * (1.0 - 0.25 / freedom) + POWER_Z * math.sqrt(1.0 + reach * reach / (2.0 * freedom))


def between(angle: float, freedom: int) -> float:
    """The probability of |t| < sqrt(freedom) x tan(angle), 0 <= angle <= pi / 2 (Abramowitz and
    Stegun, 26.7.3 and 26.7.4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    if freedom % 2:
        term, total = cosine, 0.0
        for k in range(1, (freedom - 1) // 2 + 1):
            total += term
            term *= cosine * cosine * (2 * k) / (2 * k + 1)
        return 2.0 / math.pi * (angle + sine * total)
    term, total = 1.0, 0.0
    for k in range(1, freedom // 2 + 1):
        total += term
        term *= cosine * cosine * (2 * k - 1) / (2 * k)
    return sine * total
