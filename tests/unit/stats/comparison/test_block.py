import math

import numpy as np
import pytest

from phpdyno.stats.comparison.block import estimate_block


def test_the_ratio_is_that_of_totals_not_a_mean_of_ratios() -> None:
    estimate = estimate_block([100, 100, 1000], [50, 100, 1000])
    assert estimate.log_ratio == pytest.approx(math.log(1200 / 1150))
    assert estimate.pairs == 3


def test_pair_sigma_is_the_sample_deviation_of_the_log_ratios() -> None:
    estimate = estimate_block([110, 100, 120], [100, 100, 100])
    expected = np.std(np.log([1.1, 1.0, 1.2]), ddof=1)
    assert estimate.pair_sigma == pytest.approx(float(expected))


def test_a_single_pair_is_neither_clipped_nor_spread() -> None:
    estimate = estimate_block([200], [100])
    assert estimate.log_ratio == pytest.approx(math.log(2))
    assert estimate.clipped_log_ratio == estimate.log_ratio
    assert estimate.pair_sigma == 0.0


def test_clipping_moves_only_the_dearer_side_of_the_outlier() -> None:
    # Log ratios: median 0.05, MAD 0.03; the last control slot stalled.
    ratios = np.array([0.02, 0.04, 0.05, 0.08, 3.0])
    treated = np.full(5, 1000.0)
    estimate = estimate_block(treated * np.exp(ratios), treated)
    bound = 0.05 + 2.5 * 1.48 * 0.03

    expected = np.exp([0.02, 0.04, 0.05, 0.08, bound]).sum() / 5
    assert estimate.clipped_log_ratio == pytest.approx(math.log(expected))
    assert estimate.log_ratio > 1.0


def test_without_outliers_clipping_changes_nothing() -> None:
    estimate = estimate_block([102, 101, 99, 100], [100, 100, 100, 100])
    assert estimate.clipped_log_ratio == pytest.approx(estimate.log_ratio)


def test_no_clipping_where_most_pairs_agree_exactly() -> None:
    estimate = estimate_block([100, 100, 100, 500], [100, 100, 100, 100])
    assert estimate.clipped_log_ratio == estimate.log_ratio


def test_takes_the_unsigned_integers_of_the_meter() -> None:
    costs = np.array([2**40, 2**41], dtype=np.uint64)
    assert estimate_block(costs, costs).log_ratio == 0.0


def test_a_slot_that_costs_nothing_counts_in_the_totals_and_has_no_ratio_to_clip() -> None:
    estimate = estimate_block([200, 0, 210, 190], [100, 0, 105, 95])
    assert estimate.log_ratio == pytest.approx(math.log(2))
    assert estimate.clipped_log_ratio == pytest.approx(math.log(2))
    assert estimate.pair_sigma == pytest.approx(0.0)
    assert estimate_block([100, 0], [100, 50]).log_ratio == pytest.approx(math.log(100 / 150))


@pytest.mark.parametrize(
    ("control", "treated"),
    [
        ([], []),
        ([1, 2], [1]),
        ([0, 0], [1, 1]),
        ([1, 1], [0, 0]),
        ([1, 1], [1, -1]),
        ([1, math.nan], [1, 1]),
        ([math.inf], [1]),
        ([[1]], [[1]]),
    ],
)
def test_refuses_pairs_that_are_none(control: list[float], treated: list[float]) -> None:
    with pytest.raises(ValueError, match=r"slot"):
        estimate_block(control, treated)
