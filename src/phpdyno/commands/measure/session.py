"""One session of a sweep: its servers, the host before it, the rounds, the second opinion, and how
the record ends."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from msgspec import Struct

from phpdyno.drive.rivals import Rival
from phpdyno.errors import DynoError, Interrupted
from phpdyno.experiment.common.clock import BudgetClock
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.sweep.cross_check import CrossCheckSetup, checkable, cross_check
from phpdyno.experiment.sweep.limits import limit_of
from phpdyno.experiment.sweep.plan import busy_workers, closed_points
from phpdyno.experiment.sweep.rounds import Begun, SweepRunner
from phpdyno.host.cgroup import cpu_source
from phpdyno.host.cores import on_cores, split_cores
from phpdyno.host.preflight import read_host, warnings_for
from phpdyno.journal.sweep import Limited, Sweep, SweepEnded, SweepHost, read_sweep
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.facts import HostFacts
from phpdyno.model.runs.sweep import Point, SweepPlan, Visit
from phpdyno.server_files.apache import of_both_kinds
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.app_servers import start_shared
from phpdyno.session.ending import last_line
from phpdyno.session.environment import notices_of, refuse_another_host, tell_first, versions_of, workers_pass
from phpdyno.session.reach_pass import look_before
from phpdyno.stats.visits import throughput, visits_of

ROUGH_CPU = "workers of this pool come and go, and without a cgroup (which needs root) what an ended one had used is known to a tick only"


class SweepSession(Struct, frozen=True):
    """All that one session of measuring needs; `notes` say what of a running pool was not taken
    over."""

    run: Path
    plan: SweepPlan
    app: PreparedApp
    apps: Mapping[str, PreparedApp]
    supervisor: Supervisor
    progress: Progress
    argv: tuple[str, ...]
    notes: tuple[str, ...]
    rivals: tuple[Rival, ...]

    def measure(self, journal: JournalWriter, begun: Sweep | None) -> None:
        """Start what all instances share, look at the host, measure what is left to do. Raises
        DynoError."""
        plan = self.plan
        clock = BudgetClock(begun.spent_s if begun else 0.0)
        workers = max(busy_workers(plan, arm) for arm in plan.arms)
        cores = split_cores(workers=workers, nginx_beside_php=of_both_kinds(plan.arms))
        with ending(journal, self.run, clock), ExitStack() as stack:
            shared = start_shared(stack, self.app, self.supervisor, cores)
            host = read_host(cores, cpu_source(shared.groups), versions_of(plan.arms, plan.transport, shared.database))
            before = begun.hosts[0].host if begun and begun.hosts else None
            refuse_another_host(before, host)
            refuse_other_cores(before, host)
            notices = notices_of(self.supervisor, self.app)
            rough = tuple(f"{arm.name}: {ROUGH_CPU}" for arm in plan.arms if shared.groups is None and workers_pass(arm))
            journal.append(SweepHost(host, (*notices, *warnings_for(host, plan.max_steal), *self.notes, *rough), self.argv))
            tell_first(notices, self.progress)
            bench = shared.bench(transport=plan.transport, apps=self.apps, status=True)
            if begun is None or begun.reached is None:
                # The first arm is what the others are held against.
                with clock.paused():
                    reached = look_before(bench, plan.arms[0], plan.workload, progress=self.progress)
                if reached is not None:
                    journal.append(reached)
            runner = SweepRunner(
                plan, bench, shared.meters, journal, clock=clock, progress=self.progress, begun=Begun.of(begun) if begun else Begun()
            )
            runner.measure()
            self._record_limits(journal, host)
            with on_cores(cores.helpers):
                self._cross_check(runner, journal)

    def _record_limits(self, journal: JournalWriter, host: HostFacts) -> None:
        """What limits each arm at each point, once all rounds are done."""
        visits = read_sweep(self.run).visits
        for arm in self.plan.arms:
            for point in self.plan.points:
                found = limit_of(self.plan, arm, visits_of(visits, arm.name, point), host)
                if found is not None:
                    journal.append(Limited(arm.name, point, found))

    def _cross_check(self, runner: SweepRunner, journal: JournalWriter) -> None:
        """The rivals on a fresh instance of every arm, at the load under which it did most; what is
        recorded already is not done again."""
        target = checkable(self.plan.workload)
        if self.rivals and target is None:
            self.progress.note("no cross-check: wrk and ab take every answer but 2xx for a failure, and no plain GET answers so")
        if not self.rivals or target is None:
            return
        sweep = read_sweep(self.run)
        done = {(each.tool, each.arm) for each in sweep.cross_checks}
        chance = np.random.Generator(np.random.PCG64(self.plan.seed))
        for arm in self.plan.arms:
            todo = [tool for tool in self.rivals if (tool, arm.name) not in done]
            if not todo:
                continue
            concurrency = best_point(self.plan, sweep.visits, arm.name).concurrency
            with runner.running(arm) as (instance, _):
                setup = CrossCheckSetup(instance, target, self.plan.workload.host, concurrency, self.plan.visit_s)
                for tool in todo:
                    self.progress.phase(f"{arm.name}: {tool} beside our own generator, c = {concurrency}")
                    found = cross_check(setup, tool, chance)
                    journal.append(found)
                    if found.detail:
                        self.progress.note(f"no ratio to {tool}: {found.detail}")


def refuse_other_cores(before: HostFacts | None, now: HostFacts) -> None:
    """Throughput of rounds on other cores, or on more of them, is another figure. Raises
    DynoError."""
    if before is not None and (before.measured_cores, before.helper_cores) != (now.measured_cores, now.helper_cores):
        raise DynoError("this run began on other cores than may be used now", next_step="use the same ones, or start a new run")


def best_point(plan: SweepPlan, visits: Sequence[Visit], arm: str) -> Point:
    """The closed point at which an arm's throughput was highest; the one with fewest in flight of
    equal ones."""

    def height(point: Point) -> tuple[float, int]:
        found = throughput(visits_of(visits, arm, point), plan.confidence)
        return (found.value if found else 0.0, -point.concurrency)

    return max(closed_points(plan.points), key=height)


@contextmanager
def ending(journal: JournalWriter, run: Path, clock: BudgetClock) -> Iterator[None]:
    """The record's last line of this session says how it ended, whatever happens (SIGKILL and a
    full disk excepted)."""
    with last_line(journal, lambda outcome, detail: SweepEnded(outcome, detail, clock.spent_s())):
        try:
            yield
        except KeyboardInterrupt:
            raise Interrupted(str(run), "measure") from None
