import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.stats.comparison.allocation import MIXTURES, Allocation, Shape, allocate, blocks_for, resolution
from phpdyno.stats.comparison.noise import Noise
from phpdyno.stats.comparison.sequence import confidence_sequence, half_width_factor, least_blocks

WORDPRESS = Noise(0.08, 0.005)


def alone(pairs: int) -> Shape:
    """One treatment as dear as the control, 60 ms a pair."""
    return Shape(pairs * 0.06, pairs)


def planned(noise: Noise = WORDPRESS, *, budget_s: float = 300.0, overhead_s: float = 2.0, effect: float = 0.01) -> Allocation:
    return allocate(
        noise,
        shape=alone,
        overhead_s=overhead_s,
        budget_s=budget_s,
        effect=effect,
        alpha=0.05,
        least_pairs=4,
        most_block_s=12.0,
    )


def test_dear_starts_make_long_blocks_and_cheap_ones_short_blocks() -> None:
    assert planned(overhead_s=8.0).pairs > planned(overhead_s=2.0).pairs > planned(overhead_s=0.1).pairs


def test_the_promise_is_that_of_the_typical_treatment() -> None:
    def uneven(pairs: int) -> Shape:
        return Shape(pairs * 0.06, max(1, pairs // 4))

    few = allocate(WORDPRESS, shape=uneven, overhead_s=2.0, budget_s=300.0, effect=0.01, alpha=0.05, least_pairs=4, most_block_s=12.0)
    assert few.sigma_block == WORDPRESS.of_block(few.pairs // 4) > WORDPRESS.of_block(few.pairs)
    assert few.eta_s is not None
    assert few.eta_s > (planned().eta_s or 0.0)


def test_noisy_starts_make_short_blocks() -> None:
    assert planned(Noise(0.08, 0.02)).pairs < planned(Noise(0.08, 0.002)).pairs


def test_an_effect_that_is_huge_needs_few_blocks_and_a_small_one_many() -> None:
    huge, small = planned(effect=1.0), planned(effect=0.005)
    assert huge.needed is not None
    assert small.needed is not None
    assert huge.needed <= 7 < small.needed


def test_a_budget_that_is_too_short_for_the_effect_decides_what_it_can() -> None:
    short = planned(budget_s=60.0)
    assert short.eta_s is not None
    assert short.eta_s > 60.0
    assert short.decidable is not None
    assert short.decidable > 0.01
    assert short.blocks >= least_blocks(0.05, short.mixture)


def test_a_budget_of_nothing_decides_nothing() -> None:
    assert planned(budget_s=1.0).decidable is None
    assert planned(budget_s=0.0).blocks == 0


@given(st.sampled_from(MIXTURES), st.floats(0.0005, 0.5), st.floats(0.002, 0.1))
def test_as_many_blocks_as_needed_and_no_more(mixture: float, effect: float, sigma: float) -> None:
    needed = blocks_for(effect, sigma, 0.05, mixture)
    if needed is None:
        return
    found = resolution(needed, 0.05, mixture)
    assert found is not None
    assert found * sigma <= effect
    fewer = resolution(needed - 1, 0.05, mixture) if needed > 1 else None
    assert fewer is None or fewer * sigma > effect


def test_the_promise_is_kept_in_nine_of_ten_simulated_comparisons() -> None:
    rng = np.random.default_rng(3)
    plan = planned()
    assert plan.needed is not None
    found = 0
    for _ in range(400):
        values = rng.normal(0.01, plan.sigma_block, plan.needed)
        interval = confidence_sequence(values, 0.05, plan.mixture)
        found += interval.low is not None and interval.low > 0.0
    # 400 draws at 90 %: three standard deviations are 4.5 %; more power than promised is no harm.
    assert found / 400 > 0.855


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("blocks", [4, 5, 6, 7, 8, 9, 30])
def test_what_few_blocks_are_said_to_find_they_find(blocks: int, mixture: float) -> None:
    """How wide the interval of a few blocks comes out is a matter of luck, too: 4 with g = 4 would
    find 3.6 + 0.64 sigma in 75 %."""
    effect, factor = resolution(blocks, 0.05, mixture), half_width_factor(blocks, 0.05, mixture)
    if effect is None or factor is None:
        assert blocks < least_blocks(0.05, mixture)
        return
    rng = np.random.default_rng(round(1000 * blocks + 16 * mixture))
    values = rng.normal(effect, 1.0, (10_000, blocks))
    share = float((values.mean(axis=1) > factor * values.std(axis=1, ddof=1)).mean())
    # 10,000 draws at 90 %: three standard deviations are 0.9 %. The approximation is within 1 % of
    # what is exact.
    assert 0.88 <= share <= 0.92


def test_many_blocks_know_how_much_they_scatter() -> None:
    assert resolution(2000, 0.05, 0.25) == pytest.approx((half_width_factor(2000, 0.05, 0.25) or 0.0) + 1.2816 / math.sqrt(2000), rel=0.005)


def test_the_plan_is_the_best_of_those_tried() -> None:
    plan = planned()
    for pairs in (4, 16, 190):
        other = allocate(
            WORDPRESS,
            shape=alone,
            overhead_s=2.0,
            budget_s=300.0,
            effect=0.01,
            alpha=0.05,
            least_pairs=pairs,
            most_block_s=pairs * 0.06,
        )
        assert plan.eta_s is not None
        assert other.eta_s is None or plan.eta_s <= other.eta_s + 1e-9


def test_no_effect_at_all_cannot_be_planned_for() -> None:
    with pytest.raises(ValueError, match="above 0"):
        blocks_for(0.0, 0.01, 0.05, 0.25)
