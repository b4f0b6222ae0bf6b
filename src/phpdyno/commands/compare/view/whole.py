"""From the records of a journal to the view that every report shows. Pure: no files, no clock."""

from collections.abc import Iterable

from msgspec import UNSET
from msgspec.structs import replace

from phpdyno.commands.compare.view.blocks import block_points, control_points, exclusions, noise_points
from phpdyno.commands.compare.view.calibrations import calibrations, in_words
from phpdyno.commands.compare.view.carry_over import checked, not_looked_at
from phpdyno.commands.compare.view.environment import environment
from phpdyno.commands.compare.view.gather import GatheredRecords, gather
from phpdyno.commands.compare.view.rows import row_of
from phpdyno.commands.compare.view.shape import SCHEMA, AnswerRow, IncidentRow, RunView
from phpdyno.journal.records import Record
from phpdyno.model.plan import UNIT
from phpdyno.report import scope
from phpdyno.report.reached import reach_view
from phpdyno.report.view_parts import ExplainedRow, Outcome


def view_of(records: Iterable[Record], run_name: str) -> RunView:
    """The view of one run. Raises DynoError when the journal holds no plan."""
    gathered = gather(records, run_name)
    return _with_measurements(_bare(gathered, run_name), gathered)


def _bare(gathered: GatheredRecords, run_name: str) -> RunView:
    """What was planned, where, and how it ended."""
    plan, header, end = gathered.plan, gathered.header, gathered.end
    return RunView(
        schema=SCHEMA,
        run=run_name,
        title=scope.title(plan),
        phpdyno=header.phpdyno,
        command=header.command,
        started=header.started,
        outcome=_outcome(end.outcome) if end else "unfinished",
        outcome_detail=end.detail if end else "",
        elapsed_s=gathered.elapsed_s,
        app=plan.app,
        app_version=plan.app_version,
        workload=scope.workload(plan),
        targets=scope.targets(plan),
        control=scope.arm_in_words(plan.control),
        loaded_control=scope.loaded_control(plan),
        transport=plan.transport,
        unit=UNIT[plan.transport],
        metric=scope.metrics(plan),
        margin=plan.margin,
        confidence=plan.confidence,
        budget_s=plan.budget_s,
        seed=plan.seed,
        scope=scope.scope(plan, gathered.host),
        host=scope.host_in_words(gathered.host),
        environment=environment(gathered),
        preflight_warnings=gathered.preflight_warnings,
        reached=reach_view(gathered.reached) if gathered.reached else None,
        explained=tuple(ExplainedRow(each.treatment, each.found, each.unexplained) for each in gathered.explained) or UNSET,
        max_steal=plan.max_steal,
        max_lag=plan.max_lag,
        max_lag_of_cpu=plan.limits_of("cpu").lag,
        repeat=scope.repeat(header.argv, plan.seed, header.command),
    )


def _with_measurements(view: RunView, gathered: GatheredRecords) -> RunView:
    rows = []
    carried = []
    for arm in gathered.plan.treatments:
        row, check = checked(gathered, row_of(gathered, arm))
        if check is not None:
            carried.append(check)
        rows.append(row)
    return replace(
        view,
        calibration=in_words(gathered),
        calibrations=calibrations(gathered),
        answers=_answers(gathered),
        rows=tuple(rows),
        blocks_excluded=sum(row.blocks_excluded for row in rows),
        blocks=block_points(gathered, rows),
        exclusions=exclusions(gathered),
        control_costs=control_points(gathered),
        noise=noise_points(gathered),
        carry_over=tuple(carried),
        carry_over_missing=not_looked_at(gathered, rows, carried),
        incidents=tuple(IncidentRow(each.block, each.arm, each.kind, each.detail) for each in gathered.incidents),
    )


def _outcome(word: str) -> Outcome:
    known: dict[str, Outcome] = {"finished": "finished", "interrupted": "interrupted"}
    return known.get(word, "failed")


def _answers(gathered: GatheredRecords) -> tuple[AnswerRow, ...]:
    return tuple(
        AnswerRow(each.arm, each.equal, each.detail, max((target.masked_fraction for target in each.targets), default=0.0))
        for each in gathered.answers.values()
    )
