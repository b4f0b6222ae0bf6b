"""Laws of the statistics that hold for every input."""

import math
from random import Random

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from phpdyno.stats.comparison.block import estimate_block
from phpdyno.stats.comparison.judge import decided, effect_of, judge
from phpdyno.stats.comparison.sequence import Interval, confidence_sequence, half_width_factor, least_blocks
from phpdyno.stats.percentile import percentile

logs = st.floats(-2.0, 2.0)
series = st.lists(logs, min_size=7, max_size=40)
alphas = st.floats(1e-4, 0.3)
costs_ns = st.integers(1_000, 10**12)
pairs = st.lists(st.tuples(costs_ns, costs_ns), min_size=1, max_size=40)


def bounds(interval: Interval) -> tuple[float, float]:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def close(a: float, b: float, scale: float = 1.0) -> bool:
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9 * max(1.0, abs(scale)))


@given(series, st.floats(-5.0, 5.0))
def test_shifting_the_values_shifts_the_interval(values: list[float], shift: float) -> None:
    low, high = bounds(confidence_sequence(values, 0.05))
    moved_low, moved_high = bounds(confidence_sequence([each + shift for each in values], 0.05))
    assert close(moved_low, low + shift, 1e3)
    assert close(moved_high, high + shift, 1e3)


@given(series, st.floats(0.001, 1000.0))
def test_scaling_the_values_scales_the_interval(values: list[float], scale: float) -> None:
    low, high = bounds(confidence_sequence(values, 0.05))
    scaled_low, scaled_high = bounds(confidence_sequence([each * scale for each in values], 0.05))
    assert close(scaled_low, low * scale, 1e2 * scale)
    assert close(scaled_high, high * scale, 1e2 * scale)


@given(series, alphas)
def test_the_interval_is_symmetric_and_mirrors(values: list[float], alpha: float) -> None:
    interval = confidence_sequence(values, alpha)
    mirrored = confidence_sequence([-each for each in values], alpha)
    assert (interval.low is None) == (mirrored.low is None) == (len(values) < least_blocks(alpha))
    if interval.low is not None:
        low, high = bounds(interval)
        assert close(interval.mean - low, high - interval.mean)
        assert bounds(mirrored) == (-high, -low)


@given(series, st.randoms(use_true_random=False))
def test_the_order_of_the_blocks_does_not_matter(values: list[float], random: Random) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    assert confidence_sequence(shuffled, 0.05) == confidence_sequence(values, 0.05)


@given(st.integers(2, 500), alphas, alphas)
def test_a_larger_alpha_is_never_wider(n: int, one: float, other: float) -> None:
    strict, loose = sorted((one, other))
    assume(strict < loose)
    wide, narrow = half_width_factor(n, strict), half_width_factor(n, loose)
    if wide is not None:
        assert narrow is not None
        assert narrow <= wide * (1 + 1e-12)


@given(alphas, st.floats(0.02, 4.0))
def test_least_blocks_is_the_edge_of_finiteness(alpha: float, g: float) -> None:
    least = least_blocks(alpha, g)
    assert half_width_factor(least - 1, alpha, g) is None
    assert half_width_factor(least + 1, alpha, g) is not None


@given(pairs)
def test_swapping_the_arms_inverts_the_block(costs: list[tuple[int, int]]) -> None:
    control, treated = zip(*costs, strict=True)
    ahead, back = estimate_block(control, treated), estimate_block(treated, control)
    assert close(ahead.log_ratio, -back.log_ratio)
    assert close(ahead.clipped_log_ratio, -back.clipped_log_ratio)
    assert close(ahead.pair_sigma, back.pair_sigma)


@given(pairs, st.floats(0.01, 100.0), st.randoms(use_true_random=False))
def test_a_block_ignores_units_and_order(costs: list[tuple[int, int]], scale: float, random: Random) -> None:
    before = estimate_block(*zip(*costs, strict=True))
    shuffled = list(costs)
    random.shuffle(shuffled)
    after = estimate_block(*(np.array(side) * scale for side in zip(*shuffled, strict=True)))
    assert close(before.log_ratio, after.log_ratio)
    assert close(before.clipped_log_ratio, after.clipped_log_ratio)


@given(pairs)
def test_a_block_against_itself_is_nothing(costs: list[tuple[int, int]]) -> None:
    control = [each for each, _ in costs]
    estimate = estimate_block(control, control)
    assert (estimate.log_ratio, estimate.clipped_log_ratio, estimate.pair_sigma) == (0.0, 0.0, 0.0)


@given(series, st.floats(0.0, 0.2))
def test_swapping_the_arms_swaps_the_verdict(values: list[float], margin: float) -> None:
    swap = {"improved": "regressed", "regressed": "improved"}
    kind, relevance = judge(confidence_sequence(values, 0.05), margin)
    swapped, same = judge(confidence_sequence([-each for each in values], 0.05), margin)
    assert swapped == swap.get(kind, kind)
    assert same == relevance
    assert decided(swapped, same) == decided(kind, relevance)


@given(series)
def test_the_effect_lies_within_its_interval_and_inverts(values: list[float]) -> None:
    effect = effect_of(values, values, 0.05)
    inverse = effect_of([-each for each in values], values, 0.05)
    assert math.isclose(effect.ratio * inverse.ratio, 1.0, rel_tol=1e-9)
    if effect.low is not None and effect.high is not None:
        assert effect.low <= effect.ratio * (1 + 1e-12)
        assert effect.ratio <= effect.high * (1 + 1e-12)


@given(series)
def test_a_margin_of_zero_is_never_equivalent(values: list[float]) -> None:
    assert judge(confidence_sequence(values, 0.05), 0.0)[0] != "equivalent"


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=200), st.floats(0.0, 100.0))
def test_a_percentile_is_a_measured_value_with_enough_below(values: list[int], percent: float) -> None:
    found = percentile(values, percent)
    assert found in values
    assert sum(each <= found for each in values) / len(values) * 100 >= percent - 1e-9
