"""Exact intervals against a second opinion."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats

from phpdyno.stats.exact import median_interval, share_interval


@given(some.integers(1, 400).flatmap(lambda of: some.tuples(some.integers(0, of), some.just(of))))
def test_a_share_has_the_interval_of_clopper_and_pearson(case: tuple[int, int]) -> None:
    count, of = case
    wanted = stats.binomtest(count, of).proportion_ci(0.95, method="exact")
    assert share_interval(count, of) == pytest.approx((wanted.low, wanted.high), abs=1e-9)


def test_of_nothing_nothing_is_known() -> None:
    assert share_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("count", "of", "alpha"), [(-1, 5, 0.05), (6, 5, 0.05), (1, 5, 0.0), (1, 5, 1.0)])
def test_what_is_no_share_is_refused(count: int, of: int, alpha: float) -> None:
    with pytest.raises(ValueError, match=r"is no share|alpha must"):
        share_interval(count, of, alpha)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_median_of_few_values_has_no_interval(n: int) -> None:
    assert median_interval([1.0] * n) == (None, None)


@pytest.mark.parametrize("n", [6, 9, 20, 51])
def test_a_median_interval_holds_the_median_as_often_as_it_says(n: int) -> None:
    draw = random.Random(n)
    held = 0
    for _ in range(2000):
        low, high = median_interval([draw.expovariate(1.0) for _ in range(n)])
        assert low is not None
        assert high is not None
        held += low <= 0.6931471805599453 <= high
    assert held >= 0.94 * 2000
