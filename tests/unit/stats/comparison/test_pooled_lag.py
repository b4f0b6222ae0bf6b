"""Pooled lag-1 autocorrelation of short series, on series whose correlation is known."""

import random

import pytest
from scipy import stats

from phpdyno.stats.comparison.pooled_lag import _student, lag_about, pooled_lag


def series(count: int, rho: float, draw: random.Random) -> list[float]:
    """A stationary first-order series about 0."""
    values = [draw.gauss(0.0, 1.0)]
    while len(values) < count:
        values.append(rho * values[-1] + draw.gauss(0.0, (1.0 - rho**2) ** 0.5))
    return values


def pooled(of: int, rho: float, seed: int) -> tuple[float, float | None, float | None]:
    draw = random.Random(seed)
    made = [[scale * value for value in series(12, rho, draw)] for scale in (draw.uniform(0.5, 3.0) for _ in range(of))]
    lags = [lag for values in made if (lag := lag_about(values, 0.0)) is not None]
    return pooled_lag(lags, [len(values) - 1 for values in made])


@pytest.mark.parametrize("rho", [0.0, 0.3])
def test_what_is_there_is_found(rho: float) -> None:
    r, low, high = pooled(400, rho, 1)
    assert low is not None
    assert high is not None
    assert low < r < high
    # Of short series a correlation comes out somewhat too small; one of 0 does not.
    assert r == pytest.approx(rho, abs=0.06)
    assert (low > 0.1) == (rho > 0.0)


def test_the_interval_holds_zero_as_often_as_it_says() -> None:
    held = sum(
        1
        for seed in range(300)
        if (low := pooled(20, 0.0, seed)[1:]) and low[0] is not None and low[1] is not None and low[0] <= 0.0 <= low[1]
    )
    assert held >= 0.92 * 300


def test_an_offset_that_all_blocks_share_shows() -> None:
    assert (lag_about([1.0, 1.1, 0.9, 1.0], 0.0) or 0.0) > 0.9


def test_nothing_is_said_of_nothing() -> None:
    assert lag_about([], 0.0) is None
    assert lag_about([1.0], 0.0) is None
    assert lag_about([0.0, 0.0], 0.0) is None
    assert pooled_lag([0.1] * 5, [9] * 5)[1:] == (None, None)
    for lags, pairs in (([], []), ([0.1], [1, 2]), ([0.1], [0])):
        with pytest.raises(ValueError, match="pooling needs series"):
            pooled_lag(lags, pairs)


@pytest.mark.parametrize("freedom", [5, 9, 30, 200])
def test_the_quantile_of_student(freedom: int) -> None:
    assert _student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=2e-3)
