import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.stats.capacity.curve import Curve, CurvePoint, curve_of
from phpdyno.stats.capacity.knee import best_point, knee, knee_within_intervals


def test_fields_full_cores_have_their_knee_at_two() -> None:
    """Two cores, CPU-bound: 403, 394, 383, 370, 311 per second at 2, 4, 6, 8, 12 workers."""
    found = knee(curve_of([1, 2, 4, 6, 8, 12], [210, 403, 394, 383, 370, 311]))
    assert (found.busy, found.known, found.rising) == (2, "measured", False)
    assert found.share == 1.0


def test_the_knee_may_lie_between_two_that_were_measured() -> None:
    found = knee(curve_of([1, 8, 16], [100, 800, 1000]), 0.9)
    assert (found.busy, found.known) == (12, "interpolated")
    assert found.share == pytest.approx(0.9)


def test_a_curve_that_still_rises_says_so() -> None:
    assert knee(curve_of([1, 2, 4], [10, 20, 40])).rising
    assert not knee(curve_of([1, 2, 4], [10, 20, 20])).rising


def test_of_equal_rates_the_fewest_workers_are_best() -> None:
    assert best_point(curve_of([2, 4, 8], [5, 7, 7])).busy == 4


def test_what_cannot_be_told_from_the_best_is_as_good() -> None:
    points = (CurvePoint(1, 100, 95, 105), CurvePoint(2, 192, 185, 199), CurvePoint(4, 198, 191, 206), CurvePoint(8, 200, 193, 207))
    found = knee_within_intervals(Curve(points))
    assert found is not None
    assert (found.busy, found.rate_per_s) == (2, 192)


def test_intervals_that_touch_may_still_tell_rates_apart() -> None:
    """Half-widths add like standard errors: 10 % apart with 6 % each is told apart though the
    intervals overlap."""
    found = knee_within_intervals(Curve((CurvePoint(1, 100, 94, 106), CurvePoint(2, 110.6, 104, 117.6))))
    assert found is not None
    assert found.busy == 2


def test_without_intervals_nothing_can_be_said_of_them() -> None:
    assert knee_within_intervals(curve_of([1, 2], [1, 2])) is None
    mixed = Curve((CurvePoint(1, 199.0), CurvePoint(2, 200.0, 150.0, 250.0)))
    found = knee_within_intervals(mixed)
    assert found is not None
    assert found.busy == 2


@given(st.lists(st.floats(1.0, 1e4), min_size=1, max_size=10), st.floats(0.05, 1.0))
def test_the_knee_holds_its_share_and_nothing_smaller_does(rates: list[float], share: float) -> None:
    curve = curve_of(list(range(1, len(rates) + 1)), rates)
    found = knee(curve, share)
    assert found.rate_per_s >= share * max(rates) * (1 - 1e-12)
    assert all(rate < share * max(rates) for rate in rates[: found.busy - 1])


@pytest.mark.parametrize("share", [0.0, -1.0, 1.01, float("nan")])
def test_refuses(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        knee(curve_of([1], [1]), share)
