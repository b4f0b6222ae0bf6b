"""phpdyno compare: one control, any number of treatments, one verdict each."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import structs

from phpdyno import __version__
from phpdyno.apps.files.original import change_of
from phpdyno.drive.descriptors import require_descriptors
from phpdyno.errors import BudgetTooSmall, DynoError, UsageError
from phpdyno.experiment.common.kept import check_kept
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.comparison.runner import Runner
from phpdyno.experiment.comparison.state import RunState
from phpdyno.host.lock import MeasuringLock
from phpdyno.journal.reader import FILE, begun_in, drop_cut_off_line, read_journal
from phpdyno.journal.records import SCHEMA, Header, Incident, Planned, Record
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.plan import MAX_LAG_OF_CPU, ComparisonTerms, Metric, Plan, taken_over
from phpdyno.model.workload import Workload
from phpdyno.paths import cache_dir
from phpdyno.server_files.apache import is_apache
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.arms import Arms, make_arms
from phpdyno.session.ending import ending
from phpdyno.session.environment import open_environment, refuse_another_host, tell_first
from phpdyno.session.peers import go_on_with, with_named_peers
from phpdyno.session.reach_pass import look_before
from phpdyno.session.requirements import check_nginx, loaded_concurrency, refuse_unasked, refuse_without_nginx, require_servers
from phpdyno.session.run_directory import check_place, make_run_dir
from phpdyno.session.source import open_source, prepare_commits, refuse_changed, workload_for

MARGINS: dict[Metric, float] = {"cpu": 0.01, "throughput": 0.05}
"""Smallest effects worth acting on, by default. Throughput scatters more, and hangs on more than
the change."""


class CompareRequest(ComparisonTerms, frozen=True):
    """What the user asked to compare; times in seconds, margin and confidence as fractions.

    None stands for what fits the metric: each treatment's own; a margin of 1 % for CPU and 5 % for
    throughput; one request in flight for CPU, two for each core for throughput. `workload` takes
    the place of the app's own; `source.requests` then says what it was made of.
    """

    control: str = ""
    treatments: tuple[str, ...] = ()
    aa: bool = False
    metric: Metric | None = None
    margin: float | None = None
    concurrency: int | None = None
    workload: Workload | None = None


def compare(
    question: CompareRequest,
    *,
    runs: Path,
    argv: Sequence[str],
    progress: Progress,
    accept: Callable[[PreparedApp], None] | None = None,
    command: str = "compare",
    begun: Callable[[Path], None] | None = None,
) -> Path:
    """Measure, journal everything, and return the run's directory. What can be refused is refused
    before anything starts.

    `accept` raises DynoError where the app, once it is prepared, is not the one that was meant. A
    `command` of another name that is measured this way writes what it needs besides into the run's
    directory when that has `begun`.
    """
    app_first = None if question.source.script else open_source(question.source)
    arms = make_arms(
        question.control,
        question.treatments,
        aa=question.aa,
        metric=question.metric,
        workers=question.concurrency or 1,
        loaded_workers=question.concurrency or loaded_concurrency(),
        script=question.transport == "script",
        app=app_first,
    )
    check_load(question, arms)
    if app_first is not None:
        refuse_unasked(arms.treatments, workload_for(question.workload, app_first.workload))
        refuse_without_nginx(app_first, question.transport, [arms.control, *arms.treatments])
    definition = app_first or open_source(question.source, arms.control)
    require_servers(question.transport, [arms.control, *arms.treatments])
    with MeasuringLock():
        run = make_run_dir(runs, command, definition.name)
        if begun is not None:
            begun(run)
        with JournalWriter(run / FILE) as journal:
            journal.append(_header(command, argv))
            with ending(journal, run, command), Supervisor(run / "logs") as supervisor:
                app = definition.prepare(supervisor, cache=cache_dir(), progress=progress.phase)
                if accept is not None:
                    accept(app)
                plan = make_plan(question, app, arms)
                journal.append(Planned(plan))
                for kind, notes in (("settings", arms.notes), ("another PHP", arms.mismatches), ("several PHPs", arms.several)):
                    for note in notes:
                        progress.note(note)
                        journal.append(Incident(0, arms.control.name, kind, note))
                apps = prepare_commits(definition, app, arms_of(plan), supervisor, progress.phase)
                measure(RunState(plan), app, supervisor, apps=apps, journal=journal, run=run, progress=progress)
    return run


def compare_in(
    question: CompareRequest,
    place: Path,
    *,
    origin: Sequence[str],
    argv: Sequence[str],
    progress: Progress,
    accept: Callable[[PreparedApp], None] | None = None,
) -> None:
    """The comparison of a larger run, in a directory of its own: gone on with where blocks of it
    were measured there, else begun.

    `origin` is the command line that began the larger run, and so what repeats this; `argv` that of
    this session; `accept` as `compare` has it.
    """
    begun = begun_in(place)
    if begun is not None:
        state = RunState.replay(read_journal(begun / FILE))
        if state.next_block or state.verdicts:
            if state.open_treatments():
                resume(begun, argv=argv, progress=progress)
            return
    # A plan without a block binds nothing; a budget that was too small would be too small again.
    compare(question, runs=place, argv=origin, progress=progress, accept=accept)


def why_missing(error: DynoError) -> str:
    """Why `compare_in` has measured nothing, and what the larger run can do about it."""
    if isinstance(error, BudgetTooSmall):
        return f"{error.what}; go on with a larger one for what is not measured: --resume with --budget {error.enough_s}s at least"
    return str(error)


def resume(run: Path, *, argv: Sequence[str], progress: Progress) -> Path:
    """Go on with a run that was interrupted; finished blocks count. Raises UsageError where nothing
    is left to do."""
    run = check_place(run)
    path = run / FILE
    records = planned_records(run)
    state = RunState.replay(records)
    if not state.open_treatments():
        raise UsageError("this run is finished", where=str(run), next_step=f"see it with: phpdyno report {run}")
    plan = state.plan
    go_on_with(plan.source.network)
    definition = open_source(plan.source, plan.control)
    require_servers(plan.transport, arms_of(plan))
    with MeasuringLock():
        dropped = drop_cut_off_line(path)
        with JournalWriter(path) as journal:
            note = "an unfinished last line was dropped" if dropped else "the journal was whole"
            journal.append(Incident(state.next_block, "", "resumed", f"{note}; phpdyno {__version__}; {' '.join(argv)}"))
            with ending(journal, run, _command_of(records)), Supervisor(run / "logs") as supervisor:
                app = definition.prepare(supervisor, cache=cache_dir(), progress=progress.phase)
                refuse_changed(plan, app, arms_of(plan))
                apps = prepare_commits(definition, app, arms_of(plan), supervisor, progress.phase)
                measure(state, app, supervisor, apps=apps, journal=journal, run=run, progress=progress)
    return run


def planned_records(run: Path) -> list[Record]:
    """The journal of a run that has a plan. Raises UsageError for one that ended before."""
    path = run / FILE
    records = read_journal(path) if path.is_file() else []
    if not any(isinstance(record, Planned) for record in records):
        raise UsageError("this run never got as far as a plan", where=str(run), next_step="start it anew")
    return records


def check_load(question: CompareRequest, arms: Arms) -> None:
    """Raise UsageError for more requests than nginx serves at once, or where pools have too few
    workers for kept connections; DynoError where this process may open too few files."""
    if question.transport == "script":
        if question.keep_conn:
            check_kept(question.transport, ())
        return
    load = {"cpu": question.concurrency or 1, "throughput": question.concurrency or loaded_concurrency()}
    started = [(arms.control, "cpu"), *((arm, arms.metrics[arm.name]) for arm in arms.treatments)]
    if "throughput" in arms.metrics.values():
        started.append((arms.loaded_control, "throughput"))
    check_nginx(question.transport, max((load[metric] for arm, metric in started if not is_apache(arm)), default=0))
    if question.keep_conn:
        check_kept(question.transport, [(arm, load[metric]) for arm, metric in started])
    require_descriptors(sum(load[metric] for _, metric in started))


def make_plan(question: CompareRequest, app: PreparedApp, arms: Arms) -> Plan:
    """The frozen plan of a question, once its app and its arms are known."""
    return Plan(
        app=app.name,
        app_version=app.version,
        workload=workload_for(question.workload, app.workload),
        control=arms.control,
        treatments=arms.treatments,
        metrics=arms.metrics,
        loaded_control=arms.loaded_control if "throughput" in arms.metrics.values() else None,
        loaded_concurrency=question.concurrency or loaded_concurrency(),
        concurrency=question.concurrency or 1,
        margin=MARGINS["cpu"] if question.margin is None else question.margin,
        loaded_margin=MARGINS["throughput"] if question.margin is None else question.margin,
        max_lag_of_cpu=MAX_LAG_OF_CPU,
        **taken_over(structs.replace(question, source=with_named_peers(question.source)), ComparisonTerms),
    )


def _command_of(records: Sequence[Record]) -> str:
    """The command that began a run."""
    return next(record.command for record in records if isinstance(record, Header))


def _header(command: str, argv: Sequence[str]) -> Header:
    return Header(SCHEMA, __version__, command, time.strftime("%Y-%m-%dT%H:%M:%S%z"), tuple(argv))


def arms_of(plan: Plan) -> list[Arm]:
    """All arms that are started: the controls of its panels and the treatments."""
    return [arm for panel in plan.panels() for arm in (panel.control, *panel.treatments)]


def measure(
    state: RunState,
    app: PreparedApp,
    supervisor: Supervisor,
    *,
    journal: JournalWriter,
    run: Path,
    progress: Progress,
    apps: Mapping[str, PreparedApp] | None = None,
) -> None:
    """Start what all instances share, look at the host, and run the plan to its end; `apps`: of the
    arms that serve another than `app`.

    Raises DynoError.
    """
    plan = state.plan
    workers = max(panel.concurrency for panel in plan.panels())
    with ExitStack() as stack:
        started = open_environment(
            stack, app, supervisor, arms=arms_of(plan), transport=plan.transport, workers=workers, max_steal=plan.max_steal, apps=apps
        )
        refuse_another_host(state.host, started.preflight.host)
        journal.append(started.preflight)
        tell_first(started.preflight.warnings, progress)
        if state.reached is None:
            # A resumed run has it in its journal.
            reached = look_before(started.stage, plan.control, plan.workload, progress=progress)
            if reached is not None:
                journal.append(reached)
        Runner(state, started.stage, started.meters, journal, run=run, progress=progress).measure()
        if change := change_of(app):
            journal.append(Incident(state.next_block, "", "changed original", change))
