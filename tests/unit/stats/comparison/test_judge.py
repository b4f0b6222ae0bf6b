import math

import pytest

from phpdyno.model.verdict import Relevance, VerdictKind
from phpdyno.stats.comparison.judge import decided, effect_of, judge, margin_log
from phpdyno.stats.comparison.sequence import Interval

BOUND = math.log(1.01)


def spanning(low: float | None, high: float | None) -> Interval:
    mean = (low + high) / 2 if low is not None and high is not None else 0.0
    return Interval(mean, low, high, 20, 0.02)


@pytest.mark.parametrize(
    ("low", "high", "margin", "kind", "relevance"),
    [
        (None, None, 0.01, "inconclusive", ""),
        (0.02, 0.03, 0.01, "improved", "relevant"),
        (BOUND, 0.03, 0.01, "improved", "relevant"),
        (0.001, 0.009, 0.01, "improved", "not relevant"),
        (0.001, BOUND, 0.01, "improved", "relevance open"),
        (0.005, 0.02, 0.01, "improved", "relevance open"),
        (-0.03, -0.02, 0.01, "regressed", "relevant"),
        (-0.03, -BOUND, 0.01, "regressed", "relevant"),
        (-0.009, -0.001, 0.01, "regressed", "not relevant"),
        (-0.02, -0.005, 0.01, "regressed", "relevance open"),
        (-0.005, 0.005, 0.01, "equivalent", ""),
        (-BOUND, 0.005, 0.01, "inconclusive", ""),
        (-0.005, BOUND, 0.01, "inconclusive", ""),
        (-0.02, 0.02, 0.01, "inconclusive", ""),
        (0.0, 0.005, 0.01, "equivalent", ""),
        (0.0, 0.02, 0.01, "inconclusive", ""),
        (0.0, 0.0, 0.0, "inconclusive", ""),
        (-1e-9, 1e-9, 0.0, "inconclusive", ""),
        (1e-9, 2e-9, 0.0, "improved", "relevant"),
        (-2e-9, -1e-9, 0.0, "regressed", "relevant"),
    ],
)
def test_judge(low: float | None, high: float | None, margin: float, kind: VerdictKind, relevance: Relevance) -> None:
    assert judge(spanning(low, high), margin) == (kind, relevance)


@pytest.mark.parametrize(
    ("kind", "relevance", "over"),
    [
        ("improved", "relevant", True),
        ("improved", "not relevant", True),
        ("improved", "relevance open", False),
        ("improved", "spent elsewhere", True),
        ("regressed", "relevant", True),
        ("regressed", "relevance open", False),
        ("equivalent", "", True),
        ("inconclusive", "", False),
        ("invalid", "", True),
    ],
)
def test_decided(kind: VerdictKind, relevance: Relevance, over: bool) -> None:
    assert decided(kind, relevance) is over


@pytest.mark.parametrize("margin", [-0.01, math.nan, math.inf])
def test_refuses_a_margin_that_is_none(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        judge(spanning(0.1, 0.2), margin)


def test_effect_is_on_the_scale_of_ratios() -> None:
    values = [0.05, 0.07, 0.06, 0.08, 0.04, 0.06, 0.07, 0.05]
    effect = effect_of(values, [each - 0.01 for each in values], 0.05)

    assert effect.ratio == pytest.approx(math.exp(0.06))
    assert effect.clipped_ratio == pytest.approx(math.exp(0.05))
    assert effect.low is not None
    assert effect.high is not None
    assert effect.low * effect.high == pytest.approx(effect.ratio**2)
    assert (effect.blocks, effect.confidence) == (8, 0.95)


def test_effect_of_too_few_blocks_has_no_interval() -> None:
    effect = effect_of([0.1, 0.2], [0.1, 0.2], 0.05)
    assert (effect.low, effect.high, effect.blocks) == (None, None, 2)


def test_an_interval_too_wide_for_a_float_is_given_as_infinite() -> None:
    effect = effect_of([-300.0, 300.0] * 4, [0.0] * 8, 0.05)
    assert (effect.low, effect.high) == (None, None)


def test_effect_refuses_unequal_lengths_and_nothing() -> None:
    with pytest.raises(ValueError, match="clipped"):
        effect_of([0.1], [], 0.05)
    with pytest.raises(ValueError, match="at least one"):
        effect_of([], [], 0.05)


def test_margin_log() -> None:
    assert margin_log(0.0) == 0.0
    assert margin_log(0.01) == pytest.approx(BOUND)
