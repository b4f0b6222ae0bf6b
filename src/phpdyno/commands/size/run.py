"""A run of `size` from start to end, or from where it was interrupted: what is recorded already is
not measured again."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct, structs

from phpdyno import __version__
from phpdyno.apps.source import App
from phpdyno.commands.measure.session import refuse_other_cores
from phpdyno.commands.size.measuring.limits import read_limits
from phpdyno.commands.size.measuring.pools import Pools, connections_for
from phpdyno.commands.size.measuring.running_pools import neighbours_of
from phpdyno.commands.size.measuring.stages import measure_all
from phpdyno.commands.size.pool_file import BUNDLE, make_size_bundle
from phpdyno.commands.size.record import (
    SIZE_FILE,
    SIZE_SCHEMA,
    LimitsRead,
    PoolMeasured,
    SizeEnded,
    SizeHeader,
    SizeHost,
    SizeRun,
    read_size,
)
from phpdyno.commands.size.request import SizeRequest, check_asked
from phpdyno.commands.size.result import found_of
from phpdyno.drive.descriptors import require_descriptors
from phpdyno.errors import DynoError, Interrupted, UsageError
from phpdyno.experiment.common.clock import BudgetClock
from phpdyno.experiment.common.progress import Progress
from phpdyno.host.cgroup import cpu_source
from phpdyno.host.cores import Cores, on_cores, split_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.host.preflight import read_host, warnings_for
from phpdyno.journal.reader import drop_cut_off_line
from phpdyno.journal.records import ReachedFor
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.runs.sweep import MAX_STEAL_OF_A_VISIT, SweepPlan
from phpdyno.paths import cache_dir
from phpdyno.server_files.apache import is_apache
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.app_servers import start_shared
from phpdyno.session.ending import last_line
from phpdyno.session.environment import notices_of, refuse_another_host, tell_first, versions_of
from phpdyno.session.peers import go_on_with, with_named_peers
from phpdyno.session.reach_pass import look_before
from phpdyno.session.requirements import refuse_without_nginx, require_servers
from phpdyno.session.run_directory import check_place, make_run_dir
from phpdyno.session.source import open_source, prepare_commits, refuse_changed, workload_for
from phpdyno.session.specs import CONTROL_OPTION, SpecReader

COMMAND = "size"
HELPERS = 4


def size(asked: SizeRequest, *, runs: Path, argv: Sequence[str], progress: Progress) -> Path:
    """Measure, record everything, and return the run's directory. What can be refused is refused
    before anything starts.

    Raises UsageError, DynoError.
    """
    check_asked(asked)
    cores_for(asked.limits.cores)
    definition = open_source(asked.source)
    pools = PoolArms(asked.control, definition)
    arm = pools.arm({"pool.pm": "static", "pool.pm.max_children": "1"})
    if is_apache(arm):
        raise UsageError("this serves with Apache, which has no pool of php-fpm", where="--control", next_step="leave web.server out")
    require_servers(asked.transport, [arm])
    refuse_without_nginx(definition, asked.transport, [arm])
    require_descriptors(_connections(asked))
    with MeasuringLock():
        run = make_run_dir(runs, COMMAND, definition.name)
        with Supervisor(run / "logs") as supervisor:
            app = definition.prepare(supervisor, cache=cache_dir(), progress=progress.phase)
            workload = workload_for(asked.workload, app.workload)
            kept = structs.replace(asked, source=with_named_peers(asked.source), workload=None)
            header = SizeHeader(
                schema=SIZE_SCHEMA,
                phpdyno=__version__,
                started=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                argv=tuple(argv),
                asked=kept,
                app=app.name,
                app_version=app.version,
                workload=workload,
                arm=arm,
                own_workers=pools.own_workers,
            )
            with JournalWriter(run / SIZE_FILE) as journal:
                journal.append(header)
                for note in pools.notes:
                    progress.note(note)
                begun = SizeRun(header, (header,))
                _measure(
                    _Session(
                        run=run,
                        begun=begun,
                        pools=pools,
                        definition=definition,
                        app=app,
                        supervisor=supervisor,
                        journal=journal,
                        argv=tuple(argv),
                        progress=progress,
                    )
                )
    return run


def resume(run: Path, *, argv: Sequence[str], progress: Progress) -> Path:
    """Go on with a run that was interrupted; pools that are recorded count. Raises UsageError where
    nothing is left to do, DynoError."""
    run = check_place(run)
    begun = read_size(run)
    if begun.finished:
        raise UsageError("this run is finished", where=str(run), next_step=f"see it with: phpdyno report {run}")
    header = begun.header
    go_on_with(header.asked.source.network)
    definition = open_source(header.asked.source)
    pools = PoolArms(header.asked.control, definition)
    if pools.arm({"pool.pm": "static", "pool.pm.max_children": "1"}).settings != header.arm.settings:
        raise DynoError("the control is not what it was when this run began", where=header.asked.control, next_step="start a new run")
    require_servers(header.asked.transport, [header.arm])
    require_descriptors(_connections(header.asked))
    with MeasuringLock(), Supervisor(run / "logs") as supervisor:
        app = definition.prepare(supervisor, cache=cache_dir(), progress=progress.phase)
        planned = SweepPlan(header.app, header.app_version, header.workload, (header.arm,), points=(), source=header.asked.source)
        refuse_changed(planned, app, [header.arm])
        drop_cut_off_line(run / SIZE_FILE)
        with JournalWriter(run / SIZE_FILE) as journal:
            _measure(
                _Session(
                    run=run,
                    begun=begun,
                    pools=pools,
                    definition=definition,
                    app=app,
                    supervisor=supervisor,
                    journal=journal,
                    argv=tuple(argv),
                    progress=progress,
                )
            )
    return run


def _connections(asked: SizeRequest) -> int:
    """The most connections that are open at once."""
    return connections_for(asked.most, asked.transport)


class PoolArms:
    """The arm of any pool of the app: the control's settings, and what a pool adds. Raises
    UsageError for a SPEC that cannot be."""

    def __init__(self, control: str, definition: App) -> None:
        self._reader = SpecReader(definition)
        self.given = self._reader.read(control, CONTROL_OPTION, {}) if control else {}
        self.live = self._reader.live
        self.notes = tuple(self._reader.notes)
        own = self.given.get("pool.pm.max_children")
        self.own_workers = int(own) if own is not None else None

    def arm(self, pool: Mapping[str, str]) -> Arm:
        """An arm by its pool; the control's own way to manage workers gives way to it."""
        name = f"{pool['pool.pm']} {pool['pool.pm.max_children']}"
        base = {key: value for key, value in self.given.items() if not key.startswith("pool.pm") or key == "pool.pm.max_requests"}
        return self._reader.arm(name, {**base, **pool}, {})


def cores_for(wanted: int | None) -> Cores:
    """Cores of php-fpm and of all else; php-fpm has three of four where nobody says, and shares all
    where as many are wanted as there are.

    Raises UsageError for more than this process may use.
    """
    here = tuple(sorted(os.sched_getaffinity(0)))
    if wanted is None:
        # nginx, the database and the generator work as well: of a larger host they have a quarter.
        return split_cores(workers=len(here) - max(1, len(here) // HELPERS))
    if wanted < len(here):
        return split_cores(workers=wanted)
    if wanted > len(here):
        raise UsageError(
            f"this process may use {len(here)} of the host's cores, and what {wanted} do cannot be measured here",
            where=f"--cores {wanted}",
            next_step=f"name at most {len(here)}, or measure on a host with more",
        )
    return Cores(here, here)


class _Session(Struct, frozen=True):
    """What one session measures with."""

    run: Path
    begun: SizeRun
    pools: PoolArms
    definition: App
    app: PreparedApp
    supervisor: Supervisor
    journal: JournalWriter
    argv: tuple[str, ...]
    progress: Progress


def _measure(session: _Session) -> None:
    """Start what all pools share, look at the host, measure what is left to do."""
    run, begun, pools, app = session.run, session.begun, session.pools, session.app
    supervisor, journal, progress = session.supervisor, session.journal, session.progress
    header, asked = begun.header, begun.header.asked
    clock = BudgetClock(begun.spent_s)
    cores = cores_for(asked.limits.cores)
    with _ending(journal, run, clock), ExitStack() as stack:
        shared = start_shared(stack, app, supervisor, cores)
        host = read_host(cores, cpu_source(shared.groups), versions_of([header.arm], asked.transport, shared.database))
        first = next(iter(begun.all_of(SizeHost)), None)
        refuse_another_host(first.host if first else None, host)
        refuse_other_cores(first.host if first else None, host)
        notices = notices_of(supervisor, app)
        alone = (f"php-fpm shares all {len(cores.measured)} cores with nginx, the database and the load generator",)
        warnings = (*notices, *warnings_for(host, MAX_STEAL_OF_A_VISIT), *(alone if cores.measured == cores.helpers else ()))
        journal.append(SizeHost(host, (*warnings, *pools.notes), session.argv))
        tell_first(notices, progress)
        apps = prepare_commits(session.definition, app, [header.arm], supervisor, progress.phase)
        bench = shared.bench(transport=asked.transport, apps=apps, status=True)
        if begun.last(ReachedFor) is None:
            with clock.paused():
                reached = look_before(bench, header.arm, header.workload, progress=progress)
            if reached is not None:
                journal.append(reached)
        limits = begun.last(LimitsRead)
        if limits is None:
            beside = neighbours_of(pools.live.pool if pools.live is not None else None)
            for name in beside.unread:
                progress.note(f"{name}: what it may take of the memory could not be read; name it with --others")
            limits = read_limits(asked, supervisor, shared.database, beside=beside)
            journal.append(limits)
        started = Pools(
            bench,
            shared.meters,
            arm_of=pools.arm,
            workload=header.workload,
            transport=asked.transport,
            seed=asked.seed,
            clock=clock,
            budget_s=asked.budget_s,
            progress=progress,
            threads=max((each.threads for each in begun.all_of(PoolMeasured)), default=1),
        )
        with on_cores(cores.helpers):
            started.learn()
            measure_all(started, begun, limits, journal, given=pools.given, read=lambda: read_size(run))
        found = found_of(read_size(run), run.name)
        if found is not None:
            make_size_bundle(run / BUNDLE, run.name, header, found, host=host, given=pools.given, live=pools.live)


@contextmanager
def _ending(journal: JournalWriter, run: Path, clock: BudgetClock) -> Iterator[None]:
    """The record's last line of this session says how it ended, whatever happens (SIGKILL and a
    full disk excepted)."""
    with last_line(journal, lambda outcome, detail: SizeEnded(outcome, detail, clock.spent_s())):
        try:
            yield
        except KeyboardInterrupt:
            raise Interrupted(str(run), COMMAND) from None
