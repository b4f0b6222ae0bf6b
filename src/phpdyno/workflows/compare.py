"""phpdyno compare: one control, any number of treatments, one verdict each."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from phpdyno import __version__
from phpdyno.apps.databases import database_socket, live_datadir
from phpdyno.apps.registry import open_app
from phpdyno.apps.source import App
from phpdyno.errors import DynoError, Interrupted, UsageError
from phpdyno.experiment.progress import Progress
from phpdyno.experiment.runner import Runner
from phpdyno.experiment.slot import SharedMeters
from phpdyno.experiment.state import RunState
from phpdyno.host.cgroup import CpuGroups, find_cpu_groups
from phpdyno.host.cores import Cores, split_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.host.preflight import read_host, warnings_for
from phpdyno.journal.reader import FILE, drop_cut_off_line, read_journal
from phpdyno.journal.records import SCHEMA, Ended, Header, Incident, Planned, Preflight, Record
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.facts import HostFacts
from phpdyno.model.plan import AppSource, Plan, Transport
from phpdyno.paths import cache_dir
from phpdyno.stack.bench import Bench, component_cgroup, component_meter
from phpdyno.stack.mariadb import Database
from phpdyno.stack.meter import Meter, host_meter
from phpdyno.stack.php import inspect_php
from phpdyno.stack.programs import find_program, nginx_version
from phpdyno.stack.supervise import Supervisor
from phpdyno.workflows.arms import make_arms
from phpdyno.workflows.rundir import make_run_dir


class Question(Struct, frozen=True):
    """What the user asked to compare; times in seconds, margin and confidence as fractions."""

    source: AppSource
    control: str = ""
    treatments: tuple[str, ...] = ()
    aa: bool = False
    margin: float = 0.01
    confidence: float = 0.95
    budget_s: float = 300.0
    seed: int = 1
    transport: Transport = "http"
    concurrency: int = 1
    slot_requests: int | None = None


def compare(question: Question, *, runs: Path, argv: Sequence[str], progress: Progress) -> Path:
    """Measure, journal everything, and return the run's directory. What can be refused is refused before anything starts."""
    control, treatments = make_arms(question.control, question.treatments, aa=question.aa, concurrency=question.concurrency)
    definition = _open(question.source)
    _require_servers(question.transport, [control, *treatments])
    with MeasuringLock():
        run = make_run_dir(runs, "compare", definition.name)
        with JournalWriter(run / FILE) as journal:
            journal.append(_header(argv))
            with _ending(journal, run), Supervisor(run / "logs") as supervisor:
                app = definition.prepare(supervisor, cache=cache_dir(), progress=progress.phase)
                plan = _plan(question, app, control, treatments)
                journal.append(Planned(plan))
                _measure(RunState(plan), app, supervisor, journal=journal, run=run, progress=progress)
    return run


def resume(run: Path, *, argv: Sequence[str], progress: Progress) -> Path:
    """Go on with a run that was interrupted; finished blocks count. Raises UsageError where nothing is left to do."""
    path = run / FILE
    records = read_journal(path) if path.is_file() else []
    if not any(isinstance(record, Planned) for record in records):
        raise UsageError("this run never got as far as a plan", where=str(run), next_step="start it anew")
    state = RunState.replay(records)
    if not state.open_treatments():
        raise UsageError("this run is finished", where=str(run), next_step=f"see it with: phpdyno report {run}")
    plan = state.plan
    definition = _open(plan.source)
    _require_servers(plan.transport, [plan.control, *plan.treatments])
    with MeasuringLock():
        dropped = drop_cut_off_line(path)
        with JournalWriter(path) as journal:
            note = "an unfinished last line was dropped" if dropped else "the journal was whole"
            journal.append(Incident(state.next_block, "", "resumed", f"{note}; phpdyno {__version__}; {' '.join(argv)}"))
            with _ending(journal, run), Supervisor(run / "logs") as supervisor:
                app = definition.prepare(supervisor, cache=cache_dir(), progress=progress.phase)
                _refuse_changed(plan, app)
                _measure(state, app, supervisor, journal=journal, run=run, progress=progress)
    return run


def _open(source: AppSource) -> App:
    return open_app(source.reference or None, docroot=Path(source.docroot) if source.docroot else None, urls=source.urls)


def _require_servers(transport: Transport, arms: Sequence[Arm]) -> None:
    if transport == "http":
        find_program("nginx")
    for arm in arms:
        if not Path(arm.php.fpm).is_file():
            raise DynoError("this php-fpm is gone", where=arm.php.fpm)


def _plan(question: Question, app: PreparedApp, control: Arm, treatments: tuple[Arm, ...]) -> Plan:
    return Plan(
        app=app.name,
        app_version=app.version,
        workload=app.workload,
        control=control,
        treatments=treatments,
        margin=question.margin,
        confidence=question.confidence,
        budget_s=question.budget_s,
        seed=question.seed,
        transport=question.transport,
        concurrency=question.concurrency,
        slot_requests=question.slot_requests,
        source=question.source,
    )


def _refuse_changed(plan: Plan, app: PreparedApp) -> None:
    """Blocks measured on other versions may not be mixed with the earlier ones."""
    if app.version != plan.app_version or app.workload != plan.workload:
        raise DynoError(
            f"the app is not the one that this run began with (now {app.version or 'changed'}, then {plan.app_version or 'different'})",
            where=plan.app,
            next_step="start a new run",
        )
    for arm in (plan.control, *plan.treatments):
        now = inspect_php(arm.php.fpm, arm.php.extension_dir)
        if (now.version, now.build_id) != (arm.php.version, arm.php.build_id):
            raise DynoError(
                f"PHP is now {now.version}, the run began with {arm.php.version}", where=arm.php.fpm, next_step="start a new run"
            )


def _header(argv: Sequence[str]) -> Header:
    return Header(SCHEMA, __version__, "compare", time.strftime("%Y-%m-%dT%H:%M:%S%z"), tuple(argv))


@contextmanager
def _ending(journal: JournalWriter, run: Path) -> Iterator[None]:
    """The journal's last line of this session says how it ended, whatever happens (SIGKILL and a full disk excepted)."""
    start = time.monotonic()
    outcome, detail = "failed", ""
    try:
        yield
        outcome = "finished"
    except KeyboardInterrupt:
        outcome = "interrupted"
        if any(isinstance(record, Planned) for record in read_journal(journal.path)):
            raise Interrupted(str(run)) from None
        raise
    except BaseException as error:
        detail = str(error)
        raise
    finally:
        _append_last(journal, Ended(outcome, detail, time.monotonic() - start))


def _append_last(journal: JournalWriter, record: Record) -> None:
    try:
        journal.append(record)
    except DynoError:
        if isinstance(record, Ended) and record.outcome == "finished":
            raise


def _measure(state: RunState, app: PreparedApp, supervisor: Supervisor, *, journal: JournalWriter, run: Path, progress: Progress) -> None:
    plan = state.plan
    cores = split_cores(workers=plan.concurrency)
    groups = find_cpu_groups()
    with ExitStack() as stack:
        database, meter = _start_database(stack, app, supervisor, cores, groups)
        if groups is None:
            _refuse_passing_workers([plan.control, *plan.treatments])
        host = read_host(cores, "cgroup" if groups else "schedstat", _versions(plan, database))
        _refuse_another_host(state.host, host)
        journal.append(Preflight(host, warnings_for(host, plan.max_steal)))
        bench = Bench(supervisor, app, cores=cores, groups=groups, transport=plan.transport, database=database)
        Runner(state, bench, SharedMeters(meter, host_meter(groups)), journal, run=run, progress=progress).measure()


def _refuse_another_host(before: HostFacts | None, now: HostFacts) -> None:
    """A resumed run goes on only with the servers, the kernel and the accounting that it began with."""
    if before is None:
        return
    for what in ("versions", "kernel", "cpu_model", "cpu_source"):
        then, today = getattr(before, what), getattr(now, what)
        if then != today:
            raise DynoError(f"{what.replace('_', ' ')} changed since the run began: {then}, now {today}", next_step="start a new run")


def _refuse_passing_workers(arms: Sequence[Arm]) -> None:
    """Without a cgroup, what an ended worker had used is known to a tick only: pools whose workers come and go have no honest figure."""
    for arm in arms:
        pool = arm.layer("pool")
        if pool.get("pm", "static") != "static" or int(pool.get("pm.max_requests", "0")) > 0:
            raise DynoError(
                "workers of this pool come and go, and without a cgroup the CPU time of one that ended is not known exactly",
                where=arm.name,
                next_step="run as root, where cgroups can be made, or use pool.pm=static without pm.max_requests",
            )


def _start_database(
    stack: ExitStack, app: PreparedApp, supervisor: Supervisor, cores: Cores, groups: CpuGroups | None
) -> tuple[Database | None, Meter | None]:
    if app.datadir is None:
        return None, None
    database = stack.enter_context(
        Database.start(
            supervisor,
            datadir=live_datadir(supervisor, app.datadir, "database"),
            socket_path=database_socket(supervisor),
            cores=cores.helpers,
            cgroups=component_cgroup(supervisor, groups, "database"),
        )
    )
    return database, component_meter(supervisor, groups, "database", database.child)


def _versions(plan: Plan, database: Database | None) -> dict[str, str]:
    versions = {f"php ({arm.php.fpm})": arm.php.version for arm in (plan.control, *plan.treatments)}
    if database is not None:
        versions["mariadb"] = Database.version()
    if plan.transport == "http":
        versions["nginx"] = nginx_version()
    return versions
