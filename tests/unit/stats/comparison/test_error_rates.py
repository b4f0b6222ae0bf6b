"""The promises of the confidence sequence, simulated: looking after every block costs no false
alarms, and effects are found in time.

Everything is seeded. The simulated looks use the product's own factors; a few series are compared
with `confidence_sequence` itself.
"""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t as student

from phpdyno.stats.comparison.allocation import MIXTURES
from phpdyno.stats.comparison.sequence import MIXTURE, confidence_sequence, half_width_factor

ALPHA = 0.05
LOOKS = 200
SERIES = 20_000

Values = NDArray[np.float64]


def running(values: Values) -> tuple[Values, Values]:
    """Mean and sample standard deviation after each observation; shape of the values, whose first
    deviation is 0."""
    n = np.arange(1, values.shape[1] + 1)
    mean = values.cumsum(axis=1) / n
    squares = (values**2).cumsum(axis=1) - n * mean**2
    return mean, np.sqrt(np.maximum(squares, 0.0) / np.maximum(n - 1, 1))


def outside(mean: Values, sd: Values, alpha: float, g: float) -> NDArray[np.bool_]:
    """Whether the interval lies outside 0 after each observation; it does not while it is infinite,
    which the first ones are."""
    finite = [each for n in range(1, mean.shape[1] + 1) if (each := half_width_factor(n, alpha, g)) is not None]
    from_here = mean.shape[1] - len(finite)
    found = np.zeros(mean.shape, dtype=np.bool_)
    found[:, from_here:] = np.abs(mean[:, from_here:]) > np.array(finite) * sd[:, from_here:]
    return found


def claims(values: Values, alpha: float = ALPHA, g: float = MIXTURE) -> NDArray[np.bool_]:
    """The same from the observations."""
    return outside(*running(values), alpha, g)


@pytest.mark.parametrize(("alpha", "g"), [(ALPHA, MIXTURE), (ALPHA / 4, MIXTURES[0]), (ALPHA / 10, MIXTURES[-1])])
def test_the_simulation_is_the_product(alpha: float, g: float) -> None:
    values = np.random.default_rng(5).normal(0.01, 0.02, (40, 60))
    simulated = claims(values, alpha, g)
    for row, series in enumerate(values):
        for n in (1, 6, 7, 20, 60):
            interval = confidence_sequence(series[:n], alpha, g)
            decided = interval.low is not None and interval.high is not None and (interval.low > 0 or interval.high < 0)
            assert decided == simulated[row, n - 1]


@pytest.fixture(scope="module")
def no_effect() -> tuple[Values, Values]:
    """Series in which nothing differs."""
    return running(np.random.default_rng(6).normal(0.0, 1.0, (SERIES, LOOKS)))


@pytest.mark.parametrize("treatments", [1, 3, 6])
@pytest.mark.parametrize("g", MIXTURES)
def test_looking_after_every_block_keeps_the_error_rate(no_effect: tuple[Values, Values], g: float, treatments: int) -> None:
    """With every mixture that a calibration may choose, and with the part of the error that each of
    several treatments gets."""
    alpha = ALPHA / treatments
    rate = outside(*no_effect, alpha, g).any(axis=1).mean()
    # Three standard errors above what was seen, still within the promise; and not so far below it
    # that power is given away (a small g spends its part of the error after more blocks than
    # these).
    assert rate + 3 * math.sqrt(rate * (1 - rate) / SERIES) <= alpha
    assert rate > 0.2 * alpha


def test_a_repeated_plain_t_test_would_not() -> None:
    values = np.random.default_rng(7).normal(0.0, 1.0, (SERIES // 8, LOOKS))
    mean, sd = running(values)
    n = np.arange(2, LOOKS + 1)
    half = student.ppf(1 - ALPHA / 2, n - 1) * sd[:, 1:] / np.sqrt(n)
    assert (np.abs(mean[:, 1:]) > half).any(axis=1).mean() > 0.2


@pytest.mark.parametrize(("sigma", "median"), [(0.01, 14), (0.02, 34), (0.04, 124)])
def test_blocks_needed_to_decide_one_percent(sigma: float, median: int) -> None:
    found = claims(np.random.default_rng(8).normal(0.01, sigma, (3000, 4 * median)))
    first = np.where(found.any(axis=1), found.argmax(axis=1) + 1, 10**6)
    assert float(np.median(first)) == pytest.approx(median, rel=0.1)
