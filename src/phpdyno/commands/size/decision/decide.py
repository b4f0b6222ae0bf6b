"""From what was measured to the number of workers. Pure."""

import math
from collections.abc import Callable, Mapping

from msgspec import Struct

from phpdyno.commands.size.decision.caps import caps_of, most_to_try
from phpdyno.commands.size.decision.confirmation import over, p99_of
from phpdyno.commands.size.decision.models import Models, foretell, models_of, rate_at, saturated, searched
from phpdyno.commands.size.decision.search import NEAR, knee_of, neighbours
from phpdyno.commands.size.record import (
    Foretold,
    ForetoldAt,
    LimitsRead,
    PoolMeasured,
    Reason,
    Recommended,
    SizeHost,
    SizeRun,
    Stopped,
    TargetMeasured,
    cores_of,
)
from phpdyno.commands.size.request import SizeRequest
from phpdyno.errors import DynoError
from phpdyno.stats.capacity.caps import Caps
from phpdyno.stats.capacity.queueing.flow_equivalent import open_queue
from phpdyno.stats.capacity.queueing.mgc import mgc
from phpdyno.stats.capacity.queueing.offered import Offered
from phpdyno.stats.capacity.queueing.simulation import Assessment, assess
from phpdyno.stats.capacity.search import smallest_pool
from phpdyno.stats.visits import VisitFigure

FEW_WAIT = 0.05
"""Where a rate and no response time is asked for: so few requests wait for a worker."""
CHECK_SHARE = 0.7
"""Of a pool's throughput: the load at which response times are foretold and held against measured
ones where no rate was asked for."""
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
"""Of a pool's throughput: where its response times are foretold."""
MORE = "give the pool more than that"
RISES = 1.02
"""A pool that does so much more than one of half its size has not reached the knee for certain."""

Tell = Callable[[str], None]


def decide(run: SizeRun, tell: Tell = lambda _: None) -> Recommended:
    """The recommendation; `tell` hears of each size that is looked at. Raises DynoError where
    nothing was measured, or nothing fits."""
    asked, (pools, rates, caps, tried) = run.header.asked, _measured(run)
    if caps.most == 0 and caps.tightest is not None:
        raise DynoError(f"not even one worker fits: {caps.tightest.words}", where=run.header.app, next_step=MORE)
    models, knee, most = models_of(pools), knee_of(rates), min(max(rates), tried)
    workers, reason = _workers(_Search(asked, models, rates, min(knee, most), most), tell)
    if reason in {"knee", "nothing"} and workers == most and (knee > most or _still_rises(rates, most)) and most >= tried:
        # The search had to end while more workers still brought more.
        reason = "cap"
    return recommendation(run, workers, reason)


def _still_rises(rates: Mapping[int, float], workers: int) -> bool:
    """Whether the largest pool does certainly more than one of half its size."""
    return workers > 1 and rate_at(rates, workers) > RISES * rate_at(rates, max(1, workers // 2))


def recommendation(run: SizeRun, workers: int, reason: Reason) -> Recommended:
    """Say of so many workers which pools stand beside them in the confirmation, and how fast they
    will answer. Raises DynoError."""
    asked, (pools, rates, caps, tried) = run.header.asked, _measured(run)
    rate = asked.objective.rate_per_s or CHECK_SHARE * rate_at(rates, workers)
    foretold = foretell(models_of(pools), rate, workers, seed=asked.seed)
    objective_s = asked.objective.p99_s
    if reason == "objective" and objective_s is not None and (foretold is None or foretold.high_s > objective_s):
        reason = "unsure"
    host = run.last(SizeHost)
    own = run.header.own_workers
    wanted = (*neighbours(workers, most=tried), 2 * cores_of(host.host) if host is not None else 2, *((own,) if own is not None else ()))
    return Recommended(
        workers=workers,
        reason=reason,
        share=rate_at(rates, workers) / max(rates.values()),
        cap=caps.most,
        cap_by=caps.tightest.key if caps.tightest else "",
        knee=knee_of(rates),
        beside=tuple(dict.fromkeys(each for each in wanted if each != workers and each <= tried)),
        rate_per_s=rate,
        predicted_p99_ms=foretold.p99_s * 1e3 if foretold is not None else None,
        predicted_low_ms=foretold.low_s * 1e3 if foretold is not None else None,
        predicted_high_ms=foretold.high_s * 1e3 if foretold is not None and math.isfinite(foretold.high_s) else None,
    )


def revise(run: SizeRun) -> Recommended | None:
    """Another recommendation, where the confirmation shows that the first was wrong; None where it
    stands, or was revised already.

    By throughput: the smallest larger pool of which the recommended one has less than 97 % (a
    larger pool costs little, and is confirmed anew), or a smaller one that certainly has 97 % of
    it. By an objective that was missed: the smallest larger pool that met it, else the next larger
    one.
    """
    decided = run.last(Recommended)
    if decided is None or len(run.all_of(Recommended)) > 1:
        return None
    larger = sorted(each for each in decided.beside if each > decided.workers)
    if decided.reason in {"objective", "unsure"}:
        return _by_objective(run, decided, larger)
    if decided.reason != "knee":
        return None
    better = [each for each in larger if (seen := over(run, decided.workers, each)) is not None and seen.value < NEAR]
    enough = [each for each in decided.beside if each < decided.workers and _surely(over(run, each, decided.workers), above=NEAR)]
    if better:
        return recommendation(run, min(better), "knee")
    return recommendation(run, min(enough), "knee") if enough else None


def _by_objective(run: SizeRun, decided: Recommended, larger: list[int]) -> Recommended | None:
    objective_s = run.header.asked.objective.p99_s
    seen = p99_of(run, decided.workers)
    if objective_s is None or seen is None or seen.value <= objective_s * 1e9 or not larger:
        return None
    held = [each for each in larger if (found := p99_of(run, each)) is not None and found.value <= objective_s * 1e9]
    return recommendation(run, min(held) if held else larger[0], "unsure")


def _surely(figure: VisitFigure | None, *, above: float) -> bool:
    """Whether all of an interval lies above a share."""
    return figure is not None and figure.low is not None and figure.low >= above


def _measured(run: SizeRun) -> tuple[tuple[PoolMeasured, ...], dict[int, float], Caps, int]:
    """The pools of the search, their throughput by workers, what the limits allow, and how many
    workers may be tried. Raises DynoError."""
    asked, limits, pools = run.header.asked, run.last(LimitsRead), searched(run)
    if limits is None or not pools:
        raise DynoError("no pool was measured", where=run.header.app, next_step="start a new run")
    targets = run.all_of(TargetMeasured)
    return pools, saturated(run), caps_of(asked, limits, pools, targets), most_to_try(asked, limits, pools, run.all_of(Stopped), targets)


class _Search(Struct, frozen=True):
    """What a search for the number of workers starts from; `most` may be recommended."""

    asked: SizeRequest
    models: Models
    rates: Mapping[int, float]
    knee: int
    most: int


def _workers(search: _Search, tell: Tell) -> tuple[int, Reason]:
    """Workers and the reason."""
    objective, models = search.asked.objective, search.models
    if objective.rate_per_s is None:
        return search.knee, "knee"
    if objective.p99_s is None:
        return _for_rate(models, objective.rate_per_s, search.knee, search.rates)

    def looked(found: Assessment) -> None:
        tell(f"response times with {found.workers} workers")

    offered, seed = Offered(objective.rate_per_s), search.asked.seed
    found = smallest_pool(models.curve, models.work, offered, objective.p99_s, search.most, idle=models.idle, seed=seed, tell=looked)
    if found.found is not None:
        return found.found.workers, "objective"
    return (found.closest.workers, "unsure") if found.outcome == "unsure" and found.closest is not None else (search.knee, "nothing")


def _for_rate(models: Models, rate_per_s: float, knee: int, rates: Mapping[int, float]) -> tuple[int, Reason]:
    """The smallest pool in which few requests wait for a worker, and never more than the knee: on
    full cores those beyond wait as well, for a core."""
    for workers in range(1, knee):
        queue = open_queue(models.curve.rates_per_s(workers, models.idle), rate_per_s)
        if queue.stable and queue.waits <= FEW_WAIT:
            return workers, "objective"
    return knee, "objective" if rate_per_s < rates[min(rates, key=lambda each: abs(each - knee))] else "nothing"


def response_curve(run: SizeRun) -> Foretold:
    """Response times of the recommended pool at shares of its throughput; quick simulations,
    without the rates' own uncertainty."""
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
