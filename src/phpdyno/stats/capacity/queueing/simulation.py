"""Response times of a pool at a load that was not measured, by simulation, with an interval for the
99th percentile.

Two things make the percentile unsure: a simulation is finite, and the rates were measured. The
first is what independent replications differ by; the second what they change by when each rate is
drawn anew within its own interval, with the same arrivals and work (common random numbers). The
second does not become less by simulating more.
"""

import math

import numpy as np
from msgspec import Struct
from numpy.random import default_rng
from numpy.typing import NDArray

from phpdyno.stats.capacity.curve import Curve
from phpdyno.stats.capacity.idle import NO_IDLE, IdleCost
from phpdyno.stats.capacity.queueing.offered import Offered
from phpdyno.stats.capacity.queueing.replications import ALPHA, REPLICATIONS, Replications, Setting, at_rank, length_of, replications
from phpdyno.stats.capacity.queueing.work import Work
from phpdyno.stats.student import quantile

DRAWS = 400
"""Draws of the rates for the share of them in which the pool could not answer what arrives."""


class Assessment(Struct, frozen=True):
    """A pool at a load. Times in seconds, from arrival to answer; a refused request is one that
    never gets its answer.

    `load` is what arrives over what the full pool answers. `p99_low_s` to `p99_high_s` is the 95 %
    interval of `p99_s`; its upper end is infinite where the measured rates leave it open whether
    the pool can answer what arrives, or where the simulation is too short to tell (`settled`
    False). `sigma_simulated` and `sigma_rates` are the two parts of its standard error, of the
    logarithm. `waits` is the share that finds all workers busy and queues, `refused` the share for
    which the backlog has no room. `beyond` where the pool is larger than anything that was
    measured. `stretch` is the measured X(1) times the mean measured service time: 1 where the two
    agree; times are divided by it, so that the rates are those measured. Without `requests` nothing
    was simulated: more arrives than it can answer.
    """

    workers: int
    rate_per_s: float
    load: float
    mean_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    p99_low_s: float
    p99_high_s: float
    sigma_simulated: float
    sigma_rates: float
    waits: float
    refused: float
    requests: int
    settled: bool
    beyond: bool
    stretch: float

    def passes(self, objective_s: float) -> bool:
        """Whether the 99th percentile is certain to be at most this: the whole interval is."""
        return self.p99_high_s <= objective_s


def assess(
    curve: Curve,
    work: Work,
    offered: Offered,
    workers: int,
    *,
    idle: IdleCost = NO_IDLE,
    backlog: int | None = None,
    seed: int = 0,
    quick: bool = False,
) -> Assessment:
    """Simulates a pool of `workers` with `backlog` places to wait (None: any number); the same seed
    gives the same figures.

    `quick` makes four replications and leaves the uncertainty of the rates out. Raises ValueError:
    fewer than one worker.
    """
    rates = curve.rates_per_s(workers, idle)
    load = offered.rate_per_s / float(rates[-1])
    stretch, beyond = curve.rate_per_s(1) * work.mean_s, workers > curve.last
    if load >= 1.0 and backlog is None:
        return Assessment(
            workers=workers,
            rate_per_s=offered.rate_per_s,
            load=load,
            mean_s=math.inf,
            p50_s=math.inf,
            p95_s=math.inf,
            p99_s=math.inf,
            p99_low_s=math.inf,
            p99_high_s=math.inf,
            sigma_simulated=0.0,
            sigma_rates=0.0,
            waits=1.0,
            refused=0.0,
            requests=0,
            settled=False,
            beyond=beyond,
            stretch=stretch,
        )

    setting = Setting(work, offered, length_of(load, work.cv2), backlog)
    runs = replications(setting, rates, seed, quick=quick)
    p99 = runs.percentile(99.0)
    by_rates, unable = 0.0, 0.0
    if curve.has_intervals and not quick and setting.length.settled:
        drawn = _drawn(curve, idle, workers, seed)
        unable = 0.0 if backlog is not None else sum(offered.rate_per_s >= float(one[-1]) for one in drawn) / len(drawn)
        by_rates = _by_rates(setting, runs, drawn) if unable <= ALPHA / 2.0 else math.inf
    down, up = (_reach(p99.value_s, end, by_rates) for end in (p99.low_s, p99.high_s))
    return Assessment(
        workers=workers,
        rate_per_s=offered.rate_per_s,
        load=load,
        mean_s=runs.mean_s,
        p50_s=runs.percentile(50.0).value_s,
        p95_s=runs.percentile(95.0).value_s,
        p99_s=p99.value_s,
        p99_low_s=p99.value_s * math.exp(-down) if math.isfinite(p99.value_s) else p99.low_s,
        p99_high_s=p99.value_s * math.exp(up) if math.isfinite(up) and setting.length.settled else math.inf,
        sigma_simulated=p99.sigma,
        sigma_rates=by_rates,
        waits=runs.waits,
        refused=runs.refused,
        requests=runs.response_s.size,
        settled=setting.length.settled,
        beyond=beyond,
        stretch=stretch,
    )


def _drawn(curve: Curve, idle: IdleCost, workers: int, seed: int) -> list[NDArray[np.float64]]:
    """The pool's rates with each measured one moved by chance within its interval, and the cost of
    idle workers too."""
    random, points = default_rng([seed, DRAWS]), len(curve.points)
    return [
        curve.shifted(random.standard_normal(points)).rates_per_s(workers, idle.shifted(float(random.standard_normal())))
        for _ in range(DRAWS)
    ]


def _by_rates(setting: Setting, runs: Replications, drawn: list[NDArray[np.float64]]) -> float:
    """Root mean square of what drawn rates move ln p99 of a replication by, arrivals and work being
    the same."""
    moves: list[float] = []
    for response, seed, rates in zip(runs.response_s[:REPLICATIONS], runs.seeds, drawn, strict=False):
        before, after = at_rank(np.sort(response), 99.0), at_rank(np.sort(setting.replicate(setting.speeds(rates), seed).response_s), 99.0)
        if math.isinf(before) or math.isinf(after):
            return math.inf
        moves.append(math.log(after / before))
    return math.sqrt(math.fsum(move * move for move in moves) / len(moves))


def _reach(value: float, end: float, by_rates: float) -> float:
    """From a percentile to an end of its interval, in logarithms: the simulation's part and the
    rates' part add like standard errors."""
    if not (math.isfinite(value) and math.isfinite(end) and end > 0.0):
        return math.inf
    return math.hypot(math.log(end / value), quantile(1.0 - ALPHA / 2.0, REPLICATIONS - 1) * by_rates)
