import math
from typing import get_args

import numpy as np
import pytest
from msgspec import structs

from phpdyno.errors import BudgetTooSmall
from phpdyno.experiment.sweep.plan import (
    LEAST_OPEN,
    PilotArm,
    busy_workers,
    fits,
    forecast,
    largest,
    lengths_of,
    offsets_of,
    open_rate,
    pilot_requests,
    requests_of,
    round_order,
    saturation,
    sequence_of,
)
from phpdyno.journal.sweep import Lengths
from phpdyno.model.arrival import Arrivals
from phpdyno.model.runs.sweep import Point
from phpdyno.model.workload import Target, Workload
from tests.support.made_up.sweeps.sweeps import arm, plan_of

POINTS = (Point(1), Point(5), Point(10), Point(256, 0.7))
PLAN = plan_of([arm("five"), arm("ten")], POINTS)
PILOT = PilotArm({Point(1): 100.0, Point(5): 400.0, Point(10): 390.0}, up_s=1.0, beside_s=0.1)


def test_a_round_visits_every_point_of_every_arm_once() -> None:
    order = round_order(PLAN, 3)
    assert sorted(turn.arm for turn in order) == ["five", "ten"]
    assert all(sorted(turn.points) == sorted(POINTS) for turn in order)


def test_orders_follow_from_seed_and_round_alone() -> None:
    assert round_order(PLAN, 3) == round_order(PLAN, 3)
    orders = {round_order(PLAN, number) for number in range(1, 21)}
    assert len(orders) > 15
    assert {order[0].arm for order in orders} == {"five", "ten"}
    assert {order[0].points[0] for order in orders} == set(POINTS)
    assert round_order(structs.replace(PLAN, seed=2), 3) != round_order(PLAN, 3)


def test_the_first_round_has_no_open_points() -> None:
    assert all(sorted(turn.points) == sorted(POINTS[:3]) for turn in round_order(PLAN, 0))


def test_all_arms_of_a_round_are_asked_the_same() -> None:
    mixed = structs.replace(PLAN, workload=Workload((Target("/a", weight=3.0), Target("/b"))))
    one, other = (sequence_of(mixed, 2, Point(5), 400) for _ in range(2))
    assert (one == other).all()
    assert int((one == 0).sum()) in {300, 301}  # in proportion to the weights
    assert (sequence_of(mixed, 3, Point(5), 400) != one).any()
    assert (offsets_of(mixed, 2, POINTS[3], 280, 280.0) == offsets_of(mixed, 2, POINTS[3], 280, 280.0)).all()


@pytest.mark.parametrize("arrivals", get_args(Arrivals))
@pytest.mark.parametrize(("requests", "rate"), [(100, 31.4159), (280, 280.0), (7, 0.3), (3333, 1234.567)])
def test_an_open_visit_has_as_many_arrivals_as_requests(arrivals: Arrivals, requests: int, rate: float) -> None:
    offsets = offsets_of(structs.replace(PLAN, arrivals=arrivals), 1, POINTS[3], requests, rate)
    assert offsets.size == requests
    assert (np.diff(offsets.astype(np.int64)) >= 0).all()
    assert offsets[-1] <= requests / rate * 1e9 + 1


@pytest.mark.parametrize(("arrivals", "most"), [("constant", 0.101), ("poisson", 0.14), ("ramp", 0.17), ("burst", 0.23)])
def test_a_ramp_and_bursts_offer_more_in_their_busiest_tenth(arrivals: Arrivals, most: float) -> None:
    offsets = offsets_of(structs.replace(PLAN, arrivals=arrivals), 1, POINTS[3], 10_000, 1000.0)
    counts, _ = np.histogram(offsets, bins=160, range=(0, 10_000_000_000))
    busiest = np.convolve(counts, np.ones(16), mode="valid").max() / 10_000
    assert most / 1.3 < busiest < most


def test_closed_visits_last_a_while_or_twenty_requests_for_each_in_flight() -> None:
    assert requests_of(PLAN, Point(10), 390.0) == 390
    assert requests_of(PLAN, Point(50), 390.0) == 1000
    assert requests_of(PLAN, Point(256, 0.7), 31.0) == LEAST_OPEN
    assert requests_of(PLAN, Point(256, 0.7), 280.0) == 280
    assert requests_of(structs.replace(PLAN, visit_s=2.5), Point(10), 390.0) == 975


def test_visits_of_the_first_round_are_half_as_long_at_the_throughput_of_warm_up() -> None:
    assert pilot_requests(PLAN, Point(1), 100_000_000, 5) == 25
    assert pilot_requests(PLAN, Point(10), 100_000_000, 5) == 50
    assert pilot_requests(PLAN, Point(10), 500_000, 5) == 5000
    assert pilot_requests(PLAN, Point(1), 0, 5) > 0


def test_workers_that_are_kept_busy_are_those_that_there_are_or_that_are_asked() -> None:
    assert busy_workers(PLAN, arm("sixteen", {"pool.pm.max_children": "16"})) == 10
    assert busy_workers(PLAN, arm("five", {"pool.pm.max_children": "5"})) == 5
    assert busy_workers(PLAN, arm("bare", {"web.socket": "tcp"})) == 1


def test_the_open_rate_is_a_share_of_saturation() -> None:
    assert open_rate(POINTS[3], PILOT) == pytest.approx(0.7 * 395.0)


def test_a_point_that_was_lucky_does_not_decide_what_saturation_is() -> None:
    rates = {Point(load): rate for load, rate in ((1, 60.0), (3, 99.0), (5, 101.0), (10, 100.0), (20, 108.0), (30, 92.0))}
    assert saturation(PilotArm(rates, up_s=1.0, beside_s=0.1)) == pytest.approx(100.5)  # 92 is not within a tenth of 108
    assert saturation(PilotArm({Point(1): 60.0}, up_s=1.0, beside_s=0.1)) == 60.0


def test_rounds_are_those_that_fit() -> None:
    one_arm = structs.replace(PLAN, arms=PLAN.arms[:1])
    found = lengths_of(one_arm, {"five": PILOT}, spent_s=10.0)
    assert found.requests == {"five": (100, 400, 390, 277)}
    assert found.open_rate_per_s == {"five": pytest.approx(276.5)}
    assert (found.threads, found.budget_s) == (1, 60.0)
    round_s = 1.1 * (1.0 + 3 * 1.0 + 277 / 276.5 + 4 * 0.1)
    assert found.rounds == math.floor(50.0 / round_s) == 8
    both = lengths_of(PLAN, {"five": PILOT, "ten": PILOT}, spent_s=10.0)
    assert both.rounds == 4


def test_without_open_points_there_is_no_rate() -> None:
    closed = structs.replace(PLAN, points=POINTS[:3], arms=PLAN.arms[:1])
    assert lengths_of(closed, {"five": PILOT}, spent_s=0.0).open_rate_per_s == {"five": 0.0}


def test_a_budget_for_fewer_than_three_rounds_is_refused_with_one_that_does() -> None:
    small = structs.replace(PLAN, budget_s=20.0)
    pilots = {"five": PILOT, "ten": PILOT}
    with pytest.raises(BudgetTooSmall, match=r"a round of all points takes 12 s here.*--budget 45s, or fewer points or pools") as failure:
        lengths_of(small, pilots, spent_s=5.0)
    enough = structs.replace(PLAN, budget_s=float(failure.value.enough_s))
    assert lengths_of(enough, pilots, spent_s=5.0).rounds == 3


def test_without_a_budget_of_the_users_it_grows_to_what_three_rounds_need() -> None:
    pilots = {"five": PILOT, "ten": PILOT}  # 12 s for a round of both
    usual = structs.replace(PLAN, budget_s=20.0, most_budget_s=60.0)
    found = lengths_of(usual, pilots, spent_s=5.0)
    assert (found.rounds, found.budget_s) == (3, 45.0)
    said = forecast(usual, found, 5.0)
    assert said.startswith("3 rounds of all points, 13 s each, the fewest that an interval needs: 45 s in all, 40 s from now")
    tight = structs.replace(usual, most_budget_s=41.0)  # where the bound is no multiple of 5
    assert (lengths_of(tight, pilots, spent_s=5.0).rounds, lengths_of(tight, pilots, spent_s=5.0).budget_s) == (3, 41.0)


def test_a_budget_that_is_enough_does_not_grow() -> None:
    wide = structs.replace(PLAN, budget_s=100.0, most_budget_s=1200.0)
    found = lengths_of(wide, {"five": PILOT, "ten": PILOT}, spent_s=5.0)
    assert (found.rounds, found.budget_s) == (7, 100.0)
    assert forecast(wide, found, 5.0) == "7 rounds of all points, 14 s each at most: 100 s in all"


def test_no_budget_grows_without_bound() -> None:
    bounded = structs.replace(PLAN, budget_s=20.0, most_budget_s=40.0)
    with pytest.raises(BudgetTooSmall) as failure:
        lengths_of(bounded, {"five": PILOT, "ten": PILOT}, spent_s=5.0)
    assert str(failure.value) == (
        "--budget 40s: a round of all points takes 12 s here, and an interval needs 3 of them (more than this is taken only when it is"
        " asked for); give at least --budget 45s, or fewer points or pools"
    )


def test_three_rounds_that_fill_a_budget_to_the_second_fit() -> None:
    exact = PilotArm({Point(1): 10.0}, up_s=7.0, beside_s=0.0)
    plan = structs.replace(PLAN, points=(Point(1),), arms=PLAN.arms[:1], visit_s=2.0)
    round_s = (7.0 + 2.0) * 1.1
    for spent_s in np.arange(0.1, 20.0, 0.1).tolist():  # for some of them (budget - spent) / round comes out a hair below 3
        full = structs.replace(plan, budget_s=spent_s + 3 * round_s)
        assert lengths_of(full, {"five": exact}, spent_s=spent_s).rounds == 3


def test_a_round_is_begun_where_it_fits_and_the_promised_ones_in_any_case() -> None:
    lengths = Lengths({}, {}, 5)
    assert fits(lengths, done=0, spent_s=59.0, budget_s=60.0, round_s=10.0)
    assert fits(lengths, done=2, spent_s=59.0, budget_s=60.0, round_s=10.0)
    assert not fits(lengths, done=3, spent_s=59.0, budget_s=60.0, round_s=10.0)
    assert fits(lengths, done=3, spent_s=50.0, budget_s=60.0, round_s=10.0)
    assert not fits(lengths, done=5, spent_s=0.0, budget_s=60.0, round_s=10.0)


def test_memory_is_read_after_the_closed_point_with_most_in_flight() -> None:
    assert largest(POINTS) == Point(10)
    with pytest.raises(ValueError, match="max"):
        largest([Point(256, 0.7)])
