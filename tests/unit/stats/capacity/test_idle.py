import math

import numpy as np
import pytest
from scipy.optimize import curve_fit

from phpdyno.stats.capacity.idle import NO_IDLE, IdleCost, fit_idle

SIZES = [5, 10, 16, 32]


def test_a_planted_cost_is_found() -> None:
    costs = [0.598 * (1 + 0.09 * math.log(size / 5)) for size in SIZES]
    found = fit_idle(SIZES, 5, costs)
    assert found.slope == pytest.approx(0.09)
    assert found.base == pytest.approx(0.598)
    assert found.seen
    assert found.factor(32, 5) == pytest.approx(1 + 0.09 * math.log(6.4))
    assert "6.2 %" in found.words


def test_the_error_is_that_of_scipy() -> None:
    random = np.random.default_rng(3)
    sizes = np.array(SIZES * 4)
    costs = 0.6 * (1 + 0.09 * np.log(sizes / 5)) * np.exp(random.normal(0, 0.02, sizes.size))
    found = fit_idle(sizes, 5, costs)
    best, covariance = curve_fit(lambda m, a, b: a * (1 + b * np.log(m / 5)), sizes, costs, p0=(1.0, 0.0))
    assert [found.base, found.slope] == pytest.approx(best, rel=1e-5)
    assert found.error == pytest.approx(math.sqrt(covariance[1, 1]), rel=1e-4)


def test_four_figures_alone_leave_it_open() -> None:
    """Requests per second at c = 5 with 5, 10, 16, 32 workers, one look each: the slope is there,
    but its interval holds 0."""
    costs = [1 / rate for rate in (1525, 1513, 1407, 1355)]
    once = fit_idle(SIZES, 5, costs)
    assert once.slope == pytest.approx(0.0743, abs=1e-3)
    assert not once.seen
    assert fit_idle(SIZES * 3, 5, costs * 3).seen


def test_where_nothing_is_seen_nothing_is_slowed_down() -> None:
    found = fit_idle(SIZES, 5, [0.60, 0.59, 0.61, 0.60])
    assert not found.seen
    assert found.low is not None
    assert found.low < 0 < (found.high or 0)
    assert found.factor(32, 5) == 1.0
    assert found.factors(3).tolist() == [1.0, 1.0, 1.0]
    assert found.words == "no effect of idle workers seen"


def test_two_measurements_show_no_more_than_a_slope() -> None:
    found = fit_idle([5, 10], 5, [0.6, 0.7])
    assert found.slope > 0.0
    assert found.error is None
    assert not found.seen


def test_a_pool_that_is_cheaper_for_its_idle_workers_is_not_believed() -> None:
    found = fit_idle(SIZES, 5, [0.6 * (1 - 0.1 * math.log(size / 5)) for size in SIZES])
    assert found.slope == pytest.approx(-0.1)
    assert not found.seen


def test_factors_are_the_single_ones() -> None:
    cost = IdleCost(0.1, 1.0, 0.01, 0.05, 0.15, 4)
    assert cost.factors(6).tolist() == pytest.approx([cost.factor(6, busy) for busy in range(1, 7)])
    assert cost.factor(6, 6) == 1.0
    assert NO_IDLE.factor(10, 1) == 1.0


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    random = np.random.default_rng(11)
    sizes = np.array(SIZES * 3)
    held = 0
    for _ in range(400):
        found = fit_idle(sizes, 5, 0.6 * (1 + 0.09 * np.log(sizes / 5)) + random.normal(0, 0.01, sizes.size))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.09 <= found.high
    assert 0.92 <= held / 400 <= 0.98


@pytest.mark.parametrize(
    ("sizes", "costs", "what"),
    [
        ([5], [1.0], "two sizes"),
        ([5, 5], [1.0, 1.1], "two sizes"),
        ([5, 10], [1.0], "two sizes"),
        ([4, 10], [1.0, 1.0], "smaller than the 5"),
        ([5, 10], [1.0, 0.0], "positive"),
        ([5, 10], [1.0, math.nan], "positive"),
        ([1000, 2000], [100.0, 200.0], "steeply"),
    ],
)
def test_refuses(sizes: list[int], costs: list[float], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        fit_idle(sizes, 5, costs)
