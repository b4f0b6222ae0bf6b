import math
import re

import numpy as np
import pytest
from msgspec.structs import replace

from phpdyno.experiment.comparison.planning import (
    PanelGoal,
    SlotChoice,
    Timing,
    aa_blocks,
    base_requests,
    carries_over,
    carry_over_pairs,
    choose_slot,
    fixed_slot,
    make_plan,
    noise_of,
)
from phpdyno.journal.records import Calibrated
from phpdyno.model.observation import Observation
from phpdyno.model.plan import Metric, Panel
from tests.support.made_up.journals import AA, CONTROL, cost

MS = 1_000_000
EVEN = [1.0] * 256


def aa(sigma_pair: float = 0.08, pairs: int = 60, *log_ratios: float) -> list[Observation]:
    ratios = log_ratios or (0.001, -0.002)
    return [Observation("A/A", block, ratio, ratio, sigma_pair, pairs, cost(20), cost(20)) for block, ratio in enumerate(ratios)]


def planned(
    budget_s: float = 300.0,
    *,
    walls: dict[str, int] | None = None,
    metric: Metric = "cpu",
    slot: int = 1,
    overhead_s: float = 2.0,
    alive: int = 1,
    margin: float = 0.01,
    share: float = 1.0,
    blocks: list[Observation] | None = None,
) -> Calibrated:
    return make_plan(
        PanelGoal(metric, math.log1p(margin), 0.05, budget_s, share=share),
        slot=SlotChoice(slot),
        request_wall_ns=walls or {"control": 25 * MS, "A/A": 25 * MS},
        control="control",
        control_cpu_ns=20 * MS,
        aa=aa() if blocks is None else blocks,
        timing=Timing(overhead_s, 0.0001, alive),
        took_s=5.0,
    )


def test_a_base_slot_is_one_request_or_six_milliseconds_of_them() -> None:
    assert base_requests(25 * MS) == 1
    assert base_requests(200_000) == 30
    assert base_requests(0) == 6 * MS


def test_the_trace_chooses_among_lengths_of_at_most_half_a_second() -> None:
    trace = np.exp(np.random.default_rng(1).normal(0, 0.1, 256))
    slow = choose_slot(trace.tolist(), EVEN, base=1, request_wall_ns=300 * MS, slot_overhead_s=0.0, most=99)
    assert slow.requests == 1
    assert [point.slot_requests for point in slow.allan] == [1]
    fast = choose_slot(trace.tolist(), EVEN, base=5, request_wall_ns=200_000, slot_overhead_s=0.005, most=9999)
    assert fast.requests > 5
    assert fast.allan[0].slot_s == pytest.approx(0.001)


def test_no_slot_is_longer_than_the_blocks_have_room_for() -> None:
    trace = np.exp(np.random.default_rng(1).normal(0, 0.1, 256)).tolist()
    tight = choose_slot(trace, EVEN, base=5, request_wall_ns=200_000, slot_overhead_s=0.005, most=10)
    assert [point.slot_requests for point in tight.allan] == [5, 10]
    assert choose_slot(trace, EVEN, base=5, request_wall_ns=200_000, slot_overhead_s=0.005, most=1).requests == 5


def loaded(metric: Metric = "throughput", concurrency: int = 8) -> Panel:
    return Panel(metric, CONTROL, (AA,), concurrency)


def test_a_given_length_and_a_load_need_no_trace() -> None:
    assert fixed_slot(7, loaded("cpu", 1), MS, 1.0) == SlotChoice(7)
    assert fixed_slot(None, loaded(), MS, 1.0) == SlotChoice(160)
    assert fixed_slot(1, loaded(), MS, 1.0) == SlotChoice(8)
    assert fixed_slot(None, loaded("throughput", 1), MS, 1.0) == SlotChoice(20)
    assert fixed_slot(None, loaded("cpu", 1), MS, 1.0) is None


def test_requests_too_dear_for_a_trace_are_measured_one_by_one() -> None:
    assert fixed_slot(None, loaded("cpu", 1), 500 * MS, 1.0) == SlotChoice(1)


def test_as_many_calibration_blocks_as_the_budget_can_afford_to_start() -> None:
    assert aa_blocks("cpu", 300.0, 1.0) == 4
    assert aa_blocks("cpu", 300.0, 20.0) == 2
    assert aa_blocks("cpu", 30.0, 0.1) == 2
    assert aa_blocks("throughput", 300.0, 1.0) == 2


def test_one_dear_arm_starves_no_other() -> None:
    """A page without opcache: as few pairs as may be, while the others get what they need."""
    walls = {"control": 25 * MS, "A/A": 25 * MS, "jit": 24 * MS, "files": 25 * MS, "dear": 150 * MS}
    plan = planned(walls=walls, overhead_s=3.0)
    assert plan.pairs["A/A"] > 3 * plan.pairs["dear"] > 12
    assert plan.block_s > 3.0
    assert plan.sigma_block == pytest.approx(noise_of(aa()).of_block(plan.pairs["files"]), rel=0.05)


def test_the_promise_of_a_plan_has_the_carry_over_in_it() -> None:
    alone = planned()
    assert alone.sigma_block == pytest.approx(noise_of(aa()).of_block(alone.pairs["A/A"]))
    assert alone.blocks == int(0.9 * 300.0 / (alone.block_s + 2.0))
    assert alone.eta_s is not None
    needed = alone.eta_s * 0.9 / (alone.block_s + 2.0)
    assert needed == pytest.approx(round(needed))


def test_dear_arms_get_fewer_pairs_and_the_same_time() -> None:
    plan = planned(walls={"control": 25 * MS, "cheap": 25 * MS, "dear": 125 * MS})
    assert plan.pairs["cheap"] == pytest.approx(3 * plan.pairs["dear"], abs=3)
    assert plan.block_s == pytest.approx(2 * plan.pairs["cheap"] * 0.05, rel=0.2)


def test_the_note_promises_what_the_budget_decides() -> None:
    plan = planned()
    assert plan.decidable is not None
    assert plan.eta_s is not None
    assert plan.eta_s < 300.0
    assert f"they detect {100 * plan.decidable:.2g} % or more; 1 % takes about" in plan.note


def test_a_metric_that_shares_the_time_is_done_later_by_the_clock() -> None:
    alone, one_of_two = planned(300.0), planned(900.0, share=1 / 3)
    assert (one_of_two.blocks, one_of_two.pairs, one_of_two.decidable) == (alone.blocks, alone.pairs, alone.decidable)
    assert alone.eta_s is not None
    assert one_of_two.eta_s == pytest.approx(3 * alone.eta_s)
    assert "fit in its part of the budget" in one_of_two.note
    said = [re.search(r"1 % takes about (\d+) (s|min)", plan.note) for plan in (alone, one_of_two)]
    seconds = [int(found[1]) * (60 if found[2] == "min" else 1) for found in said if found]
    assert seconds[1] == pytest.approx(3 * seconds[0], abs=60)


def stolen(of: list[Observation], *which: int) -> list[Observation]:
    """A/A blocks of which some do not count, and look wild."""
    wild = {"log_ratio": 0.2, "pair_sigma": 0.5, "excluded": "steal 71.0%"}
    return [replace(each, **wild) if number in which else each for number, each in enumerate(of)]


def test_the_noise_is_that_of_the_blocks_that_count() -> None:
    four = aa(0.08, 60, 0.001, -0.002, 0.001, -0.001)
    assert noise_of(stolen(four, 1, 3)) == noise_of([four[0], four[2]])
    plan = planned(blocks=stolen(four, 1, 3))
    assert plan.sigma_pair == pytest.approx(0.08)
    assert "would count" not in plan.note
    assert len(plan.aa) == 4


def test_where_hardly_a_block_counts_the_noise_is_that_of_all_and_that_is_said() -> None:
    two = stolen(aa(), 1)
    assert noise_of(two).sigma_pair > 0.3
    assert planned(blocks=two).note.endswith("; the noise is that of all A/A blocks, since fewer than 2 would count")
    assert noise_of(stolen(aa(), 0, 1)).sigma_pair == pytest.approx(0.5)
    assert "would count" not in planned().note


def test_a_budget_too_small_promises_nothing() -> None:
    plan = planned(5.0)
    assert plan.blocks < 4
    assert plan.decidable is None
    assert "they detect" not in plan.note


def test_carry_over_takes_a_tenth_of_the_time_at_most_and_not_before_it_is_earned() -> None:
    plan = planned()
    looked = [carries_over(plan, turn) for turn in range(200)]
    assert set(looked) == {(), (20,)}
    each_s = 2 * 20 * carry_over_pairs(plan, 20) * 0.025
    for turn in range(1, 201):
        assert sum(each_s for lengths in looked[:turn] if lengths) <= 0.11 * turn * (plan.block_s + plan.overhead_s)
    assert {carries_over(planned(slot=5), turn) for turn in range(200)} == {(), (1, 20)}


def test_throughput_has_no_carry_over() -> None:
    plan = planned(metric="throughput", slot=160, margin=0.05)
    assert {carries_over(plan, block) for block in range(50)} == {()}
    assert min(plan.pairs.values()) >= 2
