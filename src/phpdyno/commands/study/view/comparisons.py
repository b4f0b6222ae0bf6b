"""Figures of one comparison of a study, arm by arm, from its journal's records. Pure."""

import math
from collections.abc import Sequence

from msgspec.structs import replace

from phpdyno.commands.compare.view.calibrations import aa_row
from phpdyno.commands.compare.view.carry_over import checked
from phpdyno.commands.compare.view.costs import arm_cost, ratio_of, valid_requests
from phpdyno.commands.compare.view.gather import GatheredRecords
from phpdyno.commands.compare.view.rows import row_of
from phpdyno.commands.compare.view.shape import Ratio, Row
from phpdyno.commands.study.view.shape import ArmFigures, ComparisonFigures
from phpdyno.journal.study import StudyPart
from phpdyno.model.observation import Cost, Observation
from phpdyno.model.plan import Plan
from phpdyno.model.runs.study import Study, StudyComparison
from phpdyno.stats.comparison.sequence import least_blocks


def comparison_figures(study: Study, wanted: StudyComparison, part: StudyPart, gathered: GatheredRecords | None) -> ComparisonFigures:
    """The figures of a comparison; without any arm while there is no plan."""
    plan = gathered.plan if gathered else None
    calibrated = gathered.calibrations.get(wanted.metric) if gathered else None
    loaded = wanted.metric == "throughput"
    return ComparisonFigures(
        name=wanted.name,
        app=wanted.app,
        app_version=plan.app_version if plan else "",
        metric=wanted.metric,
        state=part.state,
        detail=part.detail,
        control=wanted.control,
        arms=_arms(study, wanted, gathered) if gathered else (),
        workers=study.load.workers if loaded else 1,
        concurrency=study.load.concurrency if loaded else 1,
        slot_requests=calibrated.slot_requests if calibrated else None,
        aa=aa_row(plan, calibrated) if plan and calibrated else None,
        slot_reason=wanted.slot_reason,
        settle=wanted.settle,
        confidence=study.confidence,
        margin=wanted.margin,
        elapsed_s=gathered.elapsed_s if gathered else 0.0,
        blocks_excluded=sum(1 for seen in gathered.seen if seen.observation.excluded) if gathered else 0,
    )


def _arms(study: Study, wanted: StudyComparison, gathered: GatheredRecords) -> tuple[ArmFigures, ...]:
    rows = {arm.name: row_of(gathered, arm) for arm in gathered.plan.treatments}
    treated = [_treated(study, wanted, gathered, name, rows.get(study.treatment_spec(wanted, name))) for name in wanted.treatments]
    return (_control(study, wanted, gathered), *(each for each in treated if each is not None))


def _control(study: Study, wanted: StudyComparison, gathered: GatheredRecords) -> ArmFigures:
    """The control over all blocks that count, its slots beside every treatment taken together."""
    blocks: dict[int, list[Cost]] = {}
    for seen in gathered.seen:
        if not seen.observation.excluded:
            blocks.setdefault(seen.observation.block, []).append(seen.observation.control)
    costs = [cost for held in blocks.values() for cost in held]
    plan, mixture = gathered.plan, gathered.mixture(wanted.metric)
    return ArmFigures(
        arm=wanted.control,
        levels=tuple(study.arm(wanted.control).levels.values()),
        verdict="control",
        reason="",
        per_s=_per_s(list(blocks.values()), plan, mixture),
        ratio=None,
        cpu_ratio=None,
        cost=arm_cost(costs),
        host_busy=_host_busy(costs, gathered),
        blocks=len(blocks),
        blocks_needed=least_blocks(plan.alpha, mixture),
        warnings=(),
        carry_over=None,
    )


def _treated(study: Study, wanted: StudyComparison, gathered: GatheredRecords, name: str, row: Row | None) -> ArmFigures | None:
    if row is None:
        return None
    row, check = checked(gathered, row)
    spec = study.treatment_spec(wanted, name)
    counted = [seen.observation for seen in gathered.seen if seen.observation.treatment == spec and not seen.observation.excluded]
    counted = [] if row.kind == "invalid" else counted
    plan, mixture = gathered.plan, gathered.mixture(wanted.metric)
    costs = [each.treated for each in counted]
    known = row.ratio is not None and row.low is not None and row.high is not None
    ratio = Ratio(row.ratio or 0.0, row.low or 0.0, row.high or 0.0) if known else None
    return ArmFigures(
        arm=name,
        levels=tuple(study.arm(name).levels.values()),
        verdict=f"{row.kind}, {row.relevance}" if row.relevance else row.kind,
        reason=row.reason,
        per_s=_per_s([[cost] for cost in costs], plan, mixture),
        ratio=ratio,
        cpu_ratio=ratio if wanted.metric == "cpu" else _cpu_ratio(counted, plan, mixture),
        cost=arm_cost(costs),
        host_busy=_host_busy(costs, gathered),
        blocks=row.blocks,
        blocks_needed=row.blocks_needed,
        warnings=row.warnings,
        carry_over=None if check is None else replace(check, treatment=name),
    )


def _per_s(blocks: Sequence[Sequence[Cost]], plan: Plan, mixture: float) -> Ratio | None:
    """Valid completions per second, one value per block; None while the interval is infinite."""
    logs = []
    for costs in blocks:
        valid, drive_ns = sum(valid_requests(cost) for cost in costs), sum(cost.drive_ns for cost in costs)
        if valid > 0 and drive_ns > 0:
            logs.append(math.log(1e9 * valid / drive_ns))
    return ratio_of(logs, plan.alpha, mixture)


def _cpu_ratio(observations: Sequence[Observation], plan: Plan, mixture: float) -> Ratio | None:
    """CPU of PHP per valid request, control / treatment: what a comparison by throughput shows of
    it besides."""
    pairs = [(_cpu(each.control), _cpu(each.treated)) for each in observations]
    return ratio_of([math.log(control / treated) for control, treated in pairs if control > 0 and treated > 0], plan.alpha, mixture)


def _cpu(cost: Cost) -> float:
    valid = valid_requests(cost)
    return cost.php_cpu_ns / valid if valid > 0 else 0.0


def _host_busy(costs: Sequence[Cost], gathered: GatheredRecords) -> float | None:
    """Share of all cores that were busy over the slots; None where it was not recorded."""
    cores = gathered.host.cores if gathered.host else 0
    wall_ns = sum(cost.wall_ns for cost in costs)
    return sum(cost.host_cpu_ns for cost in costs) / (wall_ns * cores) if wall_ns and cores else None
