"""The promises of the confidence sequence, simulated: looking after every block costs no false alarms, and effects are found in time.

Everything is seeded. The simulated looks use the product's own factors; a few series are compared with `confidence_sequence` itself.
"""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t as student

from phpdyno.stats.sequence import confidence_sequence, half_width_factor

ALPHA = 0.05
LOOKS = 200
SERIES = 10_000


def running(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and sample standard deviation after each observation; shape of the values, whose first deviation is 0."""
    n = np.arange(1, values.shape[1] + 1)
    mean = values.cumsum(axis=1) / n
    squares = (values**2).cumsum(axis=1) - n * mean**2
    return mean, np.sqrt(np.maximum(squares, 0.0) / np.maximum(n - 1, 1))


def factors(looks: int) -> NDArray[np.float64]:
    found = (half_width_factor(n, ALPHA) for n in range(1, looks + 1))
    return np.array([math.inf if each is None else each for each in found])


def claims(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether the interval lies outside 0 after each observation."""
    mean, sd = running(values)
    with np.errstate(invalid="ignore"):
        half = np.where(np.isinf(factors(values.shape[1])), np.inf, sd * factors(values.shape[1]))
    return np.abs(mean) > half


def test_the_simulation_is_the_product() -> None:
    values = np.random.default_rng(5).normal(0.01, 0.02, (40, 60))
    simulated = claims(values)
    for row, series in enumerate(values):
        for n in (1, 6, 7, 20, 60):
            interval = confidence_sequence(series[:n], ALPHA)
            outside = interval.low is not None and interval.high is not None and (interval.low > 0 or interval.high < 0)
            assert outside == simulated[row, n - 1]


def test_looking_after_every_block_keeps_the_error_rate() -> None:
    rate = claims(np.random.default_rng(6).normal(0.0, 1.0, (SERIES, LOOKS))).any(axis=1).mean()
    # Three standard errors above what was seen, still within the promise; and not so far below it that power is given away.
    assert rate + 3 * math.sqrt(rate * (1 - rate) / SERIES) <= ALPHA
    assert rate > 0.015


def test_a_repeated_plain_t_test_would_not() -> None:
    values = np.random.default_rng(7).normal(0.0, 1.0, (SERIES // 4, LOOKS))
    mean, sd = running(values)
    n = np.arange(2, LOOKS + 1)
    half = student.ppf(1 - ALPHA / 2, n - 1) * sd[:, 1:] / np.sqrt(n)
    assert (np.abs(mean[:, 1:]) > half).any(axis=1).mean() > 0.2


@pytest.mark.parametrize(("sigma", "median"), [(0.01, 14), (0.02, 34), (0.04, 124)])
def test_blocks_needed_to_decide_one_percent(sigma: float, median: int) -> None:
    found = claims(np.random.default_rng(8).normal(0.01, sigma, (3000, 4 * median)))
    first = np.where(found.any(axis=1), found.argmax(axis=1) + 1, 10**6)
    assert float(np.median(first)) == pytest.approx(median, rel=0.1)
