"""What the budget of a panel has to hold: its calibration, and the fewest blocks that make an
interval finite. Pure."""

import math
from collections.abc import Mapping

from msgspec import Struct, structs

from phpdyno.experiment.comparison.planning import (
    LEAST_PAIRS,
    TRACE_OVERRUN,
    aa_blocks,
    base_requests,
    least_slot,
    request_s,
    share_in_blocks,
)
from phpdyno.experiment.comparison.schedule import opening_requests
from phpdyno.journal.records import Calibrated
from phpdyno.model.plan import Metric
from phpdyno.stats.comparison.allocation import MIXTURES
from phpdyno.stats.comparison.sequence import least_blocks

CALIBRATION_SHARE = 0.08
LEAST_CALIBRATION_S = 1.2
MOST_CALIBRATION_S = 20.0
TRACE_SHARE = 0.25
SPARE = 1.2
"""The next session may find everything slower by so much."""
ROUNDS = 50


class Demand(Struct, frozen=True):
    """What the seconds of a panel follow from: its load, alpha of a treatment, `request_wall_ns` by
    arm; seconds until one further instance of the control runs (`up_s`) and is warm from then on
    (`warm_s`), and until a whole instance set is (`overhead_s`); the slot length that was asked
    for, in requests, and nanoseconds of the shortest slot that its driver can measure."""

    metric: Metric
    concurrency: int
    alpha: float
    control: str
    request_wall_ns: Mapping[str, int]
    up_s: float
    warm_s: float
    overhead_s: float
    slot_requests: int | None = None
    least_slot_ns: int = 0

    def at_best(self, other: "Demand") -> "Demand":
        """The shorter of the times of two looks at one panel: what holds up a start or a request
        only makes it longer."""
        return structs.replace(
            self,
            request_wall_ns={
                name: min(wall_ns, other.request_wall_ns.get(name, wall_ns)) for name, wall_ns in self.request_wall_ns.items()
            },
            up_s=min(self.up_s, other.up_s),
            warm_s=min(self.warm_s, other.warm_s),
            overhead_s=min(self.overhead_s, other.overhead_s),
        )

    @property
    def slot(self) -> int:
        """Requests of the shortest slot that a calibration can choose."""
        if self.slot_requests is None and self.metric == "cpu" and self.concurrency == 1:
            return base_requests(self.request_wall_ns[self.control], self.least_slot_ns)
        return least_slot(self.slot_requests, self.metric, self.concurrency)

    @property
    def least_blocks(self) -> int:
        """The fewest blocks that make an interval finite, with the mixture that wants the
        fewest."""
        return least_blocks(self.alpha, MIXTURES[-1])

    def block_s(self, slot: int) -> float:
        """Seconds of a block of the fewest pairs in slots of so many requests, its starts
        excluded."""
        walls = request_s(self.request_wall_ns, self.concurrency)
        own_s, others = walls[self.control], len(walls) - 1
        opening = opening_requests(others, self.concurrency) if self.concurrency == 1 else 0
        each = LEAST_PAIRS[self.metric] * slot + opening
        return sum(each * (own_s + wall_s) for name, wall_s in walls.items() if name != self.control)

    def aa_blocks(self, budget_s: float) -> int:
        """A/A blocks of a calibration; more of them with a larger budget."""
        return aa_blocks(self.metric, budget_s, self.up_s + self.warm_s)

    def further(self, budget_s: float) -> int:
        """Instances that they want besides the one that runs."""
        return 2 * self.aa_blocks(budget_s) - 1

    def aa_s(self, slot: int, budget_s: float) -> float:
        """Seconds of their fewest pairs in slots of so many requests."""
        pair_s = 2.0 * slot * request_s(self.request_wall_ns, self.concurrency)[self.control]
        return self.aa_blocks(budget_s) * LEAST_PAIRS[self.metric] * pair_s


def least_s(demand: Demand, budget_s: float) -> float:
    """Seconds below which no interval can be finite, whatever the calibration will say: what that
    itself takes to warm its instances, and the fewest blocks of the fewest, shortest pairs."""
    slot = least_slot(demand.slot_requests, demand.metric, demand.concurrency)
    return demand.further(budget_s) * demand.warm_s + demand.least_blocks * (demand.block_s(slot) + demand.overhead_s)


def calibration_s(budget_s: float) -> float:
    """Seconds that calibrating is to spend on measuring, within a panel's budget."""
    return min(MOST_CALIBRATION_S, max(LEAST_CALIBRATION_S, CALIBRATION_SHARE * budget_s))


def calibrating_s(demand: Demand, budget_s: float) -> float:
    """Seconds that calibrating takes at most: starting its instances, the trace, and pairs that are
    never too few."""
    spend_s = calibration_s(budget_s)
    trace_s = TRACE_SHARE * spend_s
    pairs_s = max(spend_s - trace_s, demand.aa_s(demand.slot, budget_s))
    return demand.further(budget_s) * (demand.up_s + demand.warm_s) + TRACE_OVERRUN * trace_s + pairs_s


def enough_s(demand: Demand, *, spent_s: float, share: float) -> int:
    """The least budget of a run in which this panel, which gets `share` of it, has a finite
    interval, and some to spare.

    `spent_s` goes before its calibration. A larger budget is calibrated at greater length, so what
    is enough depends on itself.
    """
    blocks_s = demand.least_blocks * (demand.block_s(demand.slot) + demand.overhead_s) / share_in_blocks(demand.metric)
    budget_s = 0
    for _ in range(ROUNDS):
        budget_s = math.ceil(SPARE * (spent_s + (calibrating_s(demand, share * budget_s) + blocks_s) / share))
    return budget_s


def planned_s(plan: Calibrated, blocks: int, *, share: float) -> float:
    """Seconds of a run in which so many of the planned blocks are done, with the slots of other
    lengths that go with them, by a panel that gets `share` of the time."""
    return blocks * (plan.block_s + plan.overhead_s) / (share_in_blocks(plan.metric) * share)


def most_requests(demand: Demand, budget_s: float, left_s: float) -> int:
    """Requests of the longest slot with which the fewest blocks fit into what a calibration leaves
    of `left_s` of the panel's budget.

    Shorter slots than the noise asks for decide less; longer ones than there is room for decide
    nothing.
    """
    blocks = demand.least_blocks / share_in_blocks(demand.metric)
    room_s = (left_s - calibrating_s(demand, budget_s)) / SPARE - blocks * demand.overhead_s
    one_s = blocks * demand.block_s(1) + demand.aa_s(1, budget_s)
    return max(demand.slot, int(room_s / max(one_s, 1e-9)))
