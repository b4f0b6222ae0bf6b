import math

import numpy as np
import pytest

from phpdyno.stats.comparison.allan import allan_deviations, best_length, pair_cost


def test_white_noise_falls_with_the_root_of_the_length() -> None:
    trace = np.exp(np.random.default_rng(1).normal(0, 0.05, 4096))
    found = allan_deviations(trace)
    assert [each.length for each in found] == [2**power for power in range(10)]
    for each in found[:6]:
        assert each.deviation == pytest.approx(0.05 / math.sqrt(each.length), rel=0.25)


def test_a_drift_favours_short_slots_and_an_overhead_long_ones() -> None:
    rng = np.random.default_rng(2)
    drifting = np.exp(np.cumsum(rng.normal(0, 0.02, 2048)))
    deviations = allan_deviations(drifting)
    costs = [pair_cost(each.deviation, each.length * 0.001) for each in deviations]
    assert best_length(costs) == 0
    white = allan_deviations(np.exp(rng.normal(0, 0.05, 2048)))
    dear = [pair_cost(each.deviation, each.length * 0.001 + 0.01) for each in white]
    assert white[best_length(dear)].length >= 8


def test_equal_costs_have_no_deviation() -> None:
    assert {each.deviation for each in allan_deviations([3.0] * 64)} == {0.0}


@pytest.mark.parametrize("trace", [[1.0] * 7, [1.0] * 8 + [-1.0], [1.0] * 8 + [math.inf], [[1.0] * 8] * 2, [0.0] * 9])
def test_a_trace_that_says_nothing_is_refused(trace: list[float]) -> None:
    with pytest.raises(ValueError, match="a trace needs"):
        allan_deviations(trace)


def test_the_mix_is_no_noise() -> None:
    rng = np.random.default_rng(3)
    dear = rng.random(2048) < 0.2
    expected = np.where(dear, 5.0, 1.0)
    costs = expected * np.exp(rng.normal(0, 0.05, 2048))
    assert allan_deviations(costs, expected)[0].deviation == pytest.approx(0.05, rel=0.1)
    assert allan_deviations(costs)[0].deviation > 0.4


def test_slots_that_cost_nothing_are_passed_over() -> None:
    rng = np.random.default_rng(4)
    static = rng.random(2048) < 0.3
    costs = np.where(static, 0.0, np.exp(rng.normal(0, 0.05, 2048)))
    found = allan_deviations(costs, np.where(static, 0.0, 1.0))
    assert found[0].deviation == pytest.approx(0.05, rel=0.1)
    assert found[4].deviation == pytest.approx(0.05 / math.sqrt(0.7 * 16), rel=0.2)


def test_of_lengths_that_are_nearly_as_good_the_shortest_is_taken() -> None:
    assert best_length([1.1, 1.0, 2.0]) == 0
    assert best_length([1.3, 1.0, 2.0]) == 1
    with pytest.raises(ValueError, match="no slot length"):
        best_length([])
