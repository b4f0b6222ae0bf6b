import math
import statistics

import pytest
from scipy.optimize import brentq

from phpdyno.stats.comparison.sequence import MIXTURE, confidence_sequence, half_width_factor, least_blocks


def log_bayes_factor(t: float, n: int, g: float) -> float:
    """Log of the Bayes factor of the Gaussian mixture, from its definition; the product's closed
    form is its root."""
    u = t * t / (n - 1)
    return -0.5 * math.log1p(n * g) + 0.5 * n * (math.log1p(u) - math.log1p(u / (1 + n * g)))


@pytest.mark.parametrize("g", [0.05, 0.25, 1.0])
@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.0125, 0.001])
@pytest.mark.parametrize("n", [2, 5, 7, 9, 20, 60, 400])
def test_factor_is_the_root_of_the_bayes_factor(n: int, alpha: float, g: float) -> None:
    target = -math.log(alpha)
    ceiling = log_bayes_factor(1e9, n, g)
    factor = half_width_factor(n, alpha, g)

    if ceiling <= target:
        assert factor is None
        return
    t = brentq(lambda at: log_bayes_factor(at, n, g) - target, 0.0, 1e9, xtol=1e-12, rtol=1e-13)
    assert factor == pytest.approx(t / math.sqrt(n), rel=1e-6)


@pytest.mark.parametrize(("alpha", "least"), [(0.05, 7), (0.0125, 9)])
def test_least_blocks_of_the_protocol(alpha: float, least: int) -> None:
    assert least_blocks(alpha) == least
    assert half_width_factor(least - 1, alpha) is None
    assert half_width_factor(least, alpha) is not None


def test_interval_of_known_values() -> None:
    values = [0.01, 0.03, 0.02, 0.05, -0.01, 0.02, 0.04, 0.00, 0.03, 0.02]
    interval = confidence_sequence(values, 0.05)
    factor = half_width_factor(10, 0.05)

    assert factor is not None
    assert interval.low is not None
    assert interval.high is not None
    assert interval.mean == pytest.approx(0.021)
    assert interval.sd == pytest.approx(statistics.stdev(values))
    assert interval.high - interval.mean == pytest.approx(factor * interval.sd)
    assert interval.mean - interval.low == pytest.approx(factor * interval.sd)


def test_a_single_value_has_no_interval() -> None:
    interval = confidence_sequence([0.5], 0.05)
    assert (interval.mean, interval.low, interval.high, interval.n, interval.sd) == (0.5, None, None, 1, 0.0)


def test_equal_values_collapse_only_once_there_are_enough() -> None:
    assert confidence_sequence([0.25] * 6, 0.05).low is None
    enough = confidence_sequence([0.25] * 7, 0.05)
    assert (enough.low, enough.high) == (0.25, 0.25)


@pytest.mark.parametrize("values", [[], [math.nan], [0.1, math.inf], [0.1, -math.inf, 0.2]])
def test_refuses_what_is_not_a_number(values: list[float]) -> None:
    with pytest.raises(ValueError, match="confidence sequence"):
        confidence_sequence(values, 0.05)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, math.nan])
def test_refuses_an_alpha_that_is_no_probability(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        confidence_sequence([0.1], alpha)


@pytest.mark.parametrize("g", [0.0, -1.0, math.inf, math.nan])
def test_refuses_a_g_that_is_no_variance(g: float) -> None:
    with pytest.raises(ValueError, match="g must"):
        least_blocks(0.05, g)


def test_the_mixture_is_the_one_of_the_protocol() -> None:
    assert MIXTURE == 0.25
