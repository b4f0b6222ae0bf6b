"""The measuring loop of one panel: waves of live instance sets, a block on each, one observation
per treatment and block."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.experiment.common.loaded_answers import LoadedAnswers
from phpdyno.experiment.common.samples import save_samples
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters
from phpdyno.experiment.common.stage import LiveInstance, RequestFailed, Stage
from phpdyno.experiment.comparison.block import (
    BlockReading,
    estimate_pairs,
    excluded_for,
    is_measurable,
    lag_fraction,
    measure_block,
    observe,
)
from phpdyno.experiment.comparison.calibration import MOST_ALIVE
from phpdyno.experiment.comparison.findings import Findings
from phpdyno.experiment.comparison.in_app_proof import InAppProof
from phpdyno.experiment.comparison.instance_set import InstanceSet, InstanceSetStart
from phpdyno.experiment.comparison.logbook import Logbook
from phpdyno.experiment.comparison.more_answers import LEAST_S, MoreAnswers
from phpdyno.experiment.comparison.panel_plan import PanelPlanner
from phpdyno.experiment.comparison.planning import carries_over, carry_over_pairs, carry_over_s
from phpdyno.experiment.comparison.schedule import draw_order, schedule_block
from phpdyno.experiment.comparison.state import DROPPED
from phpdyno.journal.records import BlockBegun, BlockDone, Calibrated, CarriedOver
from phpdyno.model.arm import AA, Arm
from phpdyno.model.observation import Observation
from phpdyno.model.plan import Panel
from phpdyno.servers.instance import ArmFailed
from phpdyno.stats.comparison.judge import decided

RECENT_BLOCKS = 3
"""The median of so many is the forecast of the next."""
CARRY_OVER_SEED = 2_000_003


class PanelRunner:
    """Measures the treatments of one panel."""

    def __init__(
        self,
        panel: Panel,
        *,
        log: Logbook,
        findings: Findings,
        bench: Stage,
        shared: SharedMeters,
        run: Path,
        answer_check: AnswerCheck,
        loaded: LoadedAnswers,
        driven: Callable[[LiveInstance], DrivenInstance],
    ) -> None:
        self.panel = panel
        self.log = log
        self.spent_s = log.state.seconds_of(panel)
        self._findings = findings
        self._bench = bench
        self._shared = shared
        self._run = run
        self._starter = InstanceSetStart(
            panel, log, findings, shared, answer_check=answer_check, loaded=loaded, cores=bench.cores, driven=driven
        )
        self._more_answers = MoreAnswers(self._starter, findings, shared)
        self._in_app = InAppProof(log, findings)
        self._recent_s: list[float] = []
        self._at_once = MOST_ALIVE
        self.planner = PanelPlanner(panel, log, self._starter, shared, bench)

    def open_treatments(self) -> list[str]:
        """Names of its treatments without a verdict."""
        return self.log.state.open_treatments(self.panel)

    @property
    def turn(self) -> int:
        """How many blocks its treatments have had."""
        names = {arm.name for arm in self.panel.treatments}
        return len({seen.block for seen in self.log.state.observations if seen.treatment in names})

    def calibrate(self) -> None:
        """Start one instance set, and measure what the plan of the blocks rests on; once, and only
        while something is open. Raises BudgetTooSmall where that of two instance sets says that
        nothing can be decided."""
        if self.planner.calibrated or self.log.plan.fixed or not self.open_treatments():
            return
        while self.planner.found is None and self.open_treatments():
            self.log.phase("starting the control and the treatments")
            began = time.monotonic()
            with self._live_sets(1) as (instances,), self._chances():
                up_s = time.monotonic() - began
                instance_set = self._starter.bring_up(instances)
                # One that a chance failure kept out comes along next time: the plan needs to know
                # what its requests take.
                if instance_set.treatments and set(instance_set.treatments) == set(self.open_treatments()):
                    self.planner.calibrate(instance_set, up_s)
                    self._in_app.prove(instance_set)

    @contextmanager
    def _chances(self) -> Iterator[None]:
        """A request that fails outside of the slots counts like one in them; any other failure of
        an arm is final."""
        block = self.log.state.next_block
        try:
            yield
        except RequestFailed as failure:
            self._findings.require_database()
            self._findings.count_failure(block, failure)
        except ArmFailed as failure:
            self._findings.invalidate(failure.arm, failure.what)

    def fits(self) -> bool:
        """Whether another block is wanted and fits in the budget."""
        plan, fixed = self.planner.calibrated, self.log.plan.fixed
        if plan is None or self.log.plan.trial or (fixed and self.turn >= fixed.blocks):
            return False
        # What blocks took is the better forecast: treatments get settled, and not all that a block
        # takes is in the plan.
        forecast_s = median(self._recent_s[-RECENT_BLOCKS:]) if self._recent_s else plan.block_s + plan.overhead_s
        return forecast_s <= self.log.left_s()

    def wave(self) -> None:
        """One block on each of the instance sets that are started together."""
        began = time.monotonic()
        count = self._instance_sets()
        self.log.phase(f"block {self.log.state.next_block + 1}: starting")
        with self._live_sets(count) as instance_sets:
            up_s = (time.monotonic() - began) / len(instance_sets)
            for instances in instance_sets:
                if not self.open_treatments() or not self.fits():
                    break
                with self._chances():
                    self._one_block(instances, up_s)
        self.spent_s += time.monotonic() - began

    def _instance_sets(self) -> int:
        """How many instance sets to start at once: as planned, and no more than there is time
        for."""
        plan = self.planner.calibrated
        if plan is None:
            return 1
        return max(1, min(plan.alive, self._at_once, int(self.log.left_s() / (plan.block_s + plan.overhead_s))))

    def _one_block(self, instances: Sequence[LiveInstance], up_s: float) -> None:
        block = self.log.state.next_block
        started = time.monotonic()
        self.log.record(BlockBegun(block, tuple(each.arm.name for each in instances[1:] if each.arm.name not in self.log.state.verdicts)))
        self.log.phase(f"block {block + 1}: warming up")
        instance_set = self._starter.bring_up(instances)
        plan = self.planner.calibrated
        if not instance_set.treatments or plan is None:
            return
        self.log.phase(f"block {block + 1}: measuring")
        began = self.log.spent_s()
        reading = self._measure(instance_set, block, plan.pairs, plan.slot_requests)
        self._findings.take_failures(block, reading.failed, instance_set.driven_instances)
        self._starter.look_for_compiling(instance_set, block)
        turn = self.turn
        self._starter.recheck(instance_set, block, turn, list(reading.failed))
        self._starter.take_answers(instance_set, block)
        self._take_block(block, began, reading, instance_set)
        if not reading.failed:
            self._recent_s.append(up_s + time.monotonic() - started)
            self._carry_over(instance_set, plan, block, turn)
            self._starter.take_answers(instance_set, block)
        self._in_app.prove(instance_set)

    def _measure(
        self, instance_set: InstanceSet, block: int, pairs: dict[str, int], slot_requests: int, more_seed: int = 0
    ) -> BlockReading:
        plan = self.log.plan
        schedule = schedule_block(
            seed=plan.seed + more_seed,
            block=block,
            pairs={name: pairs[name] for name in instance_set.treatments if name not in self.log.state.verdicts},
            weights=[target.weight for target in plan.workload.targets],
            slot_requests=slot_requests,
            concurrency=instance_set.control.driver.concurrency,
        )
        reading = measure_block(
            schedule,
            control=instance_set.control,
            treatments=instance_set.treatments,
            shared=self._shared,
            metric=self.panel.metric,
            cores=self._bench.cores.measured,
            tick=self.log.tick,
        )
        self.log.take_clock(reading.clock_step_s, block=block)
        return reading

    def _carry_over(self, instance_set: InstanceSet, plan: Calibrated, block: int, turn: int) -> None:
        """The effects again at other slot lengths, on the same instances: what switching between
        arms costs."""
        if self.panel.concurrency > 1 or self.log.plan.fixed:
            return
        for length in carries_over(plan, turn):
            names = [name for name in instance_set.treatments if name not in self.log.state.verdicts]
            too_short = length * plan.request_wall_ns < instance_set.control.driver.least_slot_ns
            if too_short or not names or carry_over_s(plan, length, names) > self.log.left_s():
                continue
            pairs = dict.fromkeys(names, carry_over_pairs(plan, length))
            reading = self._measure(instance_set, block, pairs, length, CARRY_OVER_SEED + length)
            self._findings.take_failures(block, reading.failed, instance_set.driven_instances)
            for name in names:
                held = reading.of(name)
                if reading.failed or not is_measurable(held, self.panel.metric):
                    continue
                if not excluded_for(self.log.plan.limits_of(self.panel.metric), "", reading.steal_fraction, lag_fraction(held)):
                    found = estimate_pairs(held, self.panel.metric)
                    self.log.record(CarriedOver(block, name, length, found.log_ratio, found.pairs))

    @contextmanager
    def _live_sets(self, count: int) -> Iterator[list[Sequence[LiveInstance]]]:
        """`count` instance sets of the control and every open treatment, or one where so many do
        not start; a treatment that does not start then is concluded invalid."""
        by_name = {arm.name: arm for arm in self.panel.treatments}
        drawn = True
        while True:
            arms = [self.panel.control, *(by_name[name] for name in self.open_treatments())]
            try:
                instances = self._started(arms * count, drawn=drawn)
            except ArmFailed as failure:
                if count > 1:
                    # Memory or huge pages for one may be there, and not for several: no fault of
                    # the arm's.
                    self.log.incident(failure.arm.name, f"{count} sets of instances do not start at once", failure.what)
                    self._at_once = count = 1
                elif drawn:
                    # Where there is no room for all, the last one fails. The control comes first
                    # where one is to be blamed.
                    drawn = False
                else:
                    self._findings.invalidate(failure.arm, failure.what)
                continue
            break
        try:
            yield [instances[at : at + len(arms)] for at in range(0, len(instances), len(arms))]
        finally:
            self._bench.stop(instances)

    def _started(self, arms: Sequence[Arm], *, drawn: bool) -> list[LiveInstance]:
        """An instance of each, started in an order that is drawn, or in this one. Raises
        ArmFailed."""
        if not drawn:
            return list(self._bench.start(arms))
        order = draw_order(len(arms), seed=self.log.plan.seed, block=self.log.state.next_block, stage=0)
        started = dict(zip(order, self._bench.start([arms[place] for place in order]), strict=True))
        return [started[place] for place in range(len(arms))]

    def _take_block(self, block: int, began_s: float, reading: BlockReading, instance_set: InstanceSet) -> None:
        state, treatments = self.log.state, tuple(instance_set.treatments)
        control_failed = reading.failed.get(self.panel.control.name, "")
        observations: list[Observation] = []
        for name in treatments:
            failure = control_failed or reading.failed.get(name, "")
            seen = observe(block, name, reading, plan=self.log.plan, metric=self.panel.metric, failure=failure)
            if seen is None and name not in state.verdicts:
                self.log.incident(name, DROPPED, "nothing to compare: a slot cost nothing, or no pair was completed", block=block)
            elif seen is not None and name not in state.verdicts:
                observations.append(seen)
        samples = save_samples(self._run, block, reading, treatments)
        self.log.record(BlockDone(block, began_s, self.log.spent_s(), tuple(observations), samples))
        if self.log.plan.fixed or self.log.plan.settle == "never":
            self._ask_at_the_end(instance_set, block)
            return
        for name in self.open_treatments():
            if self._settled(name):
                self._settle(instance_set, name, block)

    def _ask_at_the_end(self, instance_set: InstanceSet, block: int) -> None:
        """After the last of fixed blocks, ask what looks better and may be adopted for more
        answers."""
        plan = self.log.plan
        if not plan.may_be_adopted or plan.fixed is None or self.turn < plan.fixed.blocks:
            return
        for name in self.open_treatments():
            effect = self._findings.verdict(name).effect
            if effect is not None and effect.ratio > 1.0 and name != AA:
                self._more_answers.ask(instance_set, name, block, treatments=len(self.open_treatments()), most_s=LEAST_S)

    def _settled(self, name: str) -> bool:
        """Whether more blocks could teach nothing of a treatment. A wrong answer that the control
        may give as well is waited for."""
        if self._findings.may_be_the_controls(name):
            return False
        verdict = self._findings.verdict(name)
        direction = self.log.plan.settle == "direction" and verdict.kind in {"improved", "regressed"}
        return direction or decided(verdict.kind, verdict.relevance)

    def _settle(self, instance_set: InstanceSet, name: str, block: int) -> None:
        """Conclude a treatment, once it has given enough answers to be called improved; where only
        a direction was asked for, nothing is adopted."""
        if self.log.plan.settle == "relevance" and self._findings.verdict(name).kind == "improved":
            self._more_answers.ask(instance_set, name, block, treatments=len(self.log.state.open_treatments()))
        if name not in self.log.state.verdicts and self._settled(name):
            self._findings.conclude(name)
