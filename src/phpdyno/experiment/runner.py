"""The measuring loop: fresh instances, warm-up, pairs, one observation per treatment, verdicts; block after block until decided."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, structs

from phpdyno.errors import DynoError
from phpdyno.experiment.block import BlockReading, measure_block, observe
from phpdyno.experiment.calibration import calibrate
from phpdyno.experiment.gate import Gate
from phpdyno.experiment.lanes import make_lane
from phpdyno.experiment.progress import Progress
from phpdyno.experiment.samples import save_samples
from phpdyno.experiment.schedule import schedule_block
from phpdyno.experiment.slot import Lane, SharedMeters
from phpdyno.experiment.state import FAILED, RunState
from phpdyno.experiment.warmup import CAP_S, Warm, warm_up
from phpdyno.host.cores import on_cores
from phpdyno.journal.records import Answers, BlockDone, Calibrated, Concluded, Incident, Proved, Record
from phpdyno.journal.writer import JournalWriter
from phpdyno.knobs.judge import not_effective, prove, risks_of
from phpdyno.model.arm import Arm
from phpdyno.model.observation import Observation
from phpdyno.model.verdict import ProofOutcome, Verdict
from phpdyno.stack.bench import Bench
from phpdyno.stack.instance import ArmFailed, Instance
from phpdyno.stats.conclusion import conclude
from phpdyno.stats.judge import decided
from phpdyno.stats.sequence import least_blocks

TICK_S = 0.5
DATABASE_END_S = 1.0


class Warmed(Struct, frozen=True):
    """The lanes of one block after warm-up, and what each arm's worker showed."""

    control: Lane
    treatments: dict[str, Lane]
    warm: dict[str, Warm]
    took_s: float


class Runner:
    """Measures one plan on one bench and journals all of it."""

    def __init__(
        self, state: RunState, bench: Bench, shared: SharedMeters, journal: JournalWriter, *, run: Path, progress: Progress
    ) -> None:
        self.state = state
        self.plan = state.plan
        self.bench = bench
        self.shared = shared
        self.journal = journal
        self.run_dir = run
        self.progress = progress
        self.gate = Gate(self.plan.workload)
        self._arms = {arm.name: arm for arm in self.plan.treatments}
        self._session_start = time.monotonic()
        self._spent_before_s = state.spent_s
        self._last_tick = 0.0
        self._last_block_s = math.inf
        self._journaled_answers: set[str] = set()

    # ---- the loop -----------------------------------------------------------------------------

    def measure(self) -> None:
        """Blocks until every treatment has a verdict or the budget is spent; then the rest are concluded as they stand."""
        with on_cores(self.bench.cores.helpers):
            self._measure_all()

    def _measure_all(self) -> None:
        while self.state.open_treatments() and self._another_block_fits():
            try:
                self._one_block()
            except ArmFailed as failure:
                self._invalidate(self.state.next_block, failure.arm, failure.what)
        for name in self.state.open_treatments():
            self._conclude(name, reason="the budget is spent")

    def spent_s(self) -> float:
        """Seconds of the budget that are used up, earlier sessions of the run included."""
        return self._spent_before_s + time.monotonic() - self._session_start

    def _another_block_fits(self) -> bool:
        plan = self.state.calibrated
        if plan is None:
            return True
        # The last block is the better forecast once treatments are settled and blocks are shorter.
        return self.spent_s() + min(plan.block_s + plan.overhead_s, self._last_block_s) <= self.plan.budget_s

    def _one_block(self) -> None:
        block = self.state.next_block
        self._phase(f"block {block + 1}: starting and warming up")
        started = time.monotonic()
        with self._live_arms(block) as instances:
            up_s = time.monotonic() - started
            warmed = self._warm_all(block, instances)
            if not warmed.treatments:
                return
            calibrated = self.state.calibrated or self._calibrate(warmed, up_s + warmed.took_s)
            self._phase(f"block {block + 1}: measuring")
            began = self.spent_s()
            schedule = schedule_block(
                seed=self.plan.seed,
                block=block,
                pairs={name: calibrated.pairs[name] for name in warmed.treatments},
                weights=[target.weight for target in self.plan.workload.targets],
                slot_requests=calibrated.slot_requests,
            )
            reading = measure_block(
                schedule, control=warmed.control, treatments=warmed.treatments, shared=self.shared, tick=lambda _: self._tick()
            )
            self._take_failures(block, reading, warmed)
            self._recheck_answers(block, warmed, reading)
        self._last_block_s = time.monotonic() - started
        self._take_block(block, began, reading, tuple(warmed.treatments))

    # ---- bringing arms up ---------------------------------------------------------------------

    @contextmanager
    def _live_arms(self, block: int) -> Iterator[list[Instance]]:
        """Instances of the control and of every open treatment; a treatment that does not start is concluded invalid."""
        while True:
            arms = [self.plan.control, *(self._arms[name] for name in self.state.open_treatments())]
            try:
                instances = self.bench.start(arms)
            except ArmFailed as failure:
                self._invalidate(block, failure.arm, failure.what)
                continue
            break
        try:
            yield instances
        finally:
            self.bench.stop(instances)

    def _lane(self, instance: Instance) -> Lane:
        plan = self.plan
        panel = plan.panels()[0]
        return make_lane(instance, self.bench, panel, workload=plan.workload, transport=plan.transport, lengths=self.gate.lengths)

    def _warm_all(self, block: int, instances: Sequence[Instance]) -> Warmed:
        """Check answers, warm up and prove each arm; treatments that fail are concluded invalid and left out."""
        control, *rest = instances
        if not self.gate.learnt:
            self._phase("learning the control's answers")
            self._record(Answers(control.arm.name, equal=True, detail="reference", targets=self.gate.learn(self._lane(control))))
            self._phase(f"block {block + 1}: warming up")
        start = time.monotonic()
        lane = self._lane(control)
        warm = {control.arm.name: self._warm_one(block, lane)}
        if control.arm.name not in self.state.proofs:
            self._record(Proved(control.arm.name, warm[control.arm.name].facts, ()))
        lanes: dict[str, Lane] = {}
        for instance in rest:
            name = instance.arm.name
            try:
                lanes[name] = self._lane(instance)
                self._check_answers(block, lanes[name], lane)
                warm[name] = self._warm_one(block, lanes[name])
                self._prove(instance.arm, warm[control.arm.name], warm[name])
            except ArmFailed as failure:
                self._invalidate(block, instance.arm, failure.what)
                lanes.pop(name, None)
        return Warmed(lane, lanes, warm, time.monotonic() - start)

    def _warm_one(self, block: int, lane: Lane) -> Warm:
        self._tick()
        names = tuple(key.removeprefix("env.") for arm in self.plan.treatments for key in arm.settings if key.startswith("env."))
        warm = warm_up(
            lane,
            self.shared,
            weights=[target.weight for target in self.plan.workload.targets],
            env_names=names,
            workers=self.plan.concurrency,
        )
        if not warm.steady:
            self._record(
                Incident(block, lane.instance.arm.name, "not steady", f"opcache or JIT still changed after {CAP_S:.0f} s of warm-up")
            )
        return warm

    def _check_answers(self, block: int, lane: Lane, control: Lane) -> None:
        outcome = self.gate.check(lane, control)
        if not outcome.equal:
            self._require_database(block)
        name = lane.instance.arm.name
        if name not in self._journaled_answers or not outcome.equal:
            self._journaled_answers.add(name)
            self._record(Answers(name, equal=outcome.equal, detail=outcome.detail, targets=outcome.targets))
        if not outcome.equal:
            raise ArmFailed(lane.instance.arm, f"it answers differently from the control: {outcome.detail}")

    def _prove(self, arm: Arm, control: Warm, warm: Warm) -> None:
        outcomes: tuple[ProofOutcome, ...] = prove(arm.changed, control.facts, warm.facts, self.plan.control.settings)
        idle = not_effective(outcomes)
        if arm.name not in self.state.proofs or idle:
            self._record(Proved(arm.name, warm.facts, outcomes))
        if idle:
            raise ArmFailed(arm, idle)

    # ---- what a block yields ------------------------------------------------------------------

    def _calibrate(self, warmed: Warmed, overhead_s: float) -> Calibrated:
        calibrated = calibrate(
            request_wall_ns={
                warmed.control.instance.arm.name: warmed.warm[warmed.control.instance.arm.name].request_wall_ns,
                **{name: warmed.warm[name].request_wall_ns for name in warmed.treatments},
            },
            control=warmed.control.instance.arm.name,
            control_cpu_ns=warmed.warm[warmed.control.instance.arm.name].request_cpu_ns,
            overhead_s=overhead_s,
            budget_s=self.plan.budget_s,
            least_blocks=least_blocks(self.plan.alpha),
            slot_requests=self.plan.slot_requests,
            concurrency=self.plan.concurrency,
        )
        self._record(calibrated)
        self.progress.note(calibrated.note)
        return calibrated

    def _take_failures(self, block: int, reading: BlockReading, warmed: Warmed) -> None:
        """Requests that failed while measuring: an arm that crashed, or fails too often, is invalid."""
        if reading.failed:
            self._require_database(block)
        for name, words in reading.failed.items():
            self._count_failure(block, warmed.treatments.get(name, warmed.control), words)

    def _count_failure(self, block: int, lane: Lane, words: str) -> None:
        arm, why = lane.instance.arm, lane.instance.complaint()
        detail = words + (f"; {why}" if why and why not in words else "")
        self._record(Incident(block, arm.name, FAILED, detail))
        crashed = lane.instance.crashes() or lane.instance.broken()
        if crashed or self.state.failed_blocks[arm.name] > self.plan.max_failed_blocks:
            self._invalidate(block, arm, f"requests fail while measuring: {detail}")

    def _recheck_answers(self, block: int, warmed: Warmed, reading: BlockReading) -> None:
        """After the slots: every arm must still answer as the control; one target a block, all of them in turn."""
        for name, lane in warmed.treatments.items():
            if name in reading.failed or name in self.state.verdicts:
                continue
            try:
                differs = self.gate.still_differs(lane, warmed.control, block)
            except ArmFailed as failure:
                self._require_database(block)
                self._count_failure(block, lane if failure.arm is lane.instance.arm else warmed.control, failure.what)
                continue
            if differs:
                self._invalidate(block, lane.instance.arm, f"it answers differently from the control after the block: {differs}")

    def _take_block(self, block: int, began_s: float, reading: BlockReading, treatments: tuple[str, ...]) -> None:
        control_failed = reading.failed.get(self.plan.control.name, "")
        observations: list[Observation] = []
        for name in treatments:
            seen = observe(block, name, reading, max_steal=self.plan.max_steal, failure=control_failed or reading.failed.get(name, ""))
            if seen is not None and name not in self.state.verdicts:
                observations.append(seen)
        samples = save_samples(self.run_dir, block, reading, treatments)
        self._record(BlockDone(block, began_s, self.spent_s(), tuple(observations), samples))
        for name in self.state.open_treatments():
            verdict = self._verdict(name)
            if decided(verdict.kind, verdict.relevance):
                self._record(Concluded(verdict))

    def _verdict(self, name: str, reason: str = "") -> Verdict:
        verdict = conclude(
            name,
            self.state.observations,
            alpha=self.plan.alpha,
            margin=self.plan.margin,
            reason=reason,
            proofs=self.state.proofs.get(name, ()),
        )
        if verdict.kind != "improved":
            return verdict
        return structs.replace(verdict, warnings=(*verdict.warnings, *risks_of(self._arms[name].changed)))

    def _conclude(self, name: str, *, reason: str) -> None:
        self._record(Concluded(self._verdict(name, reason)))

    def _require_database(self, block: int) -> None:
        """No arm is to blame for a database that ended."""
        database = self.bench.database
        # A query fails a moment before the process is gone for good.
        if database is not None and database.child.wait(DATABASE_END_S):
            raise DynoError(
                f"MariaDB {database.child.ended_how()} during block {block + 1}: {database.child.tail()}",
                next_step="blocks finished so far are kept: continue with --resume",
            )

    def _invalidate(self, block: int, arm: Arm, why: str) -> None:
        """A treatment gets no number and is measured no further; the same from the control ends the run."""
        self._require_database(block)
        if arm.name == self.plan.control.name:
            raise DynoError(f"the control cannot be measured: {why}", next_step=f"see {self.run_dir / 'logs'}")
        self._record(Incident(block, arm.name, "invalid", why))
        self._record(Concluded(Verdict(arm.name, "invalid", reason=why, proofs=self.state.proofs.get(arm.name, ()))))

    # ---- telling --------------------------------------------------------------------------------

    def _record(self, record: Record) -> None:
        self.journal.append(record)
        self.state.take(record)

    def _phase(self, text: str) -> None:
        self.progress.phase(text)

    def _tick(self) -> None:
        now = time.monotonic()
        if now - self._last_tick >= TICK_S:
            self._last_tick = now
            settled = len(self.state.verdicts)
            self.progress.tick(self.spent_s(), self.plan.budget_s, f"{settled} of {len(self.plan.treatments)} settled")
