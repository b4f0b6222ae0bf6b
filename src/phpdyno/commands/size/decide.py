"""From what was measured to the number of workers. Pure."""

import math
import statistics
from collections.abc import Mapping, Sequence

from msgspec import Struct

from phpdyno.commands.size.asked import Asked
from phpdyno.commands.size.pools import AHEAD
from phpdyno.commands.size.record import Foretold, ForetoldAt, LimitsRead, PoolMeasured, Reason, Recommended, SizeHost, SizeRun, Stopped
from phpdyno.commands.size.search import NEAR, knee_of, neighbours
from phpdyno.errors import DynoError
from phpdyno.model.sweep import Visit
from phpdyno.render.nginx import MOST_THROUGH_NGINX
from phpdyno.stats.capacity.caps import Cap, Caps, all_caps, asked_cap, connections_cap, process_max_cap
from phpdyno.stats.capacity.curve import Curve, CurvePoint
from phpdyno.stats.capacity.idle import NO_IDLE, IdleCost
from phpdyno.stats.capacity.memory import PoolCost, cost_of, fit_cost
from phpdyno.stats.capacity.mgc import mgc
from phpdyno.stats.capacity.offered import Offered
from phpdyno.stats.capacity.queue import open_queue
from phpdyno.stats.capacity.search import smallest_pool
from phpdyno.stats.capacity.simulation import Assessment, assess
from phpdyno.stats.capacity.work import Work, work_of
from phpdyno.stats.student import quantile
from phpdyno.stats.visits import Figure, counting, figure_of, throughput_of

FEW_WAIT = 0.05
"""Where a rate and no response time is asked for: so few requests wait for a worker."""
FREE_SHARE = 0.9
"""Of the memory that is free now: what the largest pool under test may take."""
CHECK_SHARE = 0.7
"""Of a pool's throughput: the load at which response times are foretold and held against measured ones where no rate was asked for."""
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
"""Of a pool's throughput: where its response times are foretold."""
MORE = "give the pool more than that"
LEAST_NOISE = 0.005
"""Standard deviation of a single visit's logarithm, where too few pools were measured to tell a greater one."""


class Models(Struct, frozen=True):
    """What response times are foretold from: throughput over requests in service, work of a request, what idle workers cost."""

    curve: Curve
    work: Work
    idle: IdleCost


def searched(run: SizeRun) -> tuple[PoolMeasured, ...]:
    """The pools of the search, the smallest first."""
    return tuple(sorted((each for each in run.all_of(PoolMeasured) if each.stage == "search"), key=lambda each: each.workers))


def saturated(run: SizeRun) -> dict[int, float]:
    """Valid answers per second of a saturated pool, by workers, as the search saw them."""
    return {each.workers: throughput_of(each.visits[0]) for each in searched(run)}


def visit_at(pool: PoolMeasured, in_flight: int) -> Visit | None:
    """The closed visit with so many requests in flight."""
    return next((visit for visit in pool.visits if visit.point.concurrency == in_flight and not visit.point.open_share), None)


def models_of(pools: Sequence[PoolMeasured]) -> Models:
    """The models of these pools of the search: full cores slow down what a request computes, not what it waits.

    Raises ValueError without a pool of one worker.
    """
    idle, noise = _idle_and_noise(pools)
    points, pools = [], sorted(pools, key=lambda pool: pool.workers)
    for pool in pools:
        visit = visit_at(pool, pool.workers)
        if visit is not None and visit.valid:
            rate = throughput_of(visit)
            reach = 1.96 * noise
            points.append(CurvePoint(pool.workers, rate, rate * math.exp(-reach), rate * math.exp(reach)))
    alone = visit_at(pools[0], 1)
    if alone is None or pools[0].workers != 1:
        raise ValueError("the work of a request is measured on a pool of one worker")
    times = [(ns, count) for each in alone.times for ns, count in zip(each.times_ns, each.counts, strict=True)]
    computing_s = (alone.cpu.php_ns + (alone.cpu.web_ns or 0)) / max(1, alone.valid) / 1e9
    work = work_of([ns for ns, _ in times], [count for _, count in times], slowed_s=computing_s if computing_s > 0.0 else math.inf)
    return Models(Curve(tuple(points)), work, idle)


def _idle_and_noise(pools: Sequence[PoolMeasured]) -> tuple[IdleCost, float]:
    """What idle workers cost, and how much single visits scatter (of the logarithm).

    Both from pairs of visits with the same number of requests in flight: all workers at work in one, twice as many workers in the other.
    """
    by_workers = {pool.workers: pool for pool in pools}
    ratios = []
    for pool in pools:
        half = pool.workers // 2
        alike = half in by_workers and visit_at(by_workers[half], half)
        beside = visit_at(pool, half) if half else None
        if alike and beside and alike.valid and beside.valid and 2 * half == pool.workers:
            ratios.append(math.log(throughput_of(alike) / throughput_of(beside)))
    if len(ratios) < 3:
        return NO_IDLE, LEAST_NOISE
    scatter, mean = statistics.stdev(ratios), statistics.fmean(ratios)
    error = scatter / math.sqrt(len(ratios))
    reach = quantile(0.975, len(ratios) - 1) * error
    slope, low, high = (math.expm1(each) / math.log(2.0) for each in (mean, mean - reach, mean + reach))
    return IdleCost(slope, 1.0, error / math.log(2.0), low, high, len(ratios)), max(LEAST_NOISE, scatter / math.sqrt(2.0))


# ---- limits -----------------------------------------------------------------------------------------


def caps_of(asked: Asked, limits: LimitsRead, pools: Sequence[PoolMeasured]) -> Caps:
    """What the limits allow, tightest first, by the memory that was measured so far."""
    cost, found = cost_of_pools(pools), [asked_cap(asked.most)]
    for limit in limits.limits:
        if limit.value is None:
            continue
        if limit.kind == "memory" and cost is not None:
            found.append(_memory_cap(cost, limit.value, limits))
        elif limit.kind == "process_max":
            found.append(process_max_cap(limit.value) or asked_cap(asked.most))
        elif limit.kind == "connections":
            found.append(connections_cap(limit.value))
    return all_caps(found, unreadable=[limit.source for limit in limits.limits if limit.unread])


def _memory_cap(cost: PoolCost, limit_kib: int, limits: LimitsRead) -> Cap:
    taken = float(sum(limits.others.values()))
    return Cap("memory", cost.most_workers(float(limit_kib), taken), float(limit_kib), taken)


def most_to_try(asked: Asked, limits: LimitsRead, pools: Sequence[PoolMeasured]) -> int:
    """The most workers that may be started on this host: what the limits allow, what can be kept busy, and what its memory holds now."""
    most = [caps_of(asked, limits, pools).most or 1, MOST_THROUGH_NGINX - AHEAD if asked.transport == "http" else asked.most]
    cost = cost_of_pools(pools)
    if cost is not None and limits.free_kib:
        most.append(cost.most_workers(FREE_SHARE * limits.free_kib))
    return max(1, min(most))


def cost_of_pools(pools: Sequence[PoolMeasured]) -> PoolCost | None:
    """What a pool takes once and each worker more; None before a pool was measured, or where it could not be read.

    A line through the largest two sizes: what few workers share looks like their own.
    """
    seen = [(each.workers, each.visits[0].memory) for each in sorted(pools, key=lambda each: each.workers)]
    known = [(workers, memory) for workers, memory in seen if memory is not None and memory.workers and not memory.unread]
    if not known:
        return None
    totals = [(workers, float(memory.pss_kib + (memory.master_kib or 0))) for workers, memory in known[-2:]]
    (first, least), (last, most) = totals[0], totals[-1]
    if last > first and most > least:
        return fit_cost([first, last], [least, most])
    return cost_of(known[-1][1])


# ---- the decision -----------------------------------------------------------------------------------


def decide(run: SizeRun) -> Recommended:
    """The recommendation. Raises ValueError where nothing was measured."""
    asked, limits = run.header.asked, run.last(LimitsRead)
    pools, rates = searched(run), saturated(run)
    if limits is None or not pools:
        raise ValueError("nothing was measured yet")
    models, knee = models_of(pools), knee_of(rates)
    caps = caps_of(asked, limits, pools)
    if caps.most == 0 and caps.tightest is not None:
        raise DynoError(f"not even one worker fits: {caps.tightest.words}", where=run.header.app, next_step=MORE)
    most = min(max(rates), caps.most) if caps.most is not None else max(rates)
    workers, reason = _workers(asked, models, knee, rates, most)
    if caps.most is not None and workers > caps.most:
        workers, reason = max(1, caps.most), "cap"
    tried = most_to_try(asked, limits, pools)
    if reason == "knee" and workers == max(rates) >= tried:
        # It still rose where the search had to end.
        reason = "cap"
    if (stopped := run.last(Stopped)) is not None and workers >= stopped.workers:
        workers, reason = max(rates), "cap"
    return recommendation(run, workers, reason)


def recommendation(run: SizeRun, workers: int, reason: Reason) -> Recommended:
    """What is said of so many workers: the pools beside them in the confirmation, response times as they are foretold."""
    asked, limits = run.header.asked, run.last(LimitsRead)
    pools, rates = searched(run), saturated(run)
    if limits is None or not pools:
        raise ValueError("nothing was measured yet")
    models, caps, tried = models_of(pools), caps_of(asked, limits, pools), most_to_try(asked, limits, pools)
    rate = asked.objective.rate_per_s or CHECK_SHARE * rate_at(rates, workers)
    foretold = foretell(models, rate, workers, seed=asked.seed)
    host = run.last(SizeHost)
    twice = 2 * len(host.host.measured_cores) if host is not None else 2
    own = run.header.own_workers
    wanted = (*neighbours(workers, most=tried), twice, *((own,) if own is not None else ()))
    beside = [each for each in wanted if each != workers and each <= tried]
    known = foretold is not None and math.isfinite(foretold.p99_s)
    return Recommended(
        workers=workers,
        reason=reason,
        share=rate_at(rates, workers) / max(rates.values()),
        cap=caps.most,
        cap_by=caps.tightest.key if caps.tightest else "",
        knee=knee_of(rates),
        beside=tuple(dict.fromkeys(beside)),
        rate_per_s=rate,
        predicted_p99_ms=foretold.p99_s * 1e3 if foretold is not None and known else None,
        predicted_low_ms=foretold.p99_low_s * 1e3 if foretold is not None and known else None,
        predicted_high_ms=foretold.p99_high_s * 1e3 if foretold is not None and known and math.isfinite(foretold.p99_high_s) else None,
    )


def revise(run: SizeRun) -> Recommended | None:
    """Another recommendation, where the confirmation shows that the search was misled; None where it stands, or was revised already.

    A larger pool takes its place where the recommended one certainly has less than 97 % of that one's throughput, and a smaller one where
    that certainly has 97 % of the recommended one's.
    """
    decided = run.last(Recommended)
    if decided is None or decided.reason != "knee" or len(run.all_of(Recommended)) > 1:
        return None
    confidence = run.header.asked.confidence
    larger = [each for each in decided.beside if each > decided.workers]
    smaller = [each for each in decided.beside if each < decided.workers]
    better = [each for each in larger if _surely(over(run, decided.workers, each, confidence), below=NEAR)]
    enough = [each for each in smaller if _surely(over(run, each, decided.workers, confidence), above=NEAR)]
    if better:
        return recommendation(run, max(better), "knee")
    return recommendation(run, min(enough), "knee") if enough else None


def _surely(figure: Figure | None, *, below: float = math.inf, above: float = 0.0) -> bool:
    if figure is None or figure.low is None or figure.high is None:
        return False
    return figure.high < below and figure.low >= above


def over(run: SizeRun, one: int, other: int, confidence: float) -> Figure | None:
    """The throughput of one pool over another's in the confirmation, paired by round; rounds in which a visit does not count are left
    out."""
    by_round: dict[int, dict[int, Visit]] = {}
    for each in run.all_of(PoolMeasured):
        if each.stage == "confirm":
            by_round.setdefault(each.round, {})[each.workers] = each.visits[0]
    ratios = [
        throughput_of(seen[one]) / throughput_of(seen[other])
        for seen in by_round.values()
        if one in seen and other in seen and len(counting((seen[one], seen[other]))) == 2 and seen[other].valid
    ]
    return figure_of(ratios, confidence)


def _workers(asked: Asked, models: Models, knee: int, rates: Mapping[int, float], most: int) -> tuple[int, Reason]:
    """Workers and the reason."""
    objective = asked.objective
    if objective.rate_per_s is None:
        return knee, "knee"
    if objective.p99_s is not None:
        found = smallest_pool(
            models.curve, models.work, Offered(objective.rate_per_s), objective.p99_s, most, idle=models.idle, seed=asked.seed
        )
        if found.found is not None:
            return found.found.workers, "objective"
        return (found.closest.workers, "unsure") if found.outcome == "unsure" and found.closest is not None else (knee, "nothing")
    for workers in range(1, most + 1):
        queue = open_queue(models.curve.rates_per_s(workers, models.idle), objective.rate_per_s)
        if queue.stable and queue.waits <= FEW_WAIT:
            return workers, "objective"
    return knee, "nothing"


def response_curve(run: SizeRun) -> Foretold:
    """Response times of the recommended pool at shares of its throughput; quick simulations, without the rates' own uncertainty."""
    decided = run.all_of(Recommended)[-1]
    models = models_of(searched(run))
    rates = models.curve.rates_per_s(decided.workers, models.idle)
    points = []
    for share in SHARES:
        rate = share * float(rates[-1])
        found = assess(models.curve, models.work, Offered(rate), decided.workers, idle=models.idle, seed=run.header.asked.seed, quick=True)
        check = mgc(rates, models.work, rate)
        if found.requests and math.isfinite(found.p99_s):
            points.append(ForetoldAt(rate, found.p99_s * 1e3, check.p99_s * 1e3 if math.isfinite(check.p99_s) else None, found.waits))
    return Foretold(decided.workers, tuple(points))


def foretell(models: Models, rate_per_s: float, workers: int, *, seed: int) -> Assessment | None:
    """Response times of a pool at a rate; None where more arrives than it can answer."""
    found = assess(models.curve, models.work, Offered(rate_per_s), workers, idle=models.idle, seed=seed)
    return found if found.requests else None


def rate_at(rates: Mapping[int, float], workers: int) -> float:
    """Requests per second of a pool: as measured, else on the line between its neighbours."""
    if workers in rates:
        return rates[workers]
    below, above = (
        max((each for each in rates if each < workers), default=None),
        min((each for each in rates if each > workers), default=None),
    )
    if below is None or above is None:
        return rates[min(rates, key=lambda each: abs(each - workers))]
    part = (workers - below) / (above - below)
    return rates[below] + part * (rates[above] - rates[below])
