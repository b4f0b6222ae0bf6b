"""What a sweep does in which order and for how long. Pure: everything follows from the plan and
what its first round saw."""

import math
import statistics
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno.drive.arrivals import Phase, bursts, constant, evenly, poisson, ramp
from phpdyno.errors import BudgetTooSmall
from phpdyno.experiment.comparison.schedule import deal
from phpdyno.journal.sweep import Lengths
from phpdyno.model.arm import Arm
from phpdyno.model.arrival import Arrivals
from phpdyno.model.runs.bottleneck import Load
from phpdyno.model.runs.sweep import Point, SweepPlan
from phpdyno.server_files.php import most_workers
from phpdyno.stats.visits import LEAST_ROUNDS

REQUESTS_IN_FLIGHT = 20
"""A closed visit has so many requests for each in flight: what its ramp and its end cost is then a
few percent."""
LEAST_OPEN = 100
"""Requests of an open visit: its 99th percentile wants as many."""
PILOT_IN_FLIGHT = 5
PILOT_SHARE = 0.5
"""A visit of the first round has this part of `visit_s`: its rates only size the others."""
SPARE = 1.1
"""Rounds take a little longer than forecast: a warm-up that goes on, a start on cold caches."""
ROUNDED_S = 5
NEAR_MOST = 0.9
"""Of the highest throughput of the first round: from there on an arm counts as saturated."""
RAMP_FROM = 0.5
"""A ramp begins at this part of its mean rate, and ends as far above it."""
BURSTS, BURST_TIME, BURST_HEIGHT = 4, 0.25, 3.0
"""So many bursts in a visit, together this part of its time, each at so many times the mean rate; a
third of it between them."""
_HAIR = 1e-9


class ArmTurn(Struct, frozen=True):
    """One fresh instance of an arm within a round, and its points in the order of their visits."""

    arm: str
    points: tuple[Point, ...]


class PilotArm(Struct, frozen=True):
    """What the first round saw of an arm: throughput at each closed point (per second), how long
    its start and warm-up took, and what a visit takes besides driving (readings, the discarded
    requests), seconds; and what was full at each closed point."""

    rates: Mapping[Point, float]
    up_s: float
    beside_s: float
    loads: tuple[Load, ...] = ()


def closed_points(points: Sequence[Point]) -> tuple[Point, ...]:
    """Those with a fixed number of requests in flight."""
    return tuple(point for point in points if not point.open_share)


def largest(points: Sequence[Point]) -> Point:
    """The closed point with most requests in flight: memory is read after it. Raises ValueError
    without a closed point."""
    return max(closed_points(points), key=lambda point: point.concurrency)


def busy_workers(plan: SweepPlan, arm: Arm) -> int:
    """How many workers of an arm the heaviest closed point keeps busy."""
    return min(most_workers(arm), largest(plan.points).concurrency)


def round_order(plan: SweepPlan, number: int) -> tuple[ArmTurn, ...]:
    """Arms in random order, and each one's points in a random order of its own; the first round (0)
    has no open points: their rate follows from it. Rounds are independent draws."""
    generator = _generator(plan.seed, number)
    points = plan.points if number else closed_points(plan.points)
    turns = []
    for index in generator.permutation(len(plan.arms)):
        order = generator.permutation(len(points))
        turns.append(ArmTurn(plan.arms[int(index)].name, tuple(points[int(place)] for place in order)))
    return tuple(turns)


def sequence_of(plan: SweepPlan, number: int, point: Point, requests: int) -> NDArray[np.uint32]:
    """Which targets a visit asks for: the same for all arms of a round, in proportion to the
    weights."""
    weights = [target.weight for target in plan.workload.targets]
    return deal(_generator(plan.seed, number, plan.points.index(point), 1), weights, requests)


def offsets_of(plan: SweepPlan, number: int, point: Point, requests: int, rate_per_s: float) -> NDArray[np.uint64]:
    """When the requests of an open visit are due, nanoseconds from its start: the same for all arms
    of a round, up to their rates."""
    profile = profile_of(plan.arrivals, rate_per_s, requests / rate_per_s)
    if plan.arrivals == "constant":
        return evenly(profile)
    return poisson(profile, _generator(plan.seed, number, plan.points.index(point), 2))


def profile_of(arrivals: Arrivals, rate_per_s: float, seconds: float) -> tuple[Phase, ...]:
    """How the offered rate moves over a visit; its mean is `rate_per_s` whatever the kind."""
    if arrivals == "ramp":
        return ramp(RAMP_FROM * rate_per_s, (2.0 - RAMP_FROM) * rate_per_s, seconds)
    if arrivals == "burst":
        burst_s = BURST_TIME * seconds / BURSTS
        quiet_s = (1.0 - BURST_TIME) * seconds / (BURSTS + 1)
        quiet = rate_per_s * (1.0 - BURST_TIME * BURST_HEIGHT) / (1.0 - BURST_TIME)
        return bursts(quiet, BURST_HEIGHT * rate_per_s, quiet_s=quiet_s, burst_s=burst_s, count=BURSTS)
    return constant(rate_per_s, seconds)


def pilot_requests(plan: SweepPlan, point: Point, request_wall_ns: int, busy: int) -> int:
    """Requests of a visit of the first round: half a visit at the throughput of the warm-up, in
    which `busy` requests were in flight."""
    rate = busy * 1e9 / max(1, request_wall_ns)
    return max(PILOT_IN_FLIGHT * point.concurrency, math.ceil(PILOT_SHARE * plan.visit_s * rate))


def requests_of(plan: SweepPlan, point: Point, rate_per_s: float) -> int:
    """Requests of a visit at this throughput (open: offered rate)."""
    least = LEAST_OPEN if point.open_share else REQUESTS_IN_FLIGHT * point.concurrency
    return max(least, math.ceil(rate_per_s * plan.visit_s))


def saturation(pilot: PilotArm) -> float:
    """Throughput of a saturated arm, per second: the median of the points whose throughput is near
    the highest.

    The highest one of many short visits is high by luck as well: of nine that differ by 5 % at
    random, by 7 % on the mean.
    """
    most = max(pilot.rates.values())
    return statistics.median(rate for rate in pilot.rates.values() if rate >= NEAR_MOST * most)


def open_rate(point: Point, pilot: PilotArm) -> float:
    """The offered rate of an open point: its share of saturation."""
    return point.open_share * saturation(pilot)


def lengths_of(plan: SweepPlan, pilots: Mapping[str, PilotArm], spent_s: float, threads: int = 1) -> Lengths:
    """Requests of every visit, the offered rates, the budget, and the rounds that fit in what is
    left of it.

    Raises BudgetTooSmall when fewer than three rounds fit: they have no interval.
    """
    requests: dict[str, tuple[int, ...]] = {}
    rates: dict[str, float] = {}
    round_s = 0.0
    for arm in plan.arms:
        pilot = pilots[arm.name]
        at = {point: open_rate(point, pilot) if point.open_share else pilot.rates[point] for point in plan.points}
        requests[arm.name] = tuple(requests_of(plan, point, at[point]) for point in plan.points)
        rates[arm.name] = max((at[point] for point in plan.points if point.open_share), default=0.0)
        driven_s = sum(count / at[point] for point, count in zip(plan.points, requests[arm.name], strict=True))
        round_s += pilot.up_s + driven_s + len(plan.points) * pilot.beside_s
    round_s *= SPARE
    needed_s = spent_s + LEAST_ROUNDS * round_s
    budget_s = budget_for(plan, needed_s)
    rounds = math.floor((budget_s - spent_s) / round_s + _HAIR)
    if rounds < LEAST_ROUNDS:
        raise too_small(plan, needed_s, round_s)
    return Lengths(requests, rates, rounds, threads, budget_s)


def budget_for(plan: SweepPlan, needed_s: float) -> float:
    """The plan's budget, or, where the fewest rounds need more and the plan lets it grow so far,
    what they need."""
    if needed_s <= plan.budget_s or needed_s > plan.most_budget_s:
        return plan.budget_s
    return min(float(_rounded_up(needed_s)), plan.most_budget_s)


def too_small(plan: SweepPlan, needed_s: float, round_s: float) -> BudgetTooSmall:
    """Which budget would do."""
    unasked = " (more than this is taken only when it is asked for)" if plan.most_budget_s > plan.budget_s else ""
    return BudgetTooSmall(
        f"a round of all points takes {round_s:.0f} s here, and an interval needs {LEAST_ROUNDS} of them{unasked}",
        budget_s=max(plan.budget_s, plan.most_budget_s),
        enough_s=_rounded_up(needed_s),
        instead="fewer points or pools",
    )


def forecast(plan: SweepPlan, lengths: Lengths, spent_s: float) -> str:
    """What is ahead, in words, once the first round is over."""
    left_s, budget_s = lengths.budget_s - spent_s, f"{lengths.budget_s:.0f} s"
    rounds = f"{lengths.rounds} rounds of all points, {left_s / lengths.rounds:.0f} s each"
    if lengths.budget_s > plan.budget_s:
        return f"{rounds}, the fewest that an interval needs: {budget_s} in all, {left_s:.0f} s from now; fewer loads take less"
    return f"{rounds} at most: {budget_s} in all"


def fits(lengths: Lengths, *, done: int, spent_s: float, budget_s: float, round_s: float) -> bool:
    """Whether to begin another round: none beyond those planned, the promised three in any case,
    others while they fit."""
    if done >= lengths.rounds:
        return False
    return done < LEAST_ROUNDS or spent_s + round_s <= budget_s


def _rounded_up(seconds: float) -> int:
    return ROUNDED_S * math.ceil(seconds / ROUNDED_S)


def _generator(*numbers: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(list(numbers))))
