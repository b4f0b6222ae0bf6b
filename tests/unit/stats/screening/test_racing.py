import math

import numpy as np
import pytest

from phpdyno.stats.screening.racing import CONTROL, RacingArm, Standing, least_race_blocks, pair_alpha, race

MARGIN = 0.01


def racers(truth: dict[str, float], blocks: int, seed: int, sigma: float = 0.01) -> list[RacingArm]:
    """Arms named by their number of parts, all against one control per block, which has a draw of
    its own."""
    generator = np.random.default_rng(seed)
    control = generator.normal(0.0, sigma, blocks)
    return [
        RacingArm(name, len(name), dict(enumerate((mean + generator.normal(0.0, sigma, blocks) - control).tolist())))
        for name, mean in truth.items()
    ]


def standing(truth: dict[str, float], blocks: int, seed: int = 1, margin: float = MARGIN, sigma: float = 0.01) -> Standing:
    return race(racers(truth, blocks, seed, sigma), alpha=0.05, margin=margin)


def test_the_best_is_left_and_the_others_say_who_beat_them() -> None:
    found = standing({"a": 0.02, "ab": 0.1, "abc": 0.05}, 60)
    assert (found.left, found.winner, found.end) == (("ab",), "ab", "one left")
    assert {each.name: each.beaten_by for each in found.departed} == {"a": "ab", "abc": "ab", CONTROL: "ab"}
    assert all(each.by.low is not None and each.by.low > 0 for each in found.departed)


def test_among_equals_the_simplest_wins() -> None:
    found = standing({"abc": 0.05, "b": 0.05, "ab": 0.05}, 60, sigma=0.002)
    assert (found.end, found.winner) == ("all within the margin", "b")


def test_where_nothing_helps_the_control_wins() -> None:
    found = standing({"a": 0.0, "ab": 0.0}, 60, sigma=0.002)
    assert (found.end, found.winner) == ("all within the margin", CONTROL)


def test_a_loss_leaves_though_it_is_smaller_than_the_margin() -> None:
    found = standing({"ab": -0.004}, 60, sigma=0.001)
    assert (found.winner, found.end) == (CONTROL, "one left")


def test_a_gain_below_the_margin_does_not_beat_what_is_simpler() -> None:
    found = standing({"ab": 0.004}, 60, sigma=0.001)
    assert (found.winner, found.end, found.left) == (CONTROL, "all within the margin", ("ab", CONTROL))


def test_few_blocks_decide_nothing() -> None:
    least = least_race_blocks(3, 0.05)
    assert least == 10
    found = standing({"a": 0.0, "b": 0.3, "c": 0.1}, least - 1)
    assert (found.end, found.winner, found.departed) == ("open", "b", ())


def test_an_arm_that_left_is_measured_no_further_and_stays_away() -> None:
    all_of = racers({"a": 0.0, "ab": 0.1}, 40, 3)
    cut = [RacingArm("a", 1, {block: value for block, value in all_of[0].log_ratios.items() if block < 20}), all_of[1]]
    assert race(cut, alpha=0.05, margin=MARGIN).left == ("ab",)


def test_the_order_of_the_racers_does_not_matter() -> None:
    arms = racers({"a": 0.01, "ab": 0.03, "abc": 0.035}, 30, 4)
    one, other = (race(each, alpha=0.05, margin=MARGIN) for each in (arms, arms[::-1]))
    assert (one.left, one.winner, one.end) == (other.left, other.winner, other.end)
    assert set(one.departed) == set(other.departed)


def test_looking_after_every_block_the_best_seldom_leaves() -> None:
    wrong, runs = 0, 150
    truth = {"abc": 0.0, "b": 0.0, "c": 0.0}
    for seed in range(runs):
        arms = racers(truth, 40, 1000 + seed)
        for blocks in range(10, 41, 3):
            cut = [RacingArm(each.name, each.parts, {k: v for k, v in each.log_ratios.items() if k < blocks}) for each in arms]
            if race(cut, alpha=0.1, margin=0.0).departed:
                wrong += 1
                break
    assert wrong / runs <= 0.1


def test_alpha_is_divided_over_all_pairs_the_control_included() -> None:
    assert pair_alpha(1, 0.05) == 0.05
    assert pair_alpha(3, 0.06) == pytest.approx(0.01)


def test_who_was_taken_out_makes_it_no_easier_for_the_others() -> None:
    arms = racers({"a": 0.0, "ab": 0.03}, 14, 2)
    alone, of_six = (race(arms, alpha=0.05, margin=MARGIN, entered=entered) for entered in (None, 6))
    assert alone == race(arms, alpha=0.05, margin=MARGIN, entered=2)
    assert {each.name for each in alone.departed} > {each.name for each in of_six.departed}
    with pytest.raises(ValueError, match="2 race, and 1 entered"):
        race(arms, alpha=0.05, margin=MARGIN, entered=1)


@pytest.mark.parametrize(
    ("arms", "margin"),
    [
        ([], 0.0),
        ([RacingArm(CONTROL, 1, {})], 0.0),
        ([RacingArm("a", 1, {}), RacingArm("a", 2, {})], 0.0),
        ([RacingArm("a", 1, {0: 0.1})], math.nan),
    ],
)
def test_refuses_a_race_that_is_none(arms: list[RacingArm], margin: float) -> None:
    with pytest.raises(ValueError, match=r"race|margin|arm"):
        race(arms, alpha=0.05, margin=margin)


def test_without_a_block_nothing_is_known() -> None:
    found = race([RacingArm("a", 1, {})], alpha=0.05, margin=0.01)
    assert (found.end, set(found.left)) == ("open", {"a", CONTROL})
