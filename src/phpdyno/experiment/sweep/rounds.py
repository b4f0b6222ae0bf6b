"""Measures a sweep: rounds of fresh instances, each visited at every point, until those that fit in
the budget are done."""

import statistics
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from msgspec import Struct

from phpdyno.drive.driver import LoopDriver, in_words
from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.experiment.common.clock import BudgetClock
from phpdyno.experiment.common.driven_instances import UNLIMITED, native_driver
from phpdyno.experiment.common.limits.threads import threads_for
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters
from phpdyno.experiment.common.stage import LiveInstance
from phpdyno.experiment.common.warm_up import Warm, warm_up
from phpdyno.experiment.sweep.plan import (
    ArmTurn,
    PilotArm,
    busy_workers,
    fits,
    forecast,
    largest,
    lengths_of,
    offsets_of,
    pilot_requests,
    round_order,
    sequence_of,
)
from phpdyno.experiment.sweep.visiting import Guest, Visitor, VisitOrder
from phpdyno.host.cores import on_cores
from phpdyno.host.sockets.kernel_network import counts_interrupts_apart
from phpdyno.journal.sweep import ArmSeen, Lengths, Noticed, Sweep, Visited
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.arm import Arm
from phpdyno.model.runs.bottleneck import Load
from phpdyno.model.runs.sweep import Point, SweepPlan, Visit
from phpdyno.server_files.php import most_workers
from phpdyno.servers.bench import Bench
from phpdyno.servers.instance import ArmFailed, Instance
from phpdyno.stats.visits import LEAST_ROUNDS, counting, load_over, throughput_of

MOST_EXTRA = 2
"""Rounds beyond the planned ones for points whose visits were excluded: what is excluded every time
stays without an interval."""


class Begun(Struct, frozen=True):
    """What earlier sessions of a sweep have done: how many whole rounds, their visits, and their
    lengths (None before they are known)."""

    rounds: int = 0
    lengths: Lengths | None = None
    visits: tuple[Visit, ...] = ()

    @classmethod
    def of(cls, sweep: Sweep) -> Self:
        """What was begun, as its record says."""
        return cls(sweep.rounds, sweep.lengths, sweep.visits)


class SweepRunner:
    """The rounds of one plan; all of it is journaled. Used on the helpers' cores."""

    def __init__(
        self,
        plan: SweepPlan,
        bench: Bench,
        shared: SharedMeters,
        journal: JournalWriter,
        *,
        clock: BudgetClock,
        progress: Progress,
        begun: Begun,
    ) -> None:
        self.plan = plan
        self.bench = bench
        self.progress = progress
        self._shared = shared
        self._journal = journal
        self._clock = clock
        self._begun = begun
        self._answer_check = AnswerCheck(plan.workload)
        self._threads = begun.lengths.threads if begun.lengths else 1
        self._budget_s = (begun.lengths.budget_s if begun.lengths else 0.0) or plan.budget_s
        self._counted = Counter((visit.arm, visit.point) for visit in counting(begun.visits))
        self._visitor = Visitor(plan, bench.cores, shared, driver=self.driver, network_apart=counts_interrupts_apart())

    def measure(self) -> None:
        """All rounds that fit. Raises DynoError when an arm cannot be measured, BudgetTooSmall when
        fewer than three rounds fit."""
        with on_cores(self.bench.cores.helpers):
            self._compare_answers()
            lengths = self._begun.lengths
            if lengths is None:
                lengths = self._first_round()
                self._journal.append(lengths)
                self._budget_s = lengths.budget_s
                self.progress.note(forecast(self.plan, lengths, self._clock.spent_s()))
            done = self._begun.rounds
            # Until one was measured: the planned ones and a spare share the budget.
            round_s = self._budget_s / (lengths.rounds + 1)
            while self._goes_on(lengths, done, round_s):
                began = time.monotonic()
                self._round(done + 1, lengths)
                done, round_s = done + 1, time.monotonic() - began
            if done < lengths.rounds:
                self.progress.note(f"the budget is spent after {done} of {lengths.rounds} rounds")
        self._clock.stop()

    def _goes_on(self, lengths: Lengths, done: int, round_s: float) -> bool:
        """Whether there is another round: while it fits, and where exclusions left a point without
        an interval and nobody set a budget."""
        spent_s = self._clock.spent_s()
        if fits(lengths, done=done, spent_s=spent_s, budget_s=self._budget_s, round_s=round_s):
            return True
        lacking = any(self._counted[arm.name, point] < LEAST_ROUNDS for arm in self.plan.arms for point in self.plan.points)
        if not lacking or done >= lengths.rounds + MOST_EXTRA or spent_s + round_s > self.plan.most_budget_s:
            return False
        self.progress.note("another round: visits were excluded, and without it some point has no interval")
        return True

    def driver(self, instance: LiveInstance, concurrency: int) -> LoopDriver:
        """A driver of the whole workload; it goes on through failed requests, which are counted."""
        plan = self.plan
        return native_driver(
            instance,
            plan.workload,
            plan.transport,
            concurrency,
            lengths=self._answer_check.lengths_of(instance.arm.name),
            keep_conn=plan.keep_conn,
            max_failures=UNLIMITED,
            threads=self._threads,
        )

    @contextmanager
    def running(self, arm: Arm) -> Iterator[tuple[Instance, Warm]]:
        """A fresh instance of an arm, warm on as many workers as the load keeps busy. Raises
        ArmFailed."""
        busy = busy_workers(self.plan, arm)
        names = tuple(key.removeprefix("env.") for each in self.plan.arms for key in each.settings if key.startswith("env."))
        with self.bench.running([arm]) as (instance,):
            driven = DrivenInstance(instance, self.driver(instance, busy))
            weights = [target.weight for target in self.plan.workload.targets]
            warm = warm_up(driven, self._shared, metric="throughput", weights=weights, env_names=names, workers=busy)
            driven.driver.close()
            if not warm.steady:
                self.progress.note(f"{arm.name}: opcache or JIT still changed when warm-up ended")
            yield instance, warm

    # ---- answers ------------------------------------------------------------------------------

    def _compare_answers(self) -> None:
        """Learn the first arm's answers and hold the others' against them. Raises ArmFailed for an
        arm that answers differently."""
        first, *others = self.plan.arms
        self.progress.phase("learning the answers")
        with self.bench.running([first]) as (instance,), self._driven(instance) as reference:
            self._answer_check.learn(reference)
            self._tell_messages(first)
            for arm in others:
                self.progress.phase(f"{arm.name}: does it answer as {first.name} does")
                with self.bench.running([arm]) as (other,), self._driven(other) as driven:
                    given = [driven.driver.fetch(index) for index in range(len(self.plan.workload.targets))]
                    outcome = self._answer_check.check(driven, reference, given, at_once=False)
                self._tell_messages(arm)
                if not outcome.equal:
                    raise ArmFailed(arm, f"it answers differently from {first.name}: {outcome.detail}")

    def _tell_messages(self, arm: Arm) -> None:
        """Say what PHP complained of in the pages that an arm gave, and keep it for the report."""
        messages = (f"{arm.name}: {words}" for words in self._answer_check.said_in_pages())
        if said := (*self._answer_check.remarks(), *messages):
            self._journal.append(Noticed(said))
            for each in said:
                self.progress.note(each)

    @contextmanager
    def _driven(self, instance: Instance) -> Iterator[DrivenInstance]:
        driven = DrivenInstance(instance, self.driver(instance, 1))
        try:
            yield driven
        finally:
            driven.driver.close()

    # ---- rounds -------------------------------------------------------------------------------

    def _first_round(self) -> Lengths:
        """The round that sizes the others; it is not measured. Where the generator's thread was the
        limit, there is another one on more."""
        pilots = self._pilots()
        threads = threads_for(load for pilot in pilots.values() for load in pilot.loads)
        if threads > 1:
            self._threads = threads
            self.progress.note(f"the generator's thread was the limit: it drives on {threads} from now on")
            pilots = self._pilots()
        return lengths_of(self.plan, pilots, self._clock.spent_s(), threads)

    def _pilots(self) -> dict[str, PilotArm]:
        return {turn.arm: self._pilot(turn) for turn in round_order(self.plan, 0)}

    def _pilot(self, turn: ArmTurn) -> PilotArm:
        began = time.monotonic()
        arm = self._arm(turn.arm)
        rates: dict[Point, float] = {}
        loads: list[Load] = []
        visits_s: list[float] = []
        driven_s: list[float] = []
        self._tell(0, arm, "starting")
        with self.running(arm) as (instance, warm), Guest(instance) as guest:
            self._journal.append(ArmSeen(arm.name, warm.facts))
            for point in turn.points:
                requests = pilot_requests(self.plan, point, warm.request_wall_ns, busy_workers(self.plan, arm))
                order = VisitOrder(point, sequence_of(self.plan, 0, point, requests))
                visit_began = time.monotonic()
                visit = self._visit(guest, order, 0)
                visits_s.append(time.monotonic() - visit_began)
                driven_s.append(visit.drive_ns / 1e9)
                if not visit.valid:
                    raise ArmFailed(arm, f"no request gets a valid answer at c = {point.concurrency}: {in_words(visit.kinds)}")
                rates[point] = throughput_of(visit)
                loads += self._loads_of(visit)
        beside_s = max(0.0, statistics.fmean(visits_s) - statistics.fmean(driven_s))
        return PilotArm(rates, up_s=time.monotonic() - began - sum(visits_s), beside_s=beside_s, loads=tuple(loads))

    def _loads_of(self, visit: Visit) -> list[Load]:
        """What was full at one closed point; empty where it cannot be told."""
        cores = self.bench.cores
        workers = most_workers(self._arm(visit.arm))
        beside = bool(cores.nginx)
        found = load_over([visit], workers=workers, php_cores=cores.measured, helper_cores=cores.helpers, web_beside_php=beside)
        return [found] if found else []

    def _round(self, number: int, lengths: Lengths) -> None:
        """Every point of every arm once, journaled visit by visit."""
        for turn in round_order(self.plan, number):
            arm = self._arm(turn.arm)
            self._tell(number, arm, "starting", of=lengths.rounds)
            with self.running(arm) as (instance, _), Guest(instance, asking=not reads_memory(number)) as guest:
                for point in turn.points:
                    visit = self._visit(guest, self._order(arm, point, number, lengths), number, of=lengths.rounds)
                    self._journal.append(Visited(visit, self._clock.spent_s()))
                    self._counted[arm.name, point] += not visit.excluded

    def _visit(self, guest: Guest, order: VisitOrder, number: int, *, of: int = 0) -> Visit:
        arm, point = guest.instance.arm, order.point
        load = f"{order.rate_per_s:.0f} requests/s offered" if point.open_share else f"c = {point.concurrency}"
        self._tell(number, arm, load, of=of)
        # A round that only sizes the others asks nothing: neither memory nor status is kept of it.
        visit = self._visitor.visit(guest, order, number, remember=reads_memory(number) and point == largest(self.plan.points))
        if broken := guest.instance.broken():
            raise ArmFailed(arm, broken)
        return visit

    def _order(self, arm: Arm, point: Point, number: int, lengths: Lengths) -> VisitOrder:
        requests = lengths.requests[arm.name][self.plan.points.index(point)]
        sequence = sequence_of(self.plan, number, point, requests)
        if not point.open_share:
            return VisitOrder(point, sequence)
        rate = lengths.open_rate_per_s[arm.name]
        return VisitOrder(point, sequence, offsets_of(self.plan, number, point, requests, rate), rate)

    def _arm(self, name: str) -> Arm:
        return next(arm for arm in self.plan.arms if arm.name == name)

    def _tell(self, number: int, arm: Arm, what: str, *, of: int = 0) -> None:
        which = f"round {number} of {max(number, of)}" if number else "first round, not measured"
        whose = f"{arm.name}, " if len(self.plan.arms) > 1 else ""
        self.progress.phase(f"{which}: {whose}{what}")
        self.progress.tick(self._clock.spent_s(), self._budget_s, which)


def reads_memory(number: int) -> bool:
    """Whether a round reads memory; the others ask for the status page from the start, which would
    change what is read."""
    return number % 2 == 1
