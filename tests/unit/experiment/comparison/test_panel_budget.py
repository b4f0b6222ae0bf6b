"""What a panel's budget has to hold, and that the budget which a refusal names is enough."""

import itertools
import math

import pytest
from msgspec.structs import replace

from phpdyno.experiment.comparison.budget import SPARE, TRACE_SHARE, Demand, calibrating_s, calibration_s, enough_s, least_s, most_requests
from phpdyno.experiment.comparison.planning import (
    LEAST_PAIRS,
    LEAST_TRACE,
    PanelGoal,
    SlotChoice,
    Timing,
    aa_blocks,
    base_requests,
    fixed_slot,
    make_plan,
)
from phpdyno.experiment.comparison.schedule import OPENING
from phpdyno.model.plan import Metric, Panel
from phpdyno.stats.comparison.sequence import least_blocks
from tests.support.made_up.journals import AA, CONTROL
from tests.unit.experiment.comparison.test_planning import aa

MS = 1_000_000
DEAR = Demand("cpu", 1, 0.05, "control", {"control": 500 * MS, "A/A": 500 * MS}, 0.5, 0.5, 2.0)


def test_a_budget_below_the_least_is_known_before_anything_is_calibrated() -> None:
    # Four pairs and the one that opens them; of several treatments each has an opening of its own,
    # of more requests.
    assert least_s(DEAR, 10.0) == pytest.approx(3 * 0.5 + 4 * ((4 + 1) * 1.0 + 2.0))
    two = replace(DEAR, request_wall_ns={**DEAR.request_wall_ns, "other": 500 * MS})
    assert least_s(two, 10.0) == pytest.approx(3 * 0.5 + 4 * (2 * (4 + OPENING) * 1.0 + 2.0))


def test_the_least_budget_counts_with_the_slots_that_were_asked_for() -> None:
    def least(slot_requests: int | None) -> float:
        return least_s(replace(DEAR, metric="throughput", concurrency=10, warm_s=0.0, slot_requests=slot_requests), 10.0)

    assert least(None) == least(200) == pytest.approx(4 * (2 * 200 * 0.1 + 2.0))
    assert least(10) == least(1) == pytest.approx(4 * (2 * 10 * 0.1 + 2.0))


def test_a_large_budget_is_calibrated_with_more_instances() -> None:
    assert least_s(DEAR, 1000.0) == pytest.approx(least_s(DEAR, 50.0) + 4 * DEAR.warm_s)
    assert calibrating_s(DEAR, 1000.0) > calibrating_s(DEAR, 50.0)


def demanded(metric: Metric, in_flight: int, slot: int | None, *, wall_ms: float, overhead_s: float, treatments: int) -> Demand:
    names = ["control", *(f"treatment {number}" for number in range(treatments))]
    walls = dict.fromkeys(names, round(wall_ms * MS))
    starts = overhead_s / len(names) / 2
    return Demand(metric, in_flight, 0.05 / treatments, "control", walls, starts, starts, overhead_s, slot)


def calibrated(demand: Demand, budget_s: float, left_s: float) -> tuple[int, float]:
    """The longest slot that a calibration may choose, and the seconds that it takes: as the
    calibrator goes about it."""
    wall_s, spend_s = demand.request_wall_ns["control"] / 1e9, calibration_s(budget_s)
    trace_s, blocks = TRACE_SHARE * spend_s, aa_blocks(demand.metric, budget_s, demand.up_s + demand.warm_s)
    took_s = (2 * blocks - 1) * (demand.up_s + demand.warm_s)
    panel = Panel(demand.metric, CONTROL, (AA,), demand.concurrency)
    fixed = fixed_slot(demand.slot_requests, panel, demand.request_wall_ns["control"], trace_s)
    slot = fixed.requests if fixed else most_requests(demand, budget_s, left_s)
    if not fixed:
        base_s = base_requests(demand.request_wall_ns["control"]) * wall_s
        took_s += max(LEAST_TRACE, math.ceil(trace_s / base_s)) * base_s
    pair_s = 2 * slot * wall_s / demand.concurrency
    return slot, took_s + blocks * max(LEAST_PAIRS[demand.metric], int((spend_s - trace_s) / blocks / pair_s)) * pair_s


CASES = tuple(itertools.product((0.2, 8.0, 25.0, 300.0, 3000.0), (0.1, 2.0, 40.0), (1, 4), (1.5, 30.0)))


@pytest.mark.parametrize(
    ("metric", "in_flight", "slot"), [("cpu", 1, None), ("cpu", 1, 3), ("cpu", 4, None), ("throughput", 10, None), ("throughput", 10, 50)]
)
@pytest.mark.parametrize("share", [1.0, 0.25])
def test_the_budget_that_is_named_is_enough(metric: Metric, in_flight: int, slot: int | None, share: float) -> None:
    for wall_ms, overhead_s, treatments, spent_s in CASES:
        demand = demanded(metric, in_flight, slot, wall_ms=wall_ms, overhead_s=overhead_s, treatments=treatments)
        enough = enough_s(demand, spent_s=spent_s, share=share)
        mine_s, left_s = share * enough, share * (enough - spent_s)
        chosen, took_s = calibrated(demand, mine_s, left_s)
        plan = make_plan(
            PanelGoal(metric, math.log1p(0.01), demand.alpha, left_s - took_s, demand.concurrency),
            slot=SlotChoice(chosen),
            request_wall_ns=demand.request_wall_ns,
            control="control",
            control_cpu_ns=MS,
            aa=aa(),
            timing=Timing(overhead_s, 0.0001),
            took_s=took_s,
        )
        assert plan.blocks >= least_blocks(demand.alpha, plan.mixture), demand
        assert least_s(demand, mine_s) <= left_s


def test_no_more_is_named_than_it_takes() -> None:
    for wall_ms, overhead_s, treatments, spent_s in CASES:
        demand = demanded("cpu", 1, None, wall_ms=wall_ms, overhead_s=overhead_s, treatments=treatments)
        enough = enough_s(demand, spent_s=spent_s, share=1.0)
        blocks_s = demand.least_blocks * (demand.block_s(demand.slot) + demand.overhead_s)
        assert enough - 1 <= SPARE * (spent_s + calibrating_s(demand, enough) + blocks_s / 0.9)


def test_with_room_to_spare_the_noise_alone_decides_the_slot() -> None:
    demand = demanded("cpu", 1, None, wall_ms=8.0, overhead_s=0.5, treatments=1)
    assert most_requests(demand, 300.0, 290.0) * 0.008 > 0.5
    assert most_requests(demand, 6.0, 2.0) == demand.slot == 1
