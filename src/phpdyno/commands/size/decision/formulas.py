"""Other people's numbers of workers beside ours, and what each would have cost here. Pure."""

from collections.abc import Mapping, Sequence
from typing import Literal

from phpdyno.commands.size.decision.models import models_of, rate_at, searched, visit_at
from phpdyno.commands.size.found import ConfirmedRow, FormulaRow
from phpdyno.commands.size.record import LimitsRead, SizeHost, SizeRun, TargetMeasured, cores_of
from phpdyno.commands.size.words import part
from phpdyno.stats.capacity.formulas import Facts, Recommendation, recommendations

SAME = 0.02
"""A cost of less than 2 % is none that a search can tell."""


def formula_rows(run: SizeRun, confirmed: Sequence[ConfirmedRow], rates: Mapping[int, float]) -> tuple[FormulaRow, ...]:
    """One for each formula; what it costs is throughput against the recommended pool, the first of
    `confirmed`."""
    return tuple(_row(each, confirmed, rates) for each in recommendations(facts_of(run)))


def facts_of(run: SizeRun) -> Facts:
    """What the formulas are made of, as it was measured. Waiting is what an answer takes, alone,
    beyond PHP's own CPU time."""
    host, limits, targets, pools = run.last(SizeHost), run.last(LimitsRead), run.all_of(TargetMeasured), searched(run)
    memory = next((each.value for each in limits.limits if each.kind == "memory"), None) if limits else None
    largest = pools[-1].visits[0].memory if pools else None
    alone = visit_at(pools[0], 1) if pools else None
    service = wait = None
    if alone is not None and alone.valid:
        service = alone.cpu.php_ns / alone.valid / 1e9
        wait = max(0.0, models_of(pools).work.mean_s - service)
    limit = next((each.php_limit_kib for each in targets if each.php_limit_kib is not None), None)
    return Facts(
        cores=float(cores_of(host.host)) if host else None,
        wait_s=wait,
        service_s=service,
        ram_kib=float(memory) if memory is not None else None,
        reserve_kib=float(sum(limits.others.values())) if limits else 0.0,
        rss_kib=largest.rss_median_kib if largest else None,
        pss_kib=largest.pss_median_kib if largest else None,
        request_kib=float(max((each.steps[-1].private_kib for each in targets), default=0)) or None,
        memory_limit_kib=float(limit) if limit is not None else None,
    )


def _row(each: Recommendation, confirmed: Sequence[ConfirmedRow], rates: Mapping[int, float]) -> FormulaRow:
    if each.workers is None:
        return FormulaRow(name=each.name, formula=each.formula, workers=None, cost=None, how="", words=each.why_not)
    cost, how = _cost(each.workers, confirmed, rates)
    return FormulaRow(name=each.name, formula=each.formula, workers=each.workers, cost=cost, how=how, words=_words(cost, how, max(rates)))


How = Literal["confirmed", "searched", "interpolated", "beyond", ""]


def _cost(workers: int, confirmed: Sequence[ConfirmedRow], rates: Mapping[int, float]) -> tuple[float | None, How]:
    if not confirmed:
        return None, ""
    if workers == confirmed[0].workers:
        return 0.0, "confirmed"
    for row in confirmed[1:]:
        if row.workers == workers and row.over is not None:
            return 1.0 - 1.0 / row.over.value, "confirmed"
    ours = rate_at(rates, confirmed[0].workers)
    if workers > max(rates):
        return None, "beyond"
    return 1.0 - rate_at(rates, workers) / ours, "searched" if workers in rates else "interpolated"


def _words(cost: float | None, how: How, largest: int) -> str:
    if cost is None:
        return f"more than the {largest} workers that were measured"
    if abs(cost) < SAME:
        return "the same throughput"
    told = f"{part(abs(cost))} {'less' if cost > 0.0 else 'more'} throughput"
    return f"{told} (between two measured sizes)" if how == "interpolated" else told
