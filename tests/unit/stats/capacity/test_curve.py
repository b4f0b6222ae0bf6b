import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.stats.capacity.curve import Curve, CurvePoint, curve_of
from phpdyno.stats.capacity.idle import IdleCost

CURVE = curve_of([2, 4, 8], [100.0, 180.0, 200.0])


def test_a_rate_is_measured_or_says_that_it_is_not() -> None:
    assert CURVE.rate_per_s(4) == 180.0
    assert CURVE.rate_per_s(3) == pytest.approx(140.0)
    assert CURVE.rate_per_s(6) == pytest.approx(190.0)
    assert CURVE.rate_per_s(1) == pytest.approx(50.0)
    assert CURVE.rate_per_s(50) == 200.0
    assert [CURVE.known(busy) for busy in (1, 2, 3, 8, 9)] == ["below", "measured", "interpolated", "measured", "beyond"]


def test_rates_of_a_pool_are_the_single_ones() -> None:
    assert CURVE.rates_per_s(10).tolist() == pytest.approx([CURVE.rate_per_s(busy) for busy in range(1, 11)])


def test_idle_workers_slow_a_pool_down_except_where_all_are_busy() -> None:
    idle = IdleCost(0.09, 0.598, 0.005, 0.08, 0.1, 4)
    assert CURVE.rate_per_s(4, workers=16, idle=idle) == pytest.approx(180.0 / (1 + 0.09 * math.log(4)))
    assert CURVE.rates_per_s(8, idle)[-1] == 200.0
    assert CURVE.rates_per_s(16, idle)[3] == pytest.approx(CURVE.rate_per_s(4, workers=16, idle=idle))


def test_what_was_measured_in_a_large_pool_comes_out_again_for_that_pool() -> None:
    idle = IdleCost(0.09, 1.0, 0.005, 0.08, 0.1, 4)
    curve = Curve((CurvePoint(4, 180.0, workers=16), CurvePoint(16, 300.0, workers=16)))
    assert curve.rate_per_s(4, workers=16, idle=idle) == pytest.approx(180.0)
    assert curve.rate_per_s(4, idle=idle) == pytest.approx(180.0 * (1 + 0.09 * math.log(4)))


def test_a_draw_moves_a_rate_by_its_own_interval() -> None:
    curve = Curve((CurvePoint(1, 100.0, 90.0, 110.0), CurvePoint(2, 150.0)))
    moved = curve.shifted([1.959963984540054, 3.0])
    assert moved.points[0].rate_per_s == pytest.approx(100.0 * math.sqrt(110 / 90))
    assert moved.points[1].rate_per_s == 150.0
    with pytest.raises(ValueError, match="2 points"):
        curve.shifted([1.0])


@given(st.lists(st.floats(1.0, 1e5), min_size=1, max_size=8), st.integers(1, 60), st.lists(st.integers(1, 6), min_size=8, max_size=8))
def test_what_is_read_lies_within_what_was_measured(rates: list[float], busy: int, steps: list[int]) -> None:
    numbers = np.cumsum(steps[: len(rates)])
    curve = curve_of(numbers, rates)
    found = curve.rate_per_s(busy)
    assert found <= max(rates) * (1 + 1e-12)
    if busy >= numbers[0]:
        assert found >= min(rates) * (1 - 1e-12)
    assert curve.rates_per_s(busy)[-1] == pytest.approx(found)


@pytest.mark.parametrize(
    ("busy", "rates", "what"),
    [
        ([], [], "at least one point"),
        ([1, 1], [1.0, 2.0], "must increase"),
        ([2, 1], [1.0, 2.0], "must increase"),
        ([0, 1], [1.0, 2.0], "at least one request"),
        ([1, 2], [1.0], "needs its rate"),
        ([1.5], [1.0], "whole"),
        ([math.nan], [1.0], "whole"),
        ([1], [0.0], "positive"),
        ([1], [math.inf], "positive"),
        ([1], [math.nan], "positive"),
    ],
)
def test_refuses(busy: list[float], rates: list[float], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        curve_of(busy, rates)


def test_refuses_points_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="two ends"):
        CurvePoint(1, 1.0, 0.5)
    with pytest.raises(ValueError, match="no interval"):
        CurvePoint(1, 1.0, 1.5, 2.0)
    with pytest.raises(ValueError, match="3 workers"):
        CurvePoint(4, 1.0, workers=3)
    with pytest.raises(ValueError, match="cannot have"):
        CURVE.rate_per_s(4, workers=3)
    with pytest.raises(ValueError, match="at least one"):
        CURVE.rate_per_s(0)
    with pytest.raises(ValueError, match="at least one"):
        CURVE.rates_per_s(0)
