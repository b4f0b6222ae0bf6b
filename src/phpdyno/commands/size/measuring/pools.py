"""Fresh pools of one app, driven and read: what every stage of `size` measures with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from msgspec import Struct, structs

from phpdyno.commands.size.measuring.memory_guard import MemoryGuard
from phpdyno.commands.size.request import AHEAD, UPPER_WORKERS
from phpdyno.drive.arrivals import constant, poisson
from phpdyno.drive.driver import LoopDriver, in_words
from phpdyno.errors import DynoError
from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.experiment.common.clock import BudgetClock
from phpdyno.experiment.common.driven_instances import UNLIMITED, native_driver
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters
from phpdyno.experiment.common.stage import LiveInstance
from phpdyno.experiment.common.warm_up import Warm, warm_up
from phpdyno.experiment.comparison.schedule import deal
from phpdyno.experiment.sweep.visiting import Guest, Visitor, VisitOrder
from phpdyno.host.sockets.kernel_network import counts_interrupts_apart
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Transport
from phpdyno.model.runs.sweep import OPEN_CONNECTIONS, Point, SweepPlan, Visit
from phpdyno.model.workload import Workload
from phpdyno.server_files.nginx import MOST_THROUGH_NGINX
from phpdyno.servers.bench import Bench
from phpdyno.servers.instance import ArmFailed, Instance

BACKLOG = 511
"""php-fpm's own default of listen.backlog."""
VISIT_S = 1.0
IN_FLIGHT = 10
"""Requests of a visit for each in flight, at least: its ramp and its end then cost little."""
MOST_VISIT_S = 8.0
"""A visit is not made longer than this by the number of its requests, unless it has fewer than
twice as many as are in flight."""
AGAIN = 3
"""So often a visit is made that does not count, at most."""


class OutOfMemory(DynoError):  # noqa: N818 (it names what happened)
    """A pool was ended before it exhausted the host's memory; `free_kib` was left."""

    def __init__(self, workers: int, free_kib: int) -> None:
        super().__init__(
            f"a pool of {workers} workers was stopped: only {free_kib // 1024} MiB of memory were left",
            next_step="name a limit with --memory, or measure on a host with more memory",
        )
        self.workers = workers
        self.free_kib = free_kib


class PoolLoad(Struct, frozen=True):
    """What one visit sends: requests in flight (closed loop), how many requests, or arrivals by
    chance at `rate_per_s`."""

    in_flight: int
    requests: int
    rate_per_s: float = 0.0


def saturating(workers: int, transport: Transport) -> int:
    """Requests in flight that keep all workers of a pool busy: twice as many as workers, 64 more at
    most, and what nginx takes."""
    wanted = workers + min(workers, AHEAD)
    return min(wanted, MOST_THROUGH_NGINX) if transport == "http" else wanted


def most_at_once(transport: Transport) -> int:
    """Workers that can all be kept busy: through nginx as many as it serves at once, less those
    that wait."""
    return MOST_THROUGH_NGINX - AHEAD if transport == "http" else UPPER_WORKERS


def connections_for(workers: int, transport: Transport) -> int:
    """Connections of an open loop: more than a pool has workers, and over FastCGI more than its
    backlog, so that this can overflow."""
    return min(MOST_THROUGH_NGINX, max(OPEN_CONNECTIONS, 2 * workers)) if transport == "http" else max(2 * BACKLOG, 2 * workers)


def requests_for(in_flight: int, rate_per_s: float, *, least: int = 0, most_s: float = MOST_VISIT_S) -> int:
    """Requests of a closed visit: a second's, or ten for each in flight, or `least`, unless these
    would take more than `most_s` seconds."""
    wanted = max(round(rate_per_s * VISIT_S), IN_FLIGHT * in_flight, least)
    return max(min(wanted, round(rate_per_s * most_s)), 2 * in_flight)


class Pools:
    """Starts pools of one app and visits them; used on the helpers' cores."""

    def __init__(
        self,
        bench: Bench,
        shared: SharedMeters,
        *,
        arm_of: Callable[[Mapping[str, str]], Arm],
        workload: Workload,
        transport: Transport,
        seed: int,
        clock: BudgetClock,
        budget_s: float,
        progress: Progress,
        threads: int = 1,
    ) -> None:
        """`arm_of` gives the arm of a pool by what its settings add; the generator begins with so
        many `threads`."""
        self.bench = bench
        self.clock = clock
        self.progress = progress
        self.workload = workload
        self.transport = transport
        self.threads = threads
        self._shared = shared
        self._arm_of = arm_of
        self._seed = seed
        self.budget_s = budget_s
        self._answer_check = AnswerCheck(workload)
        carried = SweepPlan(bench.app.name, bench.app.version, workload, (), points=(), transport=transport, seed=seed)
        self._visitor = Visitor(carried, bench.cores, shared, driver=self._driver_of, network_apart=counts_interrupts_apart())

    # ---- answers ------------------------------------------------------------------------------

    def learn(self) -> None:
        """Ask every target a few times: answers that may not be timed are refused here. Raises
        DynoError."""
        self.tell("learning the answers")
        with self.bench.running([self.arm({"pool.pm.max_children": "1"})]) as (instance,):
            driven = DrivenInstance(instance, self.driver(instance, 1))
            try:
                self._answer_check.learn(driven)
                for words in (*self._answer_check.remarks(), *self._answer_check.said_in_pages()):
                    self.progress.note(words)
            finally:
                driven.driver.close()

    # ---- pools --------------------------------------------------------------------------------

    def arm(self, pool: Mapping[str, str]) -> Arm:
        """The arm of a pool; static unless it says otherwise."""
        return self._arm_of({"pool.pm": "static", **pool})

    def driver(self, instance: LiveInstance, in_flight: int, workload: Workload | None = None) -> LoopDriver:
        """A driver of the workload that goes on through failed requests."""
        return native_driver(
            instance,
            workload or self.workload,
            self.transport,
            in_flight,
            lengths=self._answer_check.lengths_of(instance.arm.name),
            keep_conn=False,
            max_failures=UNLIMITED,
            threads=self.threads,
        )

    def _driver_of(self, instance: LiveInstance, in_flight: int) -> LoopDriver:
        return self.driver(instance, in_flight)

    @contextmanager
    def running(
        self, workers: int, *, workload: Workload | None = None, more: Mapping[str, str] | None = None
    ) -> Iterator[tuple[Instance, Warm]]:
        """A fresh static pool, each of its workers warm; `more` are further settings.

        Raises ArmFailed, and OutOfMemory where it took too much.
        """
        arm = self.arm({"pool.pm.max_children": str(workers), **(more or {})})
        with self.guarded(arm, workers) as instance:
            yield instance, self.warm(instance, workers, workload)

    @contextmanager
    def guarded(self, arm: Arm, workers: int) -> Iterator[Instance]:
        """A fresh pool that is ended when the host's memory runs short. Raises ArmFailed,
        OutOfMemory."""
        with self.bench.running([arm]) as (instance,):
            guard = MemoryGuard(instance.php_pid)
            try:
                with guard:
                    yield instance
            except DynoError as error:
                if guard.hit_kib is not None:
                    raise OutOfMemory(workers, guard.hit_kib) from error
                raise
            if guard.hit_kib is not None:
                raise OutOfMemory(workers, guard.hit_kib)

    def warm(self, instance: Instance, workers: int, workload: Workload | None = None) -> Warm:
        """Serve every target until nothing changes any more. Raises RequestFailed."""
        asked = workload or self.workload
        driven = DrivenInstance(instance, self.driver(instance, workers, asked))
        try:
            weights = [target.weight for target in asked.targets]
            return warm_up(driven, self._shared, metric="throughput", weights=weights, env_names=(), workers=workers)
        finally:
            driven.driver.close()

    def visits(self, workers: int, loads: Callable[[Warm], Sequence[PoolLoad]], *, number: int) -> tuple[Visit, ...]:
        """A fresh pool of so many workers, visited at each of the loads that follow from how it was
        when warm.

        The pool's memory is read after the first. Raises ArmFailed, also where no request of a
        visit gets a valid answer; OutOfMemory.
        """
        with self.running(workers) as (instance, warm), Guest(instance) as guest:
            made = []
            for place, load in enumerate(loads(warm)):
                offered = f"{load.rate_per_s:.3g} requests/s arrive" if load.rate_per_s else f"{load.in_flight} in flight"
                self.tell(f"{workers} workers, {offered}")
                made.append(self._counted(guest, load, number=number * 8 + place, remember=place == 0))
            return tuple(made)

    def _counted(self, guest: Guest, load: PoolLoad, *, number: int, remember: bool) -> Visit:
        """One visit, made again where a covariate that was declared beforehand excludes it; the
        last one where it always does."""
        visit = self.visit(guest, load, number=number, remember=remember)
        memory = visit.memory
        for again in range(1, AGAIN):
            if not visit.excluded or load.rate_per_s:
                break
            self.progress.note(f"a visit does not count ({visit.excluded}): once more")
            visit = self.visit(guest, load, number=number + 100_000 * again)
        return structs.replace(visit, memory=memory) if memory is not None else visit

    def visit(self, guest: Guest, load: PoolLoad, *, number: int, remember: bool = False, opening: bool = True) -> Visit:
        """One visit of a running pool, after some requests that open connections unless it shall
        find the pool as it is.

        Raises ArmFailed where nothing is answered, or a server has ended.
        """
        sequence = deal(self._chance(number, 1), [target.weight for target in self.workload.targets], load.requests)
        offsets = None
        if load.rate_per_s:
            offsets = poisson(constant(load.rate_per_s, load.requests / load.rate_per_s), self._chance(number, 2))
        order = VisitOrder(Point(load.in_flight, 1.0 if load.rate_per_s else 0.0), sequence, offsets, load.rate_per_s)
        visit = self._visitor.visit(guest, order, number, remember=remember, opening=opening)
        instance = guest.instance
        if broken := instance.broken():
            raise ArmFailed(instance.arm, broken)
        if not visit.valid:
            raise ArmFailed(instance.arm, f"no request gets a valid answer: {in_words(visit.kinds)}")
        return visit

    # ---- what the onlooker is told --------------------------------------------------------------

    def tell(self, what: str) -> None:
        """What is being done, and how much of the budget is used up."""
        self.progress.phase(what)
        self.progress.tick(self.clock.spent_s(), self.budget_s, what)

    def _chance(self, *numbers: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([self._seed, *numbers])))


def now_s(clock: BudgetClock) -> float:
    """Seconds of the budget that are used up, rounded to what a record needs."""
    return round(clock.spent_s(), 3)
