import math

import pytest
from msgspec import structs

from phpdyno.errors import BudgetTooSmall, UsageError
from phpdyno.model.runs.tune import StageTime
from phpdyno.stats.comparison.noise import Noise
from phpdyno.tuning.budget import (
    LEAST_FACTORS,
    USEFUL_ALONE,
    BudgetRequest,
    Costs,
    narrower,
    plan_blocks,
    plan_budget,
    plan_screen,
    put_off,
    racers,
    screen_block_s,
    stage_seconds,
)

COSTS = Costs(Noise(0.03, 0.005), pair_s=0.06, start_s=0.8, block_s=1.0, most_arms=16)
WANTED = BudgetRequest((3, *([1] * 9)))
QUARTER_S = 900.0


def test_a_quarter_of_an_hour_screens_ten_knobs() -> None:
    plan = plan_budget(QUARTER_S, WANTED, COSTS)
    assert plan.screen.design.factors == WANTED.factors
    assert plan.screen.design.resolution >= 4
    assert plan.screen.blocks >= 2
    assert plan.screen.decidable <= USEFUL_ALONE
    assert plan.screen.took_s <= plan.seconds("screen")
    assert [each.name for each in plan.stages] == ["screen", "race", "confirm", "ablate", "again"]
    assert plan.seconds("numeric") == 0.0


def test_the_sentence_says_what_each_stage_decides() -> None:
    plan = plan_budget(QUARTER_S, structs.replace(WANTED, numeric=True, throughput=True), COSTS)
    assert plan.sentence.startswith("screening 10 settings (")
    assert f"detects effects of {100 * plan.screen.decidable:.1f} % or more" in plan.sentence
    judging = ("racing the best", "confirming the winner", "checking its parts")
    for words in (*judging, "tuning numbers (", "pool and web server ("):
        assert words in plan.sentence
    assert "\n" not in plan.sentence


def test_no_second_is_spent_twice_and_none_beyond_the_budget() -> None:
    for numeric in (False, True):
        seconds = stage_seconds(QUARTER_S, structs.replace(WANTED, numeric=numeric))
        assert math.fsum(seconds.values()) == pytest.approx(0.95 * QUARTER_S)
        assert ("numeric" in seconds) is numeric


TIMES = (StageTime("screen", 40.0, 60.0, 0.01), StageTime("race", 20.0, 80.0, None), StageTime("confirm", 60.0, 140.0, 0.02))


@pytest.mark.parametrize("now_s", [0.0, 45.0, 60.0])
def test_a_stage_that_begins_in_time_keeps_its_own(now_s: float) -> None:
    assert put_off(TIMES, "race", now_s) == TIMES


@pytest.mark.parametrize("now_s", [61.0, 85.0, 139.0])
def test_a_stage_that_begins_late_shares_what_is_left_with_those_that_follow(now_s: float) -> None:
    screen, race, confirm = put_off(TIMES, "race", now_s)
    assert screen == TIMES[0]
    assert race.until_s == pytest.approx(now_s + race.seconds)
    assert confirm.until_s == pytest.approx(race.until_s + confirm.seconds)
    assert confirm.until_s == pytest.approx(140.0)
    assert confirm.seconds / race.seconds == pytest.approx(3.0)


def test_after_the_end_no_stage_has_time_and_none_is_negative() -> None:
    assert [each.seconds for each in put_off(TIMES, "race", 150.0)] == [40.0, 0.0, 0.0]
    assert put_off(TIMES, "numeric", 150.0) == TIMES
    gone = put_off(TIMES, "race", 150.0)
    assert [each.seconds for each in put_off(gone, "confirm", 151.0)] == [40.0, 0.0, 0.0]
    assert put_off(put_off(gone, "confirm", 151.0), "confirm", 160.0)[-1].until_s == 160.0


def test_a_longer_budget_decides_less_and_less() -> None:
    sizes = [plan_budget(budget_s, WANTED, COSTS).screen.decidable for budget_s in (900.0, 3600.0, 14_400.0)]
    assert sizes[0] > 1.2 * sizes[1] > 1.44 * sizes[2]


def test_a_budget_that_decides_nothing_is_refused_with_one_that_does() -> None:
    with pytest.raises(BudgetTooSmall, match="10 knobs") as refused:
        plan_budget(30.0, WANTED, COSTS)
    enough = refused.value.enough_s
    assert 30 < enough < 900
    assert enough % 30 == 0
    assert plan_budget(float(enough), WANTED, COSTS).screen.decidable <= USEFUL_ALONE
    assert "--budget 30s" in str(refused.value)
    assert f"--budget {enough}s" in str(refused.value)


def test_a_short_budget_looks_at_what_promises_most() -> None:
    whole = structs.replace(WANTED, numeric=True, throughput=True)
    noisy = structs.replace(COSTS, noise=Noise(0.14, 0.014), pair_s=0.1, start_s=0.7, block_s=0.0)
    long, short = (plan_budget(budget_s, whole, noisy) for budget_s in (7200.0, 340.0))
    assert long.wanted == whole
    assert "no time for" not in long.sentence
    kept = short.wanted.factors
    assert LEAST_FACTORS <= len(kept) <= len(whole.factors)
    assert set(kept) == {1}
    assert short.screen.design.factors == kept
    assert short.screen.decidable <= USEFUL_ALONE
    assert not short.wanted.numeric
    assert not short.wanted.throughput
    assert short.seconds("numeric") == short.seconds("throughput") == 0.0
    assert short.sentence.endswith("numeric tuning, pool and web server")
    assert "other values" in short.sentence


def test_less_and_less_is_wanted_until_three_knobs_are_left() -> None:
    scopes = list(narrower(BudgetRequest((3, 1, 1, 2, 1), numeric=True, throughput=True)))
    assert [each.factors for each in scopes] == [
        (3, 1, 1, 2, 1),
        (2, 1, 1, 2, 1),
        (1, 1, 1, 1, 1),
        (1, 1, 1, 1, 1),
        (1, 1, 1, 1, 1),
        (1, 1, 1, 1),
        (1, 1, 1),
    ]
    assert [(each.numeric, each.throughput) for each in scopes[2:5]] == [(True, True), (False, True), (False, False)]
    assert list(narrower(BudgetRequest((1,)))) == [BudgetRequest((1,))]


def test_as_many_race_as_the_time_can_tell_apart() -> None:
    found = [racers(seconds, COSTS, effect=0.01, alpha=0.05) for seconds in (10.0, 60.0, 200.0, 900.0)]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (2, 6)
    assert racers(900.0, structs.replace(COSTS, most_arms=3), effect=0.01, alpha=0.05) == 3


def test_a_host_on_which_nothing_can_be_decided() -> None:
    with pytest.raises(UsageError, match="week"):
        plan_budget(900.0, WANTED, structs.replace(COSTS, noise=Noise(50.0, 10.0)))


def test_two_arms_are_the_least() -> None:
    with pytest.raises(ValueError, match="two arms"):
        plan_budget(900.0, WANTED, structs.replace(COSTS, most_arms=1))


def test_short_of_time_effects_are_mixed_rather_than_not_seen() -> None:
    factors = [1] * 16
    one, two = (plan_screen(seconds, factors, COSTS, 0.05) for seconds in (60.0, 600.0))
    assert one is not None
    assert two is not None
    assert one.design.resolution == 3
    assert two.design.resolution == 4
    assert plan_screen(20.0, factors, COSTS, 0.05) is None


def test_few_knobs_and_much_time_tell_interactions_apart() -> None:
    found = plan_screen(3600.0, [1] * 5, COSTS, 0.05)
    assert found is not None
    assert found.design.resolution == 5


def test_where_starts_differ_little_pairs_are_many() -> None:
    steady = plan_screen(600.0, [1] * 8, structs.replace(COSTS, noise=Noise(0.05, 0.001)), 0.05)
    lucky = plan_screen(600.0, [1] * 8, structs.replace(COSTS, noise=Noise(0.005, 0.01)), 0.05)
    assert steady is not None
    assert lucky is not None
    assert steady.pairs > lucky.pairs
    assert steady.blocks < lucky.blocks


def test_rows_that_do_not_fit_at_once_need_controls_of_their_own() -> None:
    plan = plan_screen(600.0, [1] * 8, COSTS, 0.05)
    assert plan is not None
    rows = len(plan.design.rows)
    assert screen_block_s(plan.design, 4, structs.replace(COSTS, most_arms=rows)) == pytest.approx(1.8 + rows * (0.8 + 0.24))
    assert screen_block_s(plan.design, 4, structs.replace(COSTS, most_arms=rows - 1)) == pytest.approx(3.6 + rows * (0.8 + 0.24))


def test_a_contrast_of_two_arms_scatters_by_the_pairs_of_both() -> None:
    with_control = plan_blocks(300.0, 2, COSTS, effect=0.01, alpha=0.05, contrast=False)
    contrast = plan_blocks(300.0, 2, COSTS, effect=0.01, alpha=0.05, contrast=True)
    assert with_control.decidable is not None
    assert contrast.decidable is not None
    assert contrast.decidable > with_control.decidable
