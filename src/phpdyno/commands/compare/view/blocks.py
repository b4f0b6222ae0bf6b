"""The blocks one by one: observations, the control's own cost, the covariates, and what was left
out."""

from collections.abc import Iterable
from typing import get_args

from phpdyno.commands.compare.view.costs import requests_per_s, valid_requests
from phpdyno.commands.compare.view.gather import GatheredRecords, SeenBlock
from phpdyno.commands.compare.view.measuring import BlockPoint, ControlPoint, ExclusionRow, NoisePoint
from phpdyno.commands.compare.view.shape import Row
from phpdyno.experiment.comparison.state import DROPPED, FAILED
from phpdyno.model.plan import Metric, Plan

_NS_PER_MS = 1e6
LOSSES = frozenset({FAILED, DROPPED, "invalid"})
"""Kinds of incidents for which a block has no observation of an arm."""
_LAG_RECORDED = 2
"""Schema from which on journals hold the generator's lag."""


def block_points(gathered: GatheredRecords, rows: Iterable[Row]) -> tuple[BlockPoint, ...]:
    """Every observation of the treatments that are not invalid."""
    shown = {row.name for row in rows if row.kind != "invalid"}
    return tuple(
        BlockPoint(
            treatment=each.treatment,
            block=each.block,
            at_s=seen.at_s,
            log_ratio=each.log_ratio,
            pairs=each.pairs,
            steal_fraction=each.steal_fraction,
            excluded=each.excluded,
        )
        for seen in gathered.seen
        if (each := seen.observation).treatment in shown
    )


def exclusions(gathered: GatheredRecords) -> tuple[ExclusionRow, ...]:
    """Every observation that does not count, those of invalid treatments included."""
    return tuple(ExclusionRow(each.block, each.treatment, each.excluded) for seen in gathered.seen if (each := seen.observation).excluded)


def dropped(gathered: GatheredRecords, name: str) -> tuple[str, ...]:
    """Every block that was begun for a treatment and has no observation of it: `block 3: why`."""
    observed = {seen.observation.block for seen in gathered.seen if seen.observation.treatment == name}
    begun = [each.block for each in gathered.begun if name in each.treatments]
    told = []
    for turn, block in enumerate(begun):
        if block in observed and block not in begun[turn + 1 :]:
            continue
        told.append(f"block {block + 1}: {_why_dropped(gathered, name, block, again=block in begun[turn + 1 :])}")
    return tuple(told)


def _why_dropped(gathered: GatheredRecords, name: str, block: int, *, again: bool) -> str:
    control = gathered.plan.control_of(name).name
    mine = [each for each in gathered.incidents if each.block == block and each.arm in {name, control} and each.kind in LOSSES]
    if mine:
        of = "" if mine[-1].arm == name else " (the control's)"
        return f"{mine[-1].detail}{of}"
    if again:
        return "interrupted, and begun again"
    return "the run ended before it did" if block == max(each.block for each in gathered.begun) else "no reason was recorded"


def control_points(gathered: GatheredRecords) -> tuple[ControlPoint, ...]:
    """One point per block and metric: the control's slots of all its treatments together."""
    points = []
    for metric, block, held in _grouped(gathered):
        costs = [seen.observation.control for seen in held]
        valid = sum(valid_requests(cost) for cost in costs)
        if valid > 0:
            spent_ms = sum(cost.php_cpu_ns for cost in costs) / valid / _NS_PER_MS
            excluded = any(seen.observation.excluded for seen in held)
            points.append(ControlPoint(block, held[-1].at_s, spent_ms, excluded, metric, requests_per_s(costs)))
    return tuple(points)


def noise_points(gathered: GatheredRecords) -> tuple[NoisePoint, ...]:
    """The covariates of each block, the worst of its treatments."""
    lag_known = gathered.header.schema >= _LAG_RECORDED
    points = []
    for metric, block, held in _grouped(gathered):
        seen = [each.observation for each in held]
        lag = max(each.lag_fraction for each in seen) if lag_known else None
        excluded = any(each.excluded for each in seen)
        points.append(NoisePoint(block, held[-1].at_s, metric, max(each.steal_fraction for each in seen), lag, excluded))
    return tuple(points)


def _grouped(gathered: GatheredRecords) -> list[tuple[Metric, int, list[SeenBlock]]]:
    """The observations of each block by metric: treatments of one metric share a control."""
    groups: dict[tuple[Metric, int], list[SeenBlock]] = {}
    for seen in gathered.seen:
        groups.setdefault((_metric(gathered.plan, seen), seen.observation.block), []).append(seen)
    order = {metric: place for place, metric in enumerate(get_args(Metric))}
    return [(metric, block, held) for (metric, block), held in sorted(groups.items(), key=lambda item: order[item[0][0]])]


def _metric(plan: Plan, seen: SeenBlock) -> Metric:
    return plan.metric_of(seen.observation.treatment)
