import math

import numpy as np
import pytest
from scipy.optimize import least_squares

from phpdyno.stats.capacity.usl import Usl, fit_usl

STATIC_32 = ([10, 20, 30, 40, 50], [10123.11, 12894.17, 14858.04, 16056.80, 16279.67])
"""Published: c4.4xlarge, static 32."""
STATIC_10 = ([1, 3, 5, 10, 20, 30, 50], [1918.79, 4845.39, 7109.63, 7400.49, 7771.68, 8418.15, 7250.75])


def relative(parameters: np.ndarray, n: np.ndarray, x: np.ndarray) -> np.ndarray:
    rate, sigma, kappa = parameters
    return np.asarray(rate * n / (1 + sigma * (n - 1) + kappa * n * (n - 1)) / x - 1)


@pytest.mark.parametrize(("sigma", "kappa"), [(0.05, 0.001), (0.2, 0.0), (0.0, 0.0005), (0.0, 0.0)])
def test_a_planted_law_is_found(sigma: float, kappa: float) -> None:
    n = np.array([1, 2, 4, 8, 16, 32])
    found = fit_usl(n, [Usl(120.0, sigma, kappa, (), ()).at(each) for each in n])
    assert found.rate_per_s == pytest.approx(120.0, rel=1e-6)
    assert found.sigma == pytest.approx(sigma, abs=1e-6)
    assert found.kappa == pytest.approx(kappa, abs=1e-8)
    assert found.worst == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("table", [STATIC_32, STATIC_10])
def test_it_is_the_best_fit_that_scipy_finds(table: tuple[list[int], list[float]]) -> None:
    n, x = (np.array(each, dtype=float) for each in table)
    found = fit_usl(n, x)
    best = min(
        (
            least_squares(relative, start, bounds=([1e-9, 0, 0], np.inf), args=(n, x), x_scale=[1000, 0.1, 0.001])
            for start in ([2000, 0.1, 0.001], [1000, 0.01, 0.0], [5000, 0.5, 0.01])
        ),
        key=lambda fitted: fitted.cost,
    )
    ours = float((relative(np.array([found.rate_per_s, found.sigma, found.kappa]), n, x) ** 2).sum())
    assert ours <= 2 * best.cost * (1 + 1e-6)
    assert [found.at(each) for each in n] == pytest.approx((relative(best.x, n, x) + 1) * x, rel=1e-3)


def test_noise_does_not_make_a_parameter_negative() -> None:
    random = np.random.default_rng(4)
    n = np.array([1, 2, 4, 8, 16])
    for _ in range(50):
        found = fit_usl(n, 100.0 * n * np.exp(random.normal(0, 0.05, n.size)))
        assert found.sigma >= 0.0
        assert found.kappa >= 0.0


def test_the_published_table_is_missed_by_much_more_than_5_percent() -> None:
    """Of a pool of 10 on 16 cores, with its kink at 10: why it is a summary only."""
    found = fit_usl(*STATIC_10)
    assert found.worst is not None
    assert found.worst > 0.15
    assert "summary only" in found.words
    assert "%" in found.words
    assert found.left_out == pytest.approx((0.302, -0.061, -0.175, 0.096, 0.124, -0.050, -0.090), abs=1e-3)


def test_the_published_pool_of_32() -> None:
    found = fit_usl(*STATIC_32)
    assert found.rate_per_s == pytest.approx(1865, abs=1)
    assert found.sigma == pytest.approx(0.0958, abs=1e-4)
    assert found.kappa == 0.0
    assert found.peak is None
    assert found.left_out == pytest.approx((-0.140, 0.040, -0.004, -0.027, 0.010), abs=1e-3)
    assert found.worst == pytest.approx(0.140, abs=1e-3)


def test_left_out_means_left_out() -> None:
    n, x = STATIC_32
    alone = fit_usl(n[1:], x[1:])
    assert fit_usl(n, x).left_out[0] == pytest.approx(alone.at(10) / x[0] - 1, rel=1e-9)


def test_the_peak() -> None:
    assert Usl(1.0, 0.1, 0.001, (), ()).peak == pytest.approx(30.0)
    assert Usl(1.0, 0.1, 0.0, (), ()).peak is None
    assert Usl(1.0, 2.0, 0.001, (), ()).peak == 1.0
    assert Usl(1.0, 1.0, 0.0, (), ()).peak == 1.0
    law = Usl(100.0, 0.05, 0.002, (), ())
    peak = law.peak
    assert peak is not None
    assert law.at(peak) > max(law.at(peak - 0.5), law.at(peak + 0.5))


def test_three_points_leave_none_out() -> None:
    found = fit_usl([1, 2, 4], [100.0, 190.0, 340.0])
    assert found.left_out == ()
    assert found.worst is None
    assert "nothing of its error" in found.words


@pytest.mark.parametrize(
    ("numbers", "rates", "what"),
    [
        ([1, 2], [1.0, 2.0], "three"),
        ([1, 2, 2], [1.0, 2.0, 2.0], "three"),
        ([1, 2, 3], [1.0, 2.0], "three"),
        ([0, 1, 2], [1.0, 2.0, 3.0], "1 at least"),
        ([1, 2, 3], [1.0, 0.0, 3.0], "positive"),
        ([1, 2, 3], [1.0, math.nan, 3.0], "positive"),
    ],
)
def test_refuses(numbers: list[int], rates: list[float], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        fit_usl(numbers, rates)
