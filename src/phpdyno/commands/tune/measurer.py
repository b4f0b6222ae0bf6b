"""What all stages of a tune share: the arms that can be made, the plans for them, and batches of
fixed blocks."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from phpdyno.commands.tune.parts import Parts
from phpdyno.experiment.common.clock import BudgetClock
from phpdyno.experiment.comparison.calibration import INSTANCE_KIB, instance_kib, that_fit
from phpdyno.experiment.comparison.schedule import OPENING
from phpdyno.experiment.comparison.state import RunState
from phpdyno.journal.records import Calibrated
from phpdyno.knobs.judge import all_fit
from phpdyno.model.arm import AA, Arm
from phpdyno.model.facts import WorkerFacts
from phpdyno.model.observation import Observation
from phpdyno.model.plan import MAX_LAG_OF_CPU, FixedBlocks, Metric, Plan
from phpdyno.model.runs.tune import TuneRequest
from phpdyno.model.workload import Workload
from phpdyno.session.arms import CONTROL, LOADED_CONTROL
from phpdyno.session.specs import Imported, SpecReader
from phpdyno.stats.comparison.allocation import Allocation
from phpdyno.stats.comparison.judge import margin_log
from phpdyno.stats.comparison.noise import Noise
from phpdyno.tuning.budget import SMALLEST_EFFECT, Costs, plan_blocks
from phpdyno.tuning.factors import Candidate, Clash

MOST_ARMS = 32
"""That are up at once beside a control; they idle, but each is warmed up in every block."""
LATER_BATCHES = 3
"""A further batch has a third of the blocks of the first, which has as many as an interval
needs."""
SECONDS_SPARE = 1.15
"""Of a part's own budget: blocks end when they end, and the tune's clock decides how many begin."""


class Bases(Struct, frozen=True):
    """Settings of the control, with the workers that one request in flight wants, and with those
    that a load wants."""

    cpu: dict[str, str]
    loaded: dict[str, str]


class Maker(Struct, frozen=True):
    """What arms are made with."""

    reader: SpecReader
    bases: Bases


class TunedApp(Struct, frozen=True):
    """What the plans say of the app; `original` is its root on this host, None for a built-in
    one."""

    name: str
    version: str
    workload: Workload
    original: Path | None = None


class MeasuredPart(Struct, frozen=True):
    """What the calibration said: what the plans of fixed blocks repeat, and what the budget is made
    with."""

    calibrated: Calibrated
    noise: Noise
    pair_s: float
    start_s: float

    @property
    def opening(self) -> float:
        """How many pairs' time opens a stretch of one arm among others; slots with many requests in
        flight are long beside it."""
        slot = self.calibrated.slot_requests
        return OPENING / slot if self.calibrated.metric == "cpu" else 0.0


class Batch(Struct, frozen=True):
    """A number of blocks of a number of pairs each."""

    blocks: int
    pairs: int


class TuneMeasurer:
    """Makes arms and plans, and measures them.

    `metric` and `margin` are the goal's; `effect` is the margin as the log ratio that blocks are
    planned for. `memory_kib` is what was free when the tune began, `most_arms` how many are up at
    once beside a control.
    """

    def __init__(self, asked: TuneRequest, app: TunedApp, maker: Maker, parts: Parts, clock: BudgetClock, *, memory_kib: int) -> None:
        self.asked = asked
        self.app = app
        self.parts = parts
        self.clock = clock
        self.metric = asked.metric
        self.margin = asked.goal_margin
        self.effect = margin_log(max(self.margin, SMALLEST_EFFECT))
        self.alpha = 1.0 - asked.confidence
        self.memory_kib = memory_kib
        self.most_arms = self._that_fit(INSTANCE_KIB)
        self._reader = maker.reader
        self._bases = maker.bases

    def make_room_for(self, facts: WorkerFacts, worker_kib: int) -> None:
        """Reckon how many arms fit into memory with what an instance of the control holds:
        opcache's memory, and each worker its own."""
        self.most_arms = self._that_fit(instance_kib(self.control(self.metric), facts, worker_kib))

    def _that_fit(self, each_kib: int) -> int:
        return max(2, min(MOST_ARMS, that_fit(each_kib, self.memory_kib) - 1))

    @property
    def live(self) -> Imported | None:
        """The running pool that the control was read from."""
        return self._reader.live

    def settings(self, metric: Metric) -> dict[str, str]:
        """The control's own, under the load of a metric."""
        return self._bases.loaded if metric == "throughput" else self._bases.cpu

    def control(self, metric: Metric, more: Mapping[str, str] | None = None) -> Arm:
        """The control under the load of a metric; with `more` adopted already where a later stage
        stands on an earlier one."""
        name = LOADED_CONTROL if metric == "throughput" else CONTROL
        return self._reader.arm(name, self._reader.on_top(self.settings(metric), more or {}), {})

    def arm(self, name: str, changes: Mapping[str, str], metric: Metric, more: Mapping[str, str] | None = None) -> Arm:
        """An arm that differs from that control in `changes`. Raises UsageError for settings that
        cannot be together."""
        base = self._reader.on_top(self.settings(metric), more or {})
        return self._reader.arm(name, self._reader.on_top(base, changes), dict(changes))

    def clash(self, metric: Metric, more: Mapping[str, str] | None = None) -> Clash:
        """Which two changes cannot be on together beside that control, each being possible by
        itself."""
        base = self._reader.on_top(self.settings(metric), more or {})

        def clashing(one: Candidate, other: Candidate) -> bool:
            return not all_fit({**base, **one.settings, **other.settings})

        return clashing

    def plan(
        self,
        name: str,
        treatments: Sequence[Arm],
        *,
        metric: Metric,
        budget_s: float,
        control: Arm | None = None,
        fixed: FixedBlocks | None = None,
        trial: bool = False,
    ) -> Plan:
        """The plan of a part; each part has a seed of its own, which follows from its name."""
        asked = self.asked
        base = control or self.control(metric)
        return Plan(
            app=self.app.name,
            app_version=self.app.version,
            workload=self.app.workload,
            control=base,
            treatments=tuple(treatments),
            metric=metric,
            margin=asked.margin,
            loaded_margin=asked.loaded_margin,
            confidence=asked.confidence,
            budget_s=budget_s,
            seed=(asked.seed << 20) + zlib.crc32(name.encode()) % (1 << 20),
            transport=asked.transport,
            source=asked.source,
            loaded_control=base if metric == "throughput" else None,
            loaded_concurrency=asked.loaded_concurrency,
            max_lag_of_cpu=MAX_LAG_OF_CPU,
            fixed=fixed,
            trial=trial,
            may_be_adopted=name.startswith("confirm"),
        )

    def costs(self, known: MeasuredPart) -> Costs:
        """What the plan of the budget reckons with."""
        return Costs(known.noise, known.pair_s, known.start_s, 0.0, self.most_arms, opening=known.opening)

    def blocks(self, known: MeasuredPart, seconds: float, arms: int, *, alpha: float | None = None, contrast: bool = False) -> Allocation:
        """Blocks of so many arms that decide the margin soonest, `alpha` being that of one interval
        (default: of the stage)."""
        of_one = self.alpha if alpha is None else alpha
        return plan_blocks(seconds, arms, self.costs(known), effect=self.effect, alpha=of_one, contrast=contrast)

    def fixed(self, known: MeasuredPart, batch: Batch, arms: int) -> FixedBlocks:
        """The blocks of a batch with so many treatments."""
        seen = known.calibrated
        return FixedBlocks(
            blocks=batch.blocks,
            pairs=batch.pairs,
            slot_requests=seen.slot_requests,
            request_wall_ns=seen.request_wall_ns,
            request_cpu_ns=seen.request_cpu_ns,
            block_s=arms * self.costs(known).pairs_s(batch.pairs, arms),
            overhead_s=(arms + 1) * known.start_s,
            sigma_pair=known.noise.sigma_pair,
            sigma_start=known.noise.sigma_start,
        )

    def block_s(self, known: MeasuredPart, pairs: int, arms: int) -> float:
        """Seconds of a block of so many treatments, starts included."""
        return (arms + 1) * known.start_s + arms * self.costs(known).pairs_s(pairs, arms)


class Batches(Struct, frozen=True):
    """What batches of one stage said so far: their observations, batch by batch, and the arms that
    turned out invalid, with the reason."""

    observations: tuple[tuple[Observation, ...], ...] = ()
    invalid: dict[str, str] = field(default_factory=dict)

    def with_state(self, state: RunState) -> "Batches":
        """One batch more."""
        broken = {name: verdict.reason for name, verdict in state.verdicts.items() if verdict.kind == "invalid"}
        return Batches((*self.observations, tuple(state.observations)), {**self.invalid, **broken})

    @property
    def blocks(self) -> int:
        """The blocks of all batches."""
        return sum(len({seen.block for seen in batch}) for batch in self.observations)


def run_batches(
    measurer: TuneMeasurer,
    stage: str,
    arms: Mapping[str, Arm],
    *,
    known: MeasuredPart,
    first: Batch,
    until_s: float,
    still_open: Callable[[Batches], Sequence[str]],
    control: Arm | None = None,
    aa: bool = False,
) -> Batches:
    """Measure `arms` (by name) in batches until `still_open` names none of them any more, or the
    tune's clock shows `until_s`.

    The first batch is as long as an interval needs. `aa`: the control against itself is measured
    beside them, as long as they are.
    """
    batches, names = Batches(), list(arms)
    batch = first
    while names:
        part = f"{stage}-{len(batches.observations) + 1}"
        fitting = int((until_s - measurer.clock.spent_s()) / measurer.block_s(known, batch.pairs, len(names) + aa))
        blocks = min(batch.blocks, fitting)
        if blocks < 1 and not measurer.parts.begun(part):
            break
        treated = [arms[name] for name in names] + ([same_as(control or measurer.control(measurer.metric))] if aa else [])
        fixed = measurer.fixed(known, Batch(blocks, batch.pairs), len(treated))
        budget_s = SECONDS_SPARE * max(0.0, until_s - measurer.clock.spent_s())

        def make(part: str = part, treated: Sequence[Arm] = treated, fixed: FixedBlocks = fixed, budget_s: float = budget_s) -> Plan:
            return measurer.plan(part, treated, metric=measurer.metric, budget_s=budget_s, control=control, fixed=fixed)

        batches = batches.with_state(measurer.parts.measure(part, make))
        wanted = set(still_open(batches)) - batches.invalid.keys()
        names = [name for name in names if name in wanted]
        batch = Batch(max(1, first.blocks // LATER_BATCHES), first.pairs)
    return batches


def same_as(control: Arm) -> Arm:
    """The A/A arm of a control."""
    return Arm(AA, control.php, control.settings, {})
