"""From the record of a run to what it came to. Pure: no files, no clock."""

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from phpdyno.commands.measure.view.points import estimate, memory_row
from phpdyno.commands.measure.view.shape import Estimate
from phpdyno.commands.size import words
from phpdyno.commands.size.decision.caps import caps_of
from phpdyno.commands.size.decision.confirmation import failed_share, open_visits, over, p99_of, saturated_visits
from phpdyno.commands.size.decision.costs import target_costs
from phpdyno.commands.size.decision.formulas import formula_rows
from phpdyno.commands.size.decision.models import Models, models_of, saturated, searched, visit_at
from phpdyno.commands.size.decision.settings import pool_settings
from phpdyno.commands.size.found import (
    SCHEMA,
    ConfirmedRow,
    ForetoldRow,
    LimitRow,
    ManagerRow,
    PoolRow,
    RecommendedPool,
    SizeFound,
    Summary,
)
from phpdyno.commands.size.record import (
    Foretold,
    LimitsRead,
    ManagerMeasured,
    PoolMeasured,
    Recommended,
    SizeConcluded,
    SizeEnded,
    SizeHost,
    SizeRun,
    TargetMeasured,
    cores_of,
)
from phpdyno.commands.size.request import SizeRequest
from phpdyno.journal.records import ReachedFor
from phpdyno.model.plan import AppSource
from phpdyno.model.runs.sweep import Visit
from phpdyno.report import scope
from phpdyno.report.bottleneck import bottleneck_sentence
from phpdyno.report.reached import reach_view
from phpdyno.report.view_parts import EnvironmentRow, Outcome
from phpdyno.report.words import duration, percent
from phpdyno.stats.capacity.curve import Curve
from phpdyno.stats.capacity.queueing.flow_equivalent import open_queue
from phpdyno.stats.capacity.queueing.mgc import mgc
from phpdyno.stats.capacity.usl import LEAST_POINTS, fit_usl
from phpdyno.stats.visits import pooled_times, tally, throughput, throughput_of

WORST = "the same, each worker having served the heaviest target"
FAILED = 0.01
"""Share of requests without a valid answer, from which on a 99th percentile is that of no
answer."""
AGREES = 0.15
"""A foretold percentile this near to the measured one agrees with it."""


def found_of(run: SizeRun, name: str) -> SizeFound | None:
    """What a run came to by now; None before there is a recommendation."""
    decided, limits, host = run.last(Recommended), run.last(LimitsRead), run.last(SizeHost)
    if decided is None or limits is None or host is None:
        return None
    header, asked = run.header, run.header.asked
    foretold = run.last(Foretold)
    concluded, reached, end = run.last(SizeConcluded), run.last(ReachedFor), run.last(SizeEnded)
    confirmed = confirmed_rows(run, decided, cores_of(host.host))
    pools = searched(run)
    models = models_of(pools)
    recommended = _recommended(run, decided, confirmed, models)
    costs = target_costs(run.all_of(TargetMeasured))
    managers = tuple(map(_manager_row, run.all_of(ManagerMeasured)))
    limit = bottleneck_sentence(concluded.bottleneck) if concluded and concluded.bottleneck else ""
    found = SizeFound(
        schema=SCHEMA,
        run=name,
        title=f"{_app(run)}: how many workers",
        phpdyno=header.phpdyno,
        started=header.started,
        outcome=_outcome(run),
        outcome_detail=end.detail if end else "",
        elapsed_s=run.spent_s,
        app=_app(run),
        transport=asked.transport,
        targets=scope.target_rows(header.workload),
        cores=cores_of(host.host),
        confidence=asked.confidence,
        answer="",
        recommended=recommended,
        limit=limit,
        pools=tuple(map(_pool_row, pools)),
        confirmed=confirmed,
        idle=models.idle.words,
        summary=_summary(models.curve),
        foretold=tuple(
            ForetoldRow(rate_per_s=each.rate_per_s, p99_ms=each.p99_ms, mgc_p99_ms=each.mgc_p99_ms, waits=each.waits)
            for each in (foretold.points if foretold else ())
        ),
        costs=costs,
        limits=tuple(_limit_rows(asked, limits, pools, run.all_of(TargetMeasured))),
        managers=managers,
        formulas=formula_rows(run, confirmed, saturated(run)),
        pool=pool_settings(recommended, costs, managers, concluded, backlog=header.arm.settings.get("pool.listen.backlog")),
        sentences=(),
        environment=_environment(run, host),
        warnings=tuple(dict.fromkeys(warning for each in run.all_of(SizeHost) for warning in each.warnings)),
        reached=reach_view(reached) if reached else None,
        repeat=scope.repeat(header.argv, asked.seed, "size"),
    )
    return words.told(found, run)


# ---- the confirmation ---------------------------------------------------------------------------


def confirmed_rows(run: SizeRun, decided: Recommended, cores: int) -> tuple[ConfirmedRow, ...]:
    """Each pool of the confirmation, the recommended one first."""
    rows = []
    for workers in (decided.workers, *sorted(decided.beside)):
        visits = saturated_visits(run, workers)
        seen = tally(visits)
        row = ConfirmedRow(
            workers=workers,
            what=_what(workers, decided.workers, cores, run.header.own_workers),
            per_s=estimate(throughput(visits, run.header.asked.confidence)),
            over=estimate(over(run, decided.workers, workers)),
            p99_ms=estimate(p99_of(run, workers), 1e6),
            memory_kib=_memory(visits),
            failed=seen.requests - seen.valid,
            excluded=seen.visits - seen.counted,
            words="",
        )
        rows.append(row)
    return tuple(words.with_words(row, decided.workers) for row in rows)


def _what(workers: int, recommended: int, cores: int, own: int | None) -> str:
    named = [*(["yours"] if workers == own else []), *(["cores × 2"] if workers == 2 * cores else [])]
    if workers == recommended:
        return "recommended" + (f" ({', '.join(named)})" if named else "")
    return ", ".join(named) or ("smaller" if workers < recommended else "larger")


def _memory(visits: Sequence[Visit]) -> float | None:
    """KiB of the pool and its master, the median over visits."""
    seen = [each.memory.pss_kib + (each.memory.master_kib or 0) for each in visits if each.memory is not None and not each.memory.unread]
    return statistics.median(seen) if seen else None


def _recommended(run: SizeRun, decided: Recommended, confirmed: Sequence[ConfirmedRow], models: Models) -> RecommendedPool:
    asked, first = run.header.asked, confirmed[0]
    opened = open_visits(run, decided.workers)
    foretold = None
    if decided.predicted_p99_ms is not None:
        foretold = Estimate(decided.predicted_p99_ms, decided.predicted_low_ms, decided.predicted_high_ms, 0)
    rates = models.curve.rates_per_s(decided.workers, models.idle)
    queue, check = open_queue(rates, decided.rate_per_s), mgc(rates, models.work, decided.rate_per_s)
    return RecommendedPool(
        workers=decided.workers,
        reason=decided.reason,
        share=_share(confirmed),
        per_s=first.per_s,
        rate_per_s=decided.rate_per_s,
        p99_ms=first.p99_ms,
        predicted_p99_ms=foretold,
        within=_agree(first.p99_ms, foretold),
        mgc_p99_ms=check.p99_s * 1e3 if math.isfinite(check.p99_s) else None,
        holds_to_per_s=_holds_to(run.last(Foretold), asked.objective.p99_s),
        waits=queue.waits if queue.stable else None,
        memory_kib=first.memory_kib,
        failed=failed_share(opened),
        meets=_meets(asked, first.p99_ms, failed_share(opened)),
    )


def _meets(asked: SizeRequest, measured: Estimate | None, failed: float) -> bool | None:
    """Whether the objective held when it was measured: an answer that never comes is no fast
    one."""
    objective = asked.objective
    if objective.p99_s is None or objective.rate_per_s is None or measured is None:
        return None
    return (measured.high if measured.high is not None else measured.value) <= objective.p99_s * 1e3 and failed <= FAILED


def _holds_to(foretold: Foretold | None, p99_s: float | None) -> float | None:
    """The highest rate up to which all that was foretold keeps to a 99th percentile; 0 where not
    even the lowest does."""
    if foretold is None or p99_s is None:
        return None
    kept = list(itertools.takewhile(lambda each: each.p99_ms <= p99_s * 1e3, foretold.points))
    return kept[-1].rate_per_s if kept else 0.0


def _share(confirmed: Sequence[ConfirmedRow]) -> Estimate | None:
    """The recommended pool's throughput over that of the pool which did most beside it, by
    round."""
    others = [row for row in confirmed[1:] if row.over is not None]
    return min(others, key=lambda row: row.over.value if row.over else math.inf).over if others else None


def _agree(measured: Estimate | None, foretold: Estimate | None) -> bool | None:
    """Within 15 %, or the intervals overlap; None where what was foretold has no upper end, which
    would agree with anything."""
    if measured is None or foretold is None:
        return None
    if abs(foretold.value / measured.value - 1.0) <= AGREES:
        return True
    if foretold.high is None:
        return None
    low, high = measured.low or measured.value, measured.high or measured.value
    return (foretold.low or foretold.value) <= high and low <= foretold.high


# ---- rows ---------------------------------------------------------------------------------------


def _pool_row(pool: PoolMeasured) -> PoolRow:
    full = pool.visits[0]
    alone, half = visit_at(pool, pool.workers), visit_at(pool, pool.workers // 2)
    return PoolRow(
        workers=pool.workers,
        in_flight=full.point.concurrency,
        per_s=throughput_of(full),
        alone_per_s=throughput_of(alone) if alone else None,
        half_per_s=throughput_of(half) if half and pool.workers > 1 else None,
        cpu_ms=full.cpu.php_ns / max(1, full.valid) / 1e6,
        failed=full.requests - full.valid,
        excluded=full.excluded,
        memory=memory_row([full.memory]) if full.memory is not None else None,
    )


def _manager_row(each: ManagerMeasured) -> ManagerRow:
    times, queue = pooled_times_of(each.burst), each.burst.queue
    most = max((count for _, count in each.workers), default=0)
    # Until all were there: afterwards a pool shrinks again.
    spell = next((at for at, count in each.workers if count == most), 0.0) - (each.workers[0][0] if each.workers else 0.0)
    return ManagerRow(
        manager=each.manager,
        first_ms=each.first_ms,
        p50_ms=times[0],
        p99_ms=times[1],
        rate_per_s=each.burst.rate_per_s,
        requests=each.burst.requests,
        failed=each.burst.requests - each.burst.valid,
        failures=dict(each.burst.kinds),
        queue_most=queue.most if queue else None,
        queue_full=queue.full if queue else None,
        forks=each.forks,
        forks_per_s=each.forks / spell if each.forks > 1 and spell > 0.0 else None,
        idle_workers=each.idle_workers,
        idle_kib=each.idle_pss_kib,
        workers=each.workers,
    )


def pooled_times_of(visit: Visit) -> tuple[float, float]:
    """Median and 99th percentile of a visit's times in milliseconds, whether the visit counts or
    not."""
    held = pooled_times([replace(visit, excluded="")])
    return float(held.percentile(50.0)) / 1e6, float(held.percentile(99.0)) / 1e6


def _limit_rows(
    asked: SizeRequest, limits: LimitsRead, pools: Sequence[PoolMeasured], targets: Sequence[TargetMeasured]
) -> Iterator[LimitRow]:
    workers = {cap.key: cap.workers for cap in caps_of(asked, limits, pools, targets).caps}
    yield LimitRow(kind="asked", value=asked.most, workers=workers["asked"], source="--most")
    for limit in limits.limits:
        key = "max_connections" if limit.kind == "connections" else limit.kind
        yield LimitRow(
            kind=key,
            value=limit.value,
            workers=next((each for name, each in workers.items() if name == key), None) if limit.value is not None else None,
            source=limit.unread or limit.source,
        )
        if limit.kind == "memory" and "memory_worst" in workers:
            yield LimitRow(kind="memory_worst", value=limit.value, workers=workers["memory_worst"], source=WORST)


def _summary(curve: Curve) -> Summary | None:
    if len(curve.points) <= LEAST_POINTS:
        return None
    law = fit_usl([point.busy for point in curve.points], [point.rate_per_s for point in curve.points])
    return Summary(per_s=law.rate_per_s, contention=law.sigma, coherence=law.kappa, peak=law.peak, error=law.worst)


def _environment(run: SizeRun, host: SizeHost) -> tuple[EnvironmentRow, ...]:
    asked = run.header.asked
    decided = f"confidence {percent(asked.confidence)} for each figure by itself, budget {duration(asked.budget_s)}, seed {asked.seed}"
    return (*scope.where_measured(host.host, (run.header.arm,)), EnvironmentRow("decided beforehand", decided))


def _outcome(run: SizeRun) -> Outcome:
    ends = run.all_of(SizeEnded)
    return ends[-1].outcome if len(ends) >= len(run.all_of(SizeHost)) and ends else "unfinished"


def _app(run: SizeRun) -> str:
    return f"{run.header.app} {run.header.app_version}".strip() if run.header.asked.source == AppSource() else run.header.app
