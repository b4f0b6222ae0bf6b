"""From the record of a sweep to the view that every report shows. Pure: no files, no clock."""

from collections.abc import Sequence

from msgspec.structs import replace

from phpdyno.commands.measure.view.points import all_reached, children_reached, estimate, most_active, point_row
from phpdyno.commands.measure.view.shape import SCHEMA, ArmRow, CrossRow, Estimate, PointRow, SweepView, VisitRow
from phpdyno.commands.measure.view.words import arm_sentence
from phpdyno.experiment.sweep.limits import limit_of
from phpdyno.journal.sweep import Sweep
from phpdyno.model.arm import Arm
from phpdyno.model.arrival import Arrivals
from phpdyno.model.facts import HostFacts
from phpdyno.model.runs.sweep import SweepPlan, Visit
from phpdyno.report import scope
from phpdyno.report.reached import reach_view
from phpdyno.report.view_parts import EnvironmentRow, Outcome
from phpdyno.report.words import duration, percent
from phpdyno.server_files.php import most_workers
from phpdyno.stats.visits import figure_of, throughput_of, visits_of

NEAR = 0.95
"""Of the highest throughput: from here on more requests in flight bring little."""
ARRIVALS: dict[Arrivals, str] = {
    "poisson": "independent (Poisson) arrivals",
    "constant": "arrivals at a constant rate",
    "ramp": "Poisson arrivals at a rate that rises to three times its start",
    "burst": "Poisson arrivals, a quarter of the time in four bursts at three times the mean rate,",
}


def sweep_view(sweep: Sweep, run_name: str) -> SweepView:
    """The view of one sweep."""
    header, plan = sweep.header, sweep.plan
    host = sweep.hosts[-1].host if sweep.hosts else None
    points = tuple(row for arm in plan.arms for row in _points(sweep, arm, host))
    arms = tuple(_arm_row(plan, arm, sweep.visits, [row for row in points if row.arm == arm.name]) for arm in plan.arms)
    return SweepView(
        schema=SCHEMA,
        run=run_name,
        title=f"{_app(plan)}: throughput and times as more is asked",
        phpdyno=header.phpdyno,
        started=header.started,
        outcome=_outcome(sweep),
        outcome_detail=sweep.ends[-1].detail if sweep.ends and _outcome(sweep) != "unfinished" else "",
        elapsed_s=sweep.spent_s,
        app=plan.app,
        app_version=plan.app_version,
        workload=workload_words(plan),
        targets=scope.target_rows(plan.workload),
        transport=plan.transport,
        arms=arms,
        points=points,
        cross_checks=tuple(_cross(sweep, plan)),
        visits=tuple(_visit_row(visit, host) for visit in sweep.visits),
        rounds=sweep.rounds,
        confidence=plan.confidence,
        budget_s=sweep.budget_s,
        visit_s=plan.visit_s,
        seed=plan.seed,
        max_steal=plan.max_steal,
        max_lag=plan.max_lag,
        scope=scope.scope_of(_app(plan), plan.workload, plan.arms, host, plan.seed),
        host=scope.host_in_words(host),
        environment=_environment(sweep, host),
        warnings=tuple(dict.fromkeys([*(warning for each in sweep.hosts for warning in each.warnings), *sweep.noticed])),
        noticed=sweep.noticed,
        reached=reach_view(sweep.reached) if sweep.reached else None,
        sentences=tuple(arm.sentence for arm in arms),
        repeat=scope.repeat(header.argv, plan.seed, "measure"),
    )


def best_of(points: Sequence[PointRow]) -> PointRow | None:
    """The closed-loop point with the highest throughput; the fewest in flight of equal ones."""
    measured = [row for row in points if row.loop == "closed" and row.per_s is not None]
    return max(measured, key=lambda row: (row.per_s.value if row.per_s else 0.0, -row.concurrency), default=None)


def knee_of(points: Sequence[PointRow], best: Estimate) -> int | None:
    """The fewest requests in flight whose throughput is near the best."""
    near = [row.concurrency for row in points if row.loop == "closed" and row.per_s is not None and row.per_s.value >= NEAR * best.value]
    return min(near, default=None)


def workload_words(plan: SweepPlan) -> str:
    """The requests, the loads and the way to PHP."""
    closed = ", ".join(str(point.concurrency) for point in plan.points if not point.open_share)
    shares = [percent(point.open_share) for point in plan.points if point.open_share]
    loads = [f"closed loop, {closed} at a time"] if closed else []
    loads += (
        [f"open loop, {ARRIVALS[plan.arrivals]} at {' and '.join(shares)} of saturation as one round of these showed it"] if shares else []
    )
    way = scope.transport_words(plan.transport, plan.arms, keep_conn=plan.keep_conn)
    return f"{scope.asked_words(plan.workload)}; {'; '.join(loads)}; {way}"


def _points(sweep: Sweep, arm: Arm, host: HostFacts | None) -> list[PointRow]:
    """The rows of one arm. What limits it is what was recorded; in a run that was cut short, what
    its visits say now."""
    plan = sweep.plan
    mine = [visit for visit in sweep.visits if visit.arm == arm.name]
    reached = children_reached(mine)
    ordered = sorted(plan.points, key=lambda point: (point.open_share > 0, point.open_share, point.concurrency))
    made = []
    for point in ordered:
        visits = visits_of(mine, arm.name, point)
        limit = sweep.limits.get((arm.name, point)) or (limit_of(plan, arm, visits, host) if host else None)
        made.append(point_row(plan, arm, point, visits, host=host, limit=limit, reached=reached.get(point)))
    return made


def _arm_row(plan: SweepPlan, arm: Arm, visits: Sequence[Visit], points: Sequence[PointRow]) -> ArmRow:
    mine = [visit for visit in visits if visit.arm == arm.name]
    best = best_of(points)
    knee = knee_of(points, best.per_s) if best is not None and best.per_s is not None else None
    largest = max((row.concurrency for row in points if row.loop == "closed" and row.per_s is not None), default=None)
    made = ArmRow(
        name=arm.name,
        settings=scope.arm_in_words(arm),
        workers=most_workers(arm),
        best=best.concurrency if best else None,
        best_per_s=best.per_s if best else None,
        knee=knee,
        rising=knee is not None and knee == largest,
        max_active=most_active(mine),
        children_reached=all_reached(mine),
        memory=next((row.memory for row in sorted(points, key=_heaviest) if row.memory is not None), None),
        sentence="",
    )
    return replace(made, sentence=arm_sentence(made, points, plan.confidence))


def _heaviest(row: PointRow) -> tuple[bool, int]:
    """Closed loops first, the largest first."""
    return row.loop == "open", -row.concurrency


def _cross(sweep: Sweep, plan: SweepPlan) -> list[CrossRow]:
    """The last word of each tool on an arm at a concurrency."""
    last = {(check.tool, check.arm, check.concurrency): check for check in sweep.cross_checks}
    return [
        CrossRow(
            tool=each.tool,
            arm=each.arm,
            concurrency=each.concurrency,
            ratio=estimate(figure_of(each.ratios, plan.confidence)),
            ratios=each.ratios,
            kept=each.kept,
            detail=each.detail,
        )
        for each in last.values()
    ]


def _visit_row(visit: Visit, host: HostFacts | None) -> VisitRow:
    return VisitRow(
        arm=visit.arm,
        concurrency=visit.point.concurrency,
        open_share=visit.point.open_share,
        round=visit.round,
        per_s=throughput_of(visit) if visit.drive_ns > 0 else None,
        steal_fraction=_steal(visit, host),
        lag_fraction=visit.lag_fraction,
        excluded=visit.excluded,
    )


def _steal(visit: Visit, host: HostFacts | None) -> float | None:
    """Steal as a share of the time of all cores over the visit."""
    cores = len({*host.measured_cores, *host.helper_cores}) if host else 0
    wall_ns = visit.cpu.wall_ns or visit.drive_ns
    return visit.cpu.stolen_ns / (wall_ns * cores) if visit.cpu.stolen_ns is not None and wall_ns and cores else None


def _environment(sweep: Sweep, host: HostFacts | None) -> tuple[EnvironmentRow, ...]:
    plan, threads = sweep.plan, max((visit.threads for visit in sweep.visits), default=1)
    grown = " (what three rounds need)" if sweep.budget_s > plan.budget_s else ""
    decided = (
        f"confidence {percent(plan.confidence)} for each figure by itself, visits of {plan.visit_s:g} s or 20 requests for each in flight, "
        f"budget {duration(sweep.budget_s)}{grown}, seed {plan.seed}"
    )
    rows = [*scope.where_measured(host, plan.arms), EnvironmentRow("decided beforehand", decided)]
    if threads > 1:
        rows.append(EnvironmentRow("load generator", f"{threads} threads, as a single one was the limit in the first round"))
    return tuple(rows)


def _outcome(sweep: Sweep) -> Outcome:
    """Each session tells of the host first; one without an end is still measuring, or was
    killed."""
    return sweep.ends[-1].outcome if sweep.ends and len(sweep.ends) >= len(sweep.hosts) else "unfinished"


def _app(plan: SweepPlan) -> str:
    return f"{plan.app} {plan.app_version}".strip()
