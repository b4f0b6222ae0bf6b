import math

import numpy as np
import pytest

from phpdyno.stats.capacity.queueing.offered import Offered, offered_by
from phpdyno.stats.capacity.queueing.work import work_of

TWO = work_of([1_000_000, 9_000_000], [3, 1])


def test_moments_of_a_histogram() -> None:
    assert TWO.mean_s == pytest.approx(0.003)
    assert TWO.cv2 == pytest.approx((0.75 * 0.002**2 + 0.25 * 0.006**2) / 0.003**2)
    assert [TWO.quantile_s(percent) for percent in (0, 75, 76, 100)] == [0.001, 0.001, 0.009, 0.009]


def test_equal_times_are_taken_together_and_empty_ones_left_out() -> None:
    assert work_of([5, 3, 5, 7], [1, 1, 1, 0]) == work_of([3, 5], [1, 2])
    assert work_of([5, 3, 5]) == work_of([3, 5], [1, 2])


def test_the_part_that_others_slow_down() -> None:
    assert TWO.mean_slowed_s == TWO.mean_s
    assert work_of([1_000_000, 9_000_000], [3, 1], slowed_s=0.002).mean_slowed_s == pytest.approx(0.75 * 0.001 + 0.25 * 0.002)
    with pytest.raises(ValueError, match="slow down"):
        work_of([1.0], slowed_s=0.0)


def test_draws_have_the_shares() -> None:
    drawn = TWO.draw(np.random.default_rng(5), 40_000)
    assert set(drawn.tolist()) == {0.001, 0.009}
    assert (drawn == 0.001).mean() == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize(
    ("times", "counts", "what"),
    [
        ([], None, "one request"),
        ([1.0], [0], "one request"),
        ([1.0], [-1], "negative"),
        ([1.0, 2.0], [1], "its count"),
        ([0.0], None, "positive"),
        ([math.inf], None, "positive"),
        ([1.0], [math.nan], "counts"),
    ],
)
def test_refuses(times: list[float], counts: list[float] | None, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        work_of(times, counts)
    with pytest.raises(ValueError, match="percentile"):
        TWO.quantile_s(101)


def test_poisson_arrivals_come_at_their_rate_and_scatter_like_an_exponential() -> None:
    gaps = np.diff(Offered(50.0).draw(np.random.default_rng(1), 100_000))
    assert gaps.mean() == pytest.approx(0.02, rel=0.02)
    assert gaps.std() == pytest.approx(0.02, rel=0.02)


def test_given_gaps_keep_their_order_and_go_round() -> None:
    offered = offered_by([1.0, 2.0, 3.0])
    assert offered.rate_per_s == pytest.approx(0.5)
    gaps = np.diff(offered.draw(np.random.default_rng(1), 7))
    assert sorted(gaps[:3].tolist()) == pytest.approx([1.0, 2.0, 3.0])
    assert gaps[3:].tolist() == pytest.approx(gaps[:3].tolist())
    twice = offered_by([1.0, 2.0, 3.0], 1.0)
    assert np.diff(twice.draw(np.random.default_rng(1), 7)).tolist() == pytest.approx((gaps / 2).tolist())


@pytest.mark.parametrize("gaps", [[], [-1.0, 2.0], [0.0, 0.0], [math.nan]])
def test_gaps_that_are_none(gaps: list[float]) -> None:
    with pytest.raises(ValueError, match="gaps"):
        offered_by(gaps)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
def test_no_rate(rate: float) -> None:
    with pytest.raises(ValueError, match="rate"):
        Offered(rate)
