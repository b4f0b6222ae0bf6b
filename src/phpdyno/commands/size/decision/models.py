"""What the search saw, as models: throughput over requests in service, the work of a request, what
idle workers cost. Pure."""

import math
import statistics
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from phpdyno.commands.size.record import PoolMeasured, SizeRun
from phpdyno.model.runs.sweep import Visit
from phpdyno.stats.capacity.curve import Curve, CurvePoint
from phpdyno.stats.capacity.idle import NO_IDLE, IdleCost
from phpdyno.stats.capacity.queueing.offered import Offered
from phpdyno.stats.capacity.queueing.simulation import Assessment, assess
from phpdyno.stats.capacity.queueing.work import Work, work_of
from phpdyno.stats.student import quantile
from phpdyno.stats.visits import throughput_of

LEAST_NOISE, UNKNOWN_NOISE = 0.005, 0.03
"""Standard deviation of a visit's logarithm: at least, and where fewer than three pairs of visits
tell it."""
LEAST_PAIRS = 3
MOST_REACH = 50.0
"""Of a logarithm: an interval that reaches further says nothing."""
RESAMPLED = 12
"""How often the service times are drawn anew: they were measured on some hundred requests only."""


class Models(Struct, frozen=True):
    """What response times are foretold from. The work rests on `requests` of a single worker."""

    curve: Curve
    work: Work
    idle: IdleCost
    requests: int


class Foresight(Struct, frozen=True):
    """Response times of a pool at a rate, seconds; `high_s` is infinite where nothing bounds it."""

    p99_s: float
    low_s: float
    high_s: float
    waits: float


def searched(run: SizeRun) -> tuple[PoolMeasured, ...]:
    """The pools of the search, the smallest first."""
    return tuple(sorted((each for each in run.all_of(PoolMeasured) if each.stage == "search"), key=lambda each: each.workers))


def saturated(run: SizeRun) -> dict[int, float]:
    """Valid answers per second of a saturated pool, by workers, as the search saw them."""
    return {each.workers: throughput_of(each.visits[0]) for each in searched(run)}


def visit_at(pool: PoolMeasured, in_flight: int) -> Visit | None:
    """The closed visit with so many requests in flight."""
    return next((visit for visit in pool.visits if visit.point.concurrency == in_flight and not visit.point.open_share), None)


def rate_at(rates: Mapping[int, float], workers: int) -> float:
    """Requests per second of a pool: as measured, else on the line between its neighbours."""
    if workers in rates:
        return rates[workers]
    below = max((each for each in rates if each < workers), default=None)
    above = min((each for each in rates if each > workers), default=None)
    if below is None or above is None:
        return rates[min(rates, key=lambda each: abs(each - workers))]
    part = (workers - below) / (above - below)
    return rates[below] + part * (rates[above] - rates[below])


def models_of(pools: Sequence[PoolMeasured]) -> Models:
    """The models of these pools of the search: full cores slow down what a request computes, not
    what it waits.

    Raises ValueError without a pool of one worker.
    """
    idle, noise = _idle_and_noise(pools)
    points, pools = [], sorted(pools, key=lambda pool: pool.workers)
    for pool in pools:
        visit = visit_at(pool, pool.workers)
        if visit is not None and visit.valid and (not visit.excluded or pool.workers == 1):
            rate, reach = throughput_of(visit), 1.96 * noise
            points.append(CurvePoint(pool.workers, rate, rate * math.exp(-reach), rate * math.exp(reach)))
    alone = visit_at(pools[0], 1) if pools else None
    if alone is None or pools[0].workers != 1:
        raise ValueError("the work of a request is measured on a pool of one worker")
    times = [(ns, count) for each in alone.times for ns, count in zip(each.times_ns, each.counts, strict=True)]
    computing_s = (alone.cpu.php_ns + (alone.cpu.web_ns or 0)) / max(1, alone.valid) / 1e9
    work = work_of([ns for ns, _ in times], [count for _, count in times], slowed_s=computing_s if computing_s > 0.0 else math.inf)
    return Models(Curve(tuple(points)), work, idle, alone.valid)


def _idle_and_noise(pools: Sequence[PoolMeasured]) -> tuple[IdleCost, float]:
    """What idle workers cost, and how much single visits scatter (of the logarithm).

    Both from pairs of visits with the same number of requests in flight: all workers at work in
    one, twice as many workers in the other.
    """
    by_workers = {pool.workers: pool for pool in pools}
    ratios = []
    for pool in pools:
        half = pool.workers // 2
        alike = half in by_workers and visit_at(by_workers[half], half)
        beside = visit_at(pool, half) if half else None
        if alike and beside and alike.valid and beside.valid and 2 * half == pool.workers and not (alike.excluded or beside.excluded):
            ratios.append(math.log(throughput_of(alike) / throughput_of(beside)))
    if len(ratios) < LEAST_PAIRS:
        return NO_IDLE, UNKNOWN_NOISE
    scatter, mean = statistics.stdev(ratios), statistics.fmean(ratios)
    error = scatter / math.sqrt(len(ratios))
    reach = quantile(0.975, len(ratios) - 1) * error
    slope, low, high = (math.expm1(each) / math.log(2.0) for each in (mean, mean - reach, mean + reach))
    return IdleCost(slope, 1.0, error / math.log(2.0), low, high, len(ratios)), max(LEAST_NOISE, scatter / math.sqrt(2.0))


def foretell(models: Models, rate_per_s: float, workers: int, *, seed: int) -> Foresight | None:
    """Response times of a pool at a rate; None where more arrives than it can answer.

    To the simulation's interval comes that the service times are a sample: they are drawn anew from
    themselves (bootstrap).
    """
    found = assess(models.curve, models.work, Offered(rate_per_s), workers, idle=models.idle, seed=seed)
    if not found.requests or not math.isfinite(found.p99_s):
        return None
    return _with_sampling(found, models, rate_per_s, workers, seed)


def _with_sampling(found: Assessment, models: Models, rate_per_s: float, workers: int, seed: int) -> Foresight:
    chance = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 991])))
    logs = []
    for _ in range(RESAMPLED):
        counts = chance.multinomial(models.requests, models.work.shares)
        kept = [(time, int(count)) for time, count in zip(models.work.times_s, counts, strict=True) if count]
        drawn = work_of([time * 1e9 for time, _ in kept], [count for _, count in kept], slowed_s=models.work.slowed_s)
        again = assess(models.curve, drawn, Offered(rate_per_s), workers, idle=models.idle, seed=seed, quick=True)
        if math.isfinite(again.p99_s):
            logs.append(math.log(again.p99_s))
    reach = 1.96 * statistics.stdev(logs) if len(logs) > 1 else math.inf
    low = math.hypot(math.log(found.p99_s / found.p99_low_s), reach) if found.p99_low_s > 0.0 else math.inf
    high = math.hypot(math.log(found.p99_high_s / found.p99_s), reach) if math.isfinite(found.p99_high_s) else math.inf
    top = found.p99_s * math.exp(high) if high < MOST_REACH else math.inf
    return Foresight(found.p99_s, found.p99_s * math.exp(-low), top, found.waits)
