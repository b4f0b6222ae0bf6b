"""The smallest pool that holds an objective at a load."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from phpdyno.stats.capacity.curve import Curve
from phpdyno.stats.capacity.idle import NO_IDLE, IdleCost
from phpdyno.stats.capacity.queueing.flow_equivalent import open_queue
from phpdyno.stats.capacity.queueing.offered import Offered
from phpdyno.stats.capacity.queueing.simulation import Assessment, assess
from phpdyno.stats.capacity.queueing.work import Work

Outcome = Literal["found", "unsure", "overload", "work", "no_wait", "most"]
"""Why a search ended. found: a pool passes. unsure: the percentile of one is within the objective,
but its interval is not. overload: no pool within the limit answers what arrives. work: a request
that is alone takes longer than the objective. no_wait: nobody waits any more and it is still too
slow, so larger pools change nothing. most: the limit was reached and no size comes up to it."""

NEAR = 1.1
"""A pool whose quick look is within 10 % above the objective is looked at in full."""
NOBODY = 1e-3
"""So small a share of requests that wait cannot move a 99th percentile."""


class PoolSearch(Struct, frozen=True):
    """How it ended, the pool that was found, the one that comes closest (by the interval's upper
    end, then by its percentile), and all that were looked at, in order of size; those that were
    sorted out at a quick look have no part of the rates in their interval."""

    outcome: Outcome
    found: Assessment | None
    closest: Assessment | None
    looked_at: tuple[Assessment, ...]


def smallest_pool(
    curve: Curve,
    work: Work,
    offered: Offered,
    objective_s: float,
    most: int,
    *,
    idle: IdleCost = NO_IDLE,
    backlog: int | None = None,
    seed: int = 0,
    tell: Callable[[Assessment], None] = lambda _: None,
) -> PoolSearch:
    """The smallest number of workers up to `most` whose 99th percentile is certain to be at most
    `objective_s` seconds.

    Sizes are tried in ascending order, each one: what passes does not pass for all larger pools
    too. Idle workers cost, full cores make more requests at once slower (with work that scatters
    little a queue is better than sharing), so halving an interval could miss the smallest, or all.
    A quick look (four short runs) sorts out what is far off. `tell` hears of each size. Raises
    ValueError: an objective that is not positive, no workers.
    """
    if not objective_s > 0.0 or most < 1:
        raise ValueError(f"a search needs a positive objective and one worker at least, not {objective_s} s and {most}")
    looked_at: list[Assessment] = []
    if _too_slow_alone(curve, work, objective_s):
        return PoolSearch("work", None, None, ())
    nobody_waits = False
    for workers in range(1, most + 1):
        if not _can_answer(curve, offered, workers, idle):
            continue
        look = assess(curve, work, offered, workers, idle=idle, backlog=backlog, seed=seed, quick=True)
        if look.p99_s <= NEAR * objective_s:
            look = assess(curve, work, offered, workers, idle=idle, backlog=backlog, seed=seed)
        looked_at.append(look)
        tell(look)
        if look.passes(objective_s):
            return PoolSearch("found", look, look, tuple(looked_at))
        nobody_waits = look.waits < NOBODY and look.refused == 0.0
        if nobody_waits:
            break
    if not looked_at:
        return PoolSearch("overload", None, None, ())
    closest = min(looked_at, key=lambda each: (each.p99_high_s, each.p99_s))
    if any(each.p99_s <= objective_s for each in looked_at):
        return PoolSearch("unsure", None, closest, tuple(looked_at))
    return PoolSearch("no_wait" if nobody_waits else "most", None, closest, tuple(looked_at))


def _can_answer(curve: Curve, offered: Offered, workers: int, idle: IdleCost) -> bool:
    return open_queue(curve.rates_per_s(workers, idle), offered.rate_per_s).stable


def _too_slow_alone(curve: Curve, work: Work, objective_s: float) -> bool:
    """Whether a request that is alone takes longer, and none is faster in company: the curve never
    rises more than in proportion."""
    alone = curve.rate_per_s(1)
    in_company = any(point.rate_per_s > point.busy * alone * (1.0 + 1e-9) for point in curve.points)
    return not in_company and work.quantile_s(99.0) / (alone * work.mean_s) > objective_s
