"""After a comparison: every treatment is looked into beside its control, on servers of their own,
and the journal gets what was found.

The comparison has ended by then, so that nothing of it is disturbed and none of its budget is used.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import structs

from phpdyno.commands.compare.run import CompareRequest, compare, planned_records, resume
from phpdyno.commands.explain.passes import BUDGET_S, ExplainRequest, explain
from phpdyno.errors import DynoError, Interrupted
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.comparison.state import RunState
from phpdyno.explain.slim import slim
from phpdyno.host.lock import MeasuringLock
from phpdyno.journal.reader import FILE, read_journal
from phpdyno.journal.records import Ended, ExplainedArms, Header
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Panel, Plan
from phpdyno.session.ending import last_line
from phpdyno.session.peers import go_on_with
from phpdyno.session.run_directory import check_place
from phpdyno.session.source import open_source

ALL_S = 90.0
"""For several treatments together."""
LEAST_S = 15.0


def compare_and_explain(question: CompareRequest, *, runs: Path, argv: Sequence[str], progress: Progress) -> Path:
    """Compare, and where it was asked for look inside afterwards, which a script cannot be; gives
    the run's directory. Raises DynoError."""
    run = compare(question, runs=runs, argv=argv, progress=progress)
    if question.explain:
        explain_run(run, progress=progress)
    return run


def resume_and_explain(run: Path, *, argv: Sequence[str], progress: Progress) -> Path:
    """Go on with a run, or only with looking inside where that alone is left. Raises UsageError
    where nothing is left to do."""
    run = check_place(run)
    state = RunState.replay(planned_records(run))
    if state.open_treatments() or not unexplained(state):
        run = resume(run, argv=argv, progress=progress)
    else:
        go_on_with(state.plan.source.network)
    if state.plan.explain:
        explain_run(run, progress=progress)
    return run


def unexplained(state: RunState) -> list[str]:
    """Treatments that are yet to be looked into; none where that was not asked for."""
    wanted = [treatment.name for _, treatment in pairs_of(state.plan)] if state.plan.explain else []
    valid = [name for name in wanted if name not in state.verdicts or state.verdicts[name].kind != "invalid"]
    return [name for name in valid if name not in state.explained]


def explain_run(run: Path, *, progress: Progress) -> None:
    """Look into what is left to be looked into; what cannot be says why in the journal. Raises
    Interrupted: it can be resumed."""
    records = read_journal(run / FILE)
    state = RunState.replay(records)
    left = unexplained(state)
    if not left:
        return
    plan = state.plan
    command = next(record.command for record in records if isinstance(record, Header))
    budget_s = max(LEAST_S, min(BUDGET_S, ALL_S / len(left)))
    each = ExplainRequest(budget_s=budget_s, transport=plan.transport, seed=plan.seed, workload=plan.workload)
    try:
        with MeasuringLock(), JournalWriter(run / FILE) as journal, last_line(journal, lambda outcome, why: Ended(outcome, why, 0.0)):
            for panel, treatment in pairs_of(plan):
                if treatment.name in left:
                    wanted = structs.replace(each, concurrency=panel.concurrency)
                    journal.append(looked_into(run, plan, (panel.control, treatment), wanted, progress))
    except KeyboardInterrupt:
        raise Interrupted(str(run), command) from None


def looked_into(run: Path, plan: Plan, arms: tuple[Arm, Arm], wanted: ExplainRequest, progress: Progress) -> ExplainedArms:
    """What the second of two arms does inside, or why that is not known."""
    name = arms[1].name
    progress.note(f"looking inside {name}, which takes about two minutes, outside the budget")
    try:
        definition = open_source(plan.source, plan.control)
        found = explain(definition, arms, wanted, logs=run / "logs", progress=progress)
    except DynoError as error:
        return ExplainedArms(name, None, str(error))
    return ExplainedArms(name, slim(found))


def pairs_of(plan: Plan) -> Iterator[tuple[Panel, Arm]]:
    """Each treatment with the panel that has its control; the control against itself only where
    there is nothing else."""
    every = [(panel, arm) for panel in plan.panels() for arm in panel.treatments]
    yield from [(panel, arm) for panel, arm in every if arm.changed] or every
