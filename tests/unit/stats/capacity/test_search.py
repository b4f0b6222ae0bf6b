import math

import numpy as np
import pytest

from phpdyno.stats.capacity.curve import Curve, CurvePoint, curve_of
from phpdyno.stats.capacity.idle import IdleCost
from phpdyno.stats.capacity.queueing.offered import Offered
from phpdyno.stats.capacity.queueing.simulation import Assessment, assess
from phpdyno.stats.capacity.queueing.work import work_of
from phpdyno.stats.capacity.search import smallest_pool

WORK = work_of(-np.log((np.arange(2_000) + 0.5) / 2_000) * 10_000_000)
FIXED = work_of([10_000_000])
SLEEPING = curve_of([1, 64], [100.0, 6400.0])
CORE = curve_of([1, 2, 64], [100.0, 100.0, 100.0])


def test_the_smallest_that_passes_and_the_one_below_does_not() -> None:
    told: list[Assessment] = []
    found = smallest_pool(SLEEPING, WORK, Offered(600.0), 0.06, 64, seed=1, tell=told.append)
    assert found.outcome == "found"
    assert found.found is not None
    assert 7 <= found.found.workers <= 12
    assert found.found.passes(0.06)
    assert not assess(SLEEPING, WORK, Offered(600.0), found.found.workers - 1, seed=1).passes(0.06)
    assert [each.workers for each in told] == [each.workers for each in found.looked_at] == list(range(7, found.found.workers + 1))


def test_a_request_that_is_too_slow_alone_needs_no_search() -> None:
    assert smallest_pool(SLEEPING, FIXED, Offered(10.0), 0.009, 64).outcome == "work"


def test_more_than_any_pool_can_do() -> None:
    assert smallest_pool(CORE, WORK, Offered(100.0), 1.0, 64).outcome == "overload"
    assert smallest_pool(SLEEPING, WORK, Offered(600.0), 1.0, 6).outcome == "overload"


def test_where_nobody_waits_more_workers_do_not_help() -> None:
    found = smallest_pool(CORE, WORK, Offered(50.0), 0.05, 200, seed=1)
    assert found.outcome == "no_wait"
    assert found.looked_at[-1].workers < 40
    assert found.closest is not None


def test_the_limit_of_workers_ends_it() -> None:
    found = smallest_pool(SLEEPING, WORK, Offered(600.0), 0.05, 7, seed=1)
    assert found.outcome == "most"
    assert [each.workers for each in found.looked_at] == [7]


def test_rates_that_are_too_unsure_are_said_to_be() -> None:
    unsure = Curve((CurvePoint(1, 100.0, 90.0, 111.0),))
    found = smallest_pool(unsure, WORK, Offered(70.0), 0.17, 1, seed=1)
    assert found.outcome == "unsure"
    assert found.closest is not None
    assert found.closest.p99_s < 0.17 < found.closest.p99_high_s


def test_a_pool_that_passes_below_larger_ones_that_fail_is_found() -> None:
    """One core and equal work: a queue before one worker holds what sharing among many does not."""
    objective = 0.13
    found = smallest_pool(CORE, FIXED, Offered(80.0), objective, 64, seed=1)
    assert found.found is not None
    assert found.found.workers == 1
    assert not assess(CORE, FIXED, Offered(80.0), 32, seed=1).passes(objective)


def test_idle_workers_can_make_every_larger_pool_fail() -> None:
    idle = IdleCost(0.3, 1.0, 0.01, 0.28, 0.32, 8)
    found = smallest_pool(SLEEPING, WORK, Offered(300.0), 0.05, 8, idle=idle, seed=1)
    assert found.outcome in {"most", "no_wait"}
    assert smallest_pool(SLEEPING, WORK, Offered(300.0), 0.05, 8, seed=1).outcome == "found"


@pytest.mark.parametrize(("objective", "most"), [(0.0, 5), (-1.0, 5), (math.nan, 5), (1.0, 0)])
def test_refuses(objective: float, most: int) -> None:
    with pytest.raises(ValueError, match="objective"):
        smallest_pool(CORE, WORK, Offered(1.0), objective, most)
