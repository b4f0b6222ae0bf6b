"""Before the first block: an A/A trace for the slot length, A/A blocks for the noise, and what a
start costs."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno.drive.driver import in_words
from phpdyno.errors import DynoError
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters, measure_slot
from phpdyno.experiment.common.stage import LiveInstance, RequestFailed, Stage
from phpdyno.experiment.comparison.block import late, measure_block, observe
from phpdyno.experiment.comparison.budget import TRACE_SHARE, calibration_s
from phpdyno.experiment.comparison.instance_set import InstanceSet, InstanceSetStart
from phpdyno.experiment.comparison.logbook import BEFORE_BLOCKS
from phpdyno.experiment.comparison.planning import LEAST_PAIRS, LEAST_TRACE, SlotChoice, Timing, base_requests, choose_slot, fixed_slot
from phpdyno.experiment.comparison.schedule import deal, schedule_block
from phpdyno.host.files.small_files import SmallFiles
from phpdyno.model.arm import AA, Arm
from phpdyno.model.facts import WorkerFacts
from phpdyno.model.observation import Observation
from phpdyno.server_files.php import most_workers

MOST_TRACE = 4096
SLOTS_PER_TARGET = 20
CHEAPER = 0.85
"""Starting several instance sets at once has to save more than the estimate scatters by."""
MOST_ALIVE = 4
MEMORY_SHARE = 0.5
INSTANCE_KIB = 200 * 1024
"""What one instance is reckoned with at least: opcache's shared memory of 128 MiB in full, and its
processes."""
SETTLING_NS = 100_000_000
SEED = 1_000_003
"""Added to the plan's seed, so that calibration draws other requests than the blocks."""


class Calibration(Struct, frozen=True):
    """What was measured of a panel before its first block; `request_wall_ns` by arm, the control's
    first."""

    slot: SlotChoice
    aa: tuple[Observation, ...]
    timing: Timing
    request_wall_ns: dict[str, int]
    control_cpu_ns: int
    took_s: float


class Calibrator(Struct, frozen=True):
    """What calibrating a panel needs: what starts further instances of the control, its part of the
    budget, how many A/A blocks, how long the first instance set took to start, and how many
    requests a slot may have for the blocks to fit."""

    starter: InstanceSetStart
    shared: SharedMeters
    stage: Stage
    budget_s: float
    aa_blocks: int
    up_s: float
    most_requests: int

    def calibrate(self, instance_set: InstanceSet) -> Calibration:
        """Measure. Raises RequestFailed when the control fails meanwhile."""
        began = time.monotonic()
        log, panel = self.starter.log, self.starter.panel
        warm = instance_set.warm[panel.control.name]
        wall_ns = self._settled_wall_ns(instance_set.control, warm.request_wall_ns)
        spend_s = calibration_s(self.budget_s)
        log.phase("calibrating: slot length")
        slot_overhead_s = self._slot_overhead_s(instance_set.control)
        trace_s = TRACE_SHARE * spend_s
        slot = fixed_slot(log.plan.slot_requests, panel, wall_ns, trace_s) or self._trace(
            instance_set.control, wall_ns, slot_overhead_s, trace_s
        )
        aa, each_up_s = self._aa(instance_set, slot, wall_ns, spend_s - trace_s)
        # Driving takes longer than serving where requests are tiny, and the few requests of a
        # warm-up are dear: plan with what the A/A slots really took.
        driven_ns = sum(each.control.drive_ns for each in aa) / sum(each.control.requests for each in aa) * panel.concurrency
        stretch = driven_ns / warm.request_wall_ns
        arms = 1 + len(instance_set.treatments)
        alive = self._alive(self.up_s / arms, each_up_s, instance_set)
        up_s = each_up_s * arms if alive > 1 else self.up_s
        return Calibration(
            slot=slot,
            aa=tuple(aa),
            timing=Timing(up_s + instance_set.took_s, slot_overhead_s, alive),
            request_wall_ns={name: round(stretch * instance_set.warm[name].request_wall_ns) for name in instance_set.driven_instances},
            control_cpu_ns=warm.request_cpu_ns,
            took_s=time.monotonic() - began,
        )

    # ---- slot length --------------------------------------------------------------------------

    def _slot_overhead_s(self, driven: DrivenInstance) -> float:
        """What a slot takes besides its requests: reading the meters, waiting for idle workers."""
        sequence = np.zeros(1, dtype=np.uint32)
        seen = [self._timed(driven, sequence) for _ in range(3)]
        return float(np.median(seen))

    def _settled_wall_ns(self, driven: DrivenInstance, warm_wall_ns: int) -> int:
        """Service time of a request once it is repeated. Warm-up ends as soon as nothing changes,
        so that slots sized by it would be too short for an app that is much faster than its first
        requests. Of an app so slow that few fit into the time, warm-up's stands."""
        count = SETTLING_NS // max(1, warm_wall_ns)
        weights = [target.weight for target in self.starter.log.plan.workload.targets]
        if self.starter.panel.concurrency > 1 or count < len(weights):
            return warm_wall_ns
        sequence = deal(np.random.Generator(np.random.PCG64(self.starter.log.plan.seed + SEED)), weights, count)
        reading = measure_slot(driven, self.shared, sequence)
        if reading.failures:
            raise failed(driven, in_words(reading.failures))
        return max(1, reading.drive_ns // count)

    def _timed(self, driven: DrivenInstance, sequence: NDArray[np.uint32]) -> float:
        start = time.monotonic_ns()
        reading = measure_slot(driven, self.shared, sequence)
        return max(0.0, (time.monotonic_ns() - start - reading.drive_ns) / 1e9)

    def _trace(self, driven: DrivenInstance, request_wall_ns: int, slot_overhead_s: float, spend_s: float) -> SlotChoice:
        """One instance, slot after slot; each base slot's cost relative to what its targets cost on
        average."""
        base = base_requests(request_wall_ns, driven.driver.least_slot_ns)
        count = math.ceil(spend_s / (base * request_wall_ns / 1e9 + slot_overhead_s))
        count = min(MOST_TRACE, max(LEAST_TRACE, count))
        weights = [target.weight for target in self.starter.log.plan.workload.targets]
        generator = np.random.Generator(np.random.PCG64(self.starter.log.plan.seed + SEED))
        sequences = deal(generator, weights, count * base).reshape(count, base)
        driven.begin()
        costs = []
        for sequence in sequences:
            reading = measure_slot(driven, self.shared, sequence)
            if reading.failures:
                raise failed(driven, in_words(reading.failures))
            costs.append(float(reading.php_ns))
            self.starter.log.tick()
        if not any(costs):
            raise failed(driven, "nothing of the mix costs PHP anything")
        expected = _expected(np.asarray(costs), sequences, len(weights))
        return choose_slot(
            costs,
            expected.tolist(),
            base=base,
            request_wall_ns=request_wall_ns,
            slot_overhead_s=slot_overhead_s,
            most=self.most_requests,
        )

    # ---- noise --------------------------------------------------------------------------------

    def _aa(self, instance_set: InstanceSet, slot: SlotChoice, request_wall_ns: int, spend_s: float) -> tuple[list[Observation], float]:
        """A/A blocks, each on a pair of the control's instances of its own, as many at once as
        memory holds; and the seconds that one of several started at once took."""
        log, panel, blocks = self.starter.log, self.starter.panel, self.aa_blocks
        pair_s = 2.0 * slot.requests * request_wall_ns / 1e9 / panel.concurrency
        pairs = max(LEAST_PAIRS[panel.metric], int(spend_s / blocks / pair_s))
        log.phase("calibrating: A/A blocks")
        first = instance_set.control
        held = instance_kib(panel.control, instance_set.warm[panel.control.name].facts, first.instance.worker_kib())
        found: list[Observation] = []
        up_s, started = 0.0, 0
        for numbers in portions(blocks, that_fit(2 * held, _free_kib())):
            began = time.monotonic()
            # The control that is up already is one of the first pair.
            with self._more(2 * len(numbers) - (0 in numbers)) as instances:
                up_s += time.monotonic() - began
                started += len(instances)
                fresh = [self.starter.driven(instance) for instance in instances]
                self.starter.make_first_requests(fresh)
                for driven in fresh:
                    self.starter.warm(driven, asked=True)
                driven_instances = [first, *fresh] if 0 in numbers else fresh
                beside = zip(numbers, driven_instances[::2], driven_instances[1::2], strict=True)
                found += [self._aa_block(number, one, other, slot, pairs) for number, one, other in beside]
        # Steal comes and goes; a generator that cannot keep up stays so.
        if all(each.lag_fraction > log.plan.limits_of(panel.metric).lag for each in found):
            raise DynoError(
                f"every A/A block would be excluded ({late(found[0].lag_fraction)}), and so would be the blocks that count",
                where=first.instance.arm.name,
                next_step="give more work to each request or operation",
            )
        return found, up_s / started

    def _aa_block(self, number: int, control: DrivenInstance, other: DrivenInstance, slot: SlotChoice, pairs: int) -> Observation:
        plan, metric = self.starter.log.plan, self.starter.panel.metric
        schedule = schedule_block(
            seed=plan.seed + SEED,
            block=number,
            pairs={AA: pairs},
            weights=[target.weight for target in plan.workload.targets],
            slot_requests=slot.requests,
            concurrency=control.driver.concurrency,
        )
        reading = measure_block(
            schedule,
            control=control,
            treatments={AA: other},
            shared=self.shared,
            metric=metric,
            cores=self.stage.cores.measured,
            tick=self.starter.log.tick,
        )
        self.starter.log.take_clock(reading.clock_step_s, block=BEFORE_BLOCKS)
        seen = observe(number, AA, reading, plan=plan, metric=metric)
        if seen is None or reading.failed:
            raise failed(other if AA in reading.failed else control, "; ".join(reading.failed.values()) or "no pair was completed")
        return seen

    @contextmanager
    def _more(self, count: int) -> Iterator[Sequence[LiveInstance]]:
        instances = self.stage.start([self.starter.panel.control] * count)
        try:
            yield instances
        finally:
            self.stage.stop(instances)

    def _alive(self, alone_s: float, each_up_s: float, instance_set: InstanceSet) -> int:
        """How many instance sets to start at once: several where that is cheaper per instance and
        they fit into the memory beside this one."""
        if each_up_s > CHEAPER * alone_s:
            return 1
        return sets_that_fit(instance_set, _free_kib())


def _free_kib() -> int:
    return SmallFiles().kib("/proc/meminfo", "MemAvailable") or 0


def sets_that_fit(instance_set: InstanceSet, free_kib: int) -> int:
    """How many instance sets like the one that is up may be up at once, one at least, with so much
    memory free beside it."""
    held = (
        instance_kib(each.instance.arm, instance_set.warm[name].facts, each.instance.worker_kib())
        for name, each in instance_set.driven_instances.items()
    )
    return min(MOST_ALIVE, that_fit(sum(held), free_kib))


def that_fit(each_kib: int, free_kib: int) -> int:
    """How many of what holds so much each may be up at once with so much memory free, one at
    least."""
    return max(1, int(MEMORY_SHARE * free_kib / each_kib))


def portions(count: int, most: int) -> list[range]:
    """The numbers from 0 on in runs of `most`."""
    return [range(at, min(count, at + most)) for at in range(0, count, most)]


def instance_kib(arm: Arm, facts: WorkerFacts, worker_kib: int | None) -> int:
    """What a warm instance is reckoned with: opcache's memory in full, and what each of its workers
    holds for itself (None: not known)."""
    cache = facts.opcache
    shared_kib = (cache.used_bytes + cache.free_bytes + cache.wasted_bytes) // 1024 if cache else 0
    return max(INSTANCE_KIB, shared_kib + most_workers(arm) * (worker_kib or 0))


def failed(driven: DrivenInstance, words: str) -> RequestFailed:
    """Requests that failed while calibrating."""
    return RequestFailed(driven.instance, f"calibrating: {words}")


def _expected(costs: NDArray[np.float64], sequences: NDArray[np.uint32], targets: int) -> NDArray[np.float64]:
    """What each base slot should cost by the targets in it: least squares over the trace, so that
    the mix is no noise.

    With few slots for each target a fit would explain the noise away; then each slot is held to
    cost the same.
    """
    if targets == 1 or costs.size < SLOTS_PER_TARGET * targets:
        return np.full_like(costs, costs.mean())
    counts = np.stack([(sequences == target).sum(axis=1) for target in range(targets)], axis=1).astype(np.float64)
    per_target, *_ = np.linalg.lstsq(counts, costs, rcond=None)
    expected: NDArray[np.float64] = np.maximum(counts @ per_target, 0.0)
    return expected
