"""The answer held against others on fresh pools: in rounds, all pools once in each, in random
order."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from phpdyno.commands.size.measuring.pools import PoolLoad, Pools, connections_for, now_s, requests_for, saturating
from phpdyno.commands.size.record import MOST_ROUNDS, PoolMeasured, SizeRun
from phpdyno.experiment.common.warm_up import Warm
from phpdyno.model.plan import Transport
from phpdyno.stats.visits import LEAST_ROUNDS

MOST_EXTRA = 2
"""Rounds beyond three, whatever the budget, where visits of earlier ones do not count."""
LEAST_OPEN = 100
OPEN_REQUESTS = 1_000
"""Arrivals of an open visit at least: a thousand place a 99th percentile between about p98.4 and
p99.6."""
LEAST_OPEN_S, MOST_OPEN_S = 2.0, 20.0
OPEN_SHARE = 0.05
"""Of the budget: what one open visit takes at most."""


def order_of(workers: Sequence[int], *, seed: int, number: int) -> tuple[int, ...]:
    """All pools of one round in random order, drawn from the seed."""
    chance = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 77, number])))
    return tuple(int(each) for each in chance.permutation(np.asarray(workers)))


def loads_of(workers: int, pools: Pools, *, rate: float, arriving_per_s: float) -> tuple[PoolLoad, ...]:
    """What a pool is visited with: saturation, and, where requests `arriving_per_s` are asked for,
    an open loop of as many; none where a hundred would take far longer than there is time for."""
    in_flight = saturating(workers, pools.transport)
    loads = [PoolLoad(in_flight, requests_for(in_flight, rate))]
    most_s = min(MOST_OPEN_S, OPEN_SHARE * pools.budget_s)
    if arriving_per_s and LEAST_OPEN / arriving_per_s <= 2.0 * most_s:
        loads.append(open_load(workers, arriving_per_s, pools.transport, most_s=most_s))
    return tuple(loads)


def open_load(workers: int, rate_per_s: float, transport: Transport, *, most_s: float = MOST_OPEN_S) -> PoolLoad:
    """Arrivals by chance at a rate: a thousand, or those of two seconds; fewer where these take
    longer than `most_s`, but a hundred."""
    requests = max(LEAST_OPEN, min(max(OPEN_REQUESTS, round(rate_per_s * LEAST_OPEN_S)), round(rate_per_s * most_s)))
    return PoolLoad(connections_for(workers, transport), requests, rate_per_s)


def confirm(
    pools: Pools,
    begun: SizeRun,
    *,
    recommended: int,
    beside: Sequence[int],
    arriving: Sequence[int],
    rates: Mapping[int, float],
    arriving_per_s: float,
    seed: int,
    until_s: float,
    after: int = 0,
) -> Iterator[PoolMeasured]:
    """Rounds until `until_s` of the budget is used up, three at least and eight at most; what
    `begun` holds already is not measured again.

    They are counted from `after` on: those of an earlier recommendation are others. The pools
    `arriving` are visited by an open loop at `arriving_per_s` too. `rates` are requests per second
    at saturation as the search saw them, by workers. Raises ArmFailed, OutOfMemory.
    """
    done = {(each.round, each.workers) for each in begun.all_of(PoolMeasured) if each.stage == "confirm"}
    every = (recommended, *beside)
    longest_s, lacking = 0.0, 0
    for number in range(after + 1, after + MOST_ROUNDS + 1):
        began_s = pools.clock.spent_s()
        least = after + LEAST_ROUNDS + min(MOST_EXTRA, lacking)
        if number > least and began_s + longest_s > until_s:
            return
        for workers in order_of(every, seed=seed, number=number):
            if (number, workers) in done:
                continue
            offered = arriving_per_s if workers in arriving else 0.0
            pools.tell(f"round {number}: {workers} workers, starting")

            def asked(_: Warm, workers: int = workers, offered: float = offered) -> tuple[PoolLoad, ...]:
                return loads_of(workers, pools, rate=rates[workers], arriving_per_s=offered)

            visits = pools.visits(workers, asked, number=1000 + number * 16 + every.index(workers))
            lacking += any(visit.excluded for visit in visits[:1])
            yield PoolMeasured("confirm", workers, number, visits, now_s(pools.clock), pools.threads)
        longest_s = max(longest_s, pools.clock.spent_s() - began_s)
