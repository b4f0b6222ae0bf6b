"""Slot length, length of a block and the promise that follows, from what A/A blocks and one round
of every arm said. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low

from msgspec import Struct

from phpdyno.experiment.comparison.schedule import opening_requests, stretches_of
from phpdyno.journal.records import AllanPoint, Calibrated
from phpdyno.model.observation import Observation
from phpdyno.model.plan import CARRY_OVER_LENGTHS, REQUESTS_PER_FLIGHT, FixedBlocks, Metric, Panel
from phpdyno.stats.comparison.allan import allan_deviations, best_length, pair_cost
from phpdyno.stats.comparison.allocation import Allocation, Shape, allocate
from phpdyno.stats.comparison.noise import LEAST_AA_BLOCKS, Noise, estimate_noise, telling
from phpdyno.stats.comparison.sequence import MIXTURE

BASE_SLOT_NS = 6_000_000
"""A base slot of the trace is one request, or as many as take 6 ms: what the runner does between
slots (80 us) takes 1.3 % of that."""
MOST_SLOT_S = 0.5
LEAST_TRACE = 48
TRACE_OVERRUN = 2.0
"""A trace of the fewest slots may take so many times what was meant for it; requests dearer than
that are measured one by one."""
LEAST_PAIRS: dict[Metric, int] = {"cpu": 4, "throughput": 2}
MOST_BLOCK_S: dict[Metric, float] = {"cpu": 12.0, "throughput": 40.0}
FEW_AA_BLOCKS, MANY_AA_BLOCKS = 2, 4
"""Of four an interval can be made, of two a spread."""
AA_STARTS_SHARE = 0.1
LARGE_BUDGET_S = 60.0
CARRY_OVER_SHARE = 0.1
CARRY_OVER_REQUESTS = 20


class Timing(Struct, frozen=True):
    """What starting costs: seconds until an instance set (one instance of each arm) is warm,
    `alive` instance sets being started at once; and what a slot takes besides its requests."""

    overhead_s: float
    slot_overhead_s: float
    alive: int = 1


class SlotChoice(Struct, frozen=True):
    """Requests per slot, and the curve that it was read from."""

    requests: int
    allan: tuple[AllanPoint, ...] = ()


def base_requests(request_wall_ns: int, least_slot_ns: int = 0) -> int:
    """Requests per base slot of the trace, which lasts `least_slot_ns` or more."""
    return max(1, math.ceil(max(BASE_SLOT_NS, least_slot_ns) / max(1, request_wall_ns)))


def choose_slot(
    costs: Sequence[float], expected: Sequence[float], *, base: int, request_wall_ns: int, slot_overhead_s: float, most: int
) -> SlotChoice:
    """The slot length whose variance x time is least, from base slots of `base` requests that one
    instance served in a row.

    `costs` are theirs, `expected` what each should have cost by its targets. One base slot where
    nothing can be told, or where slots of more than `most` requests leave no room for the blocks.
    """
    points: list[AllanPoint] = []
    for found in allan_deviations(costs, expected):
        requests = found.length * base
        slot_s = requests * request_wall_ns / 1e9
        if points and (slot_s > MOST_SLOT_S or requests > most):
            break
        points.append(AllanPoint(requests, slot_s, found.deviation, pair_cost(found.deviation, slot_s + slot_overhead_s)))
    if not points:
        return SlotChoice(base)
    return SlotChoice(points[best_length([point.cost_s for point in points])].slot_requests, tuple(points))


def fixed_slot(slot_requests: int | None, panel: Panel, request_wall_ns: int, trace_s: float) -> SlotChoice | None:
    """A slot length that needs no trace; None when it is to be measured.

    The given one (for throughput at least one for each request in flight, which the report says);
    20 for each in flight; one request where they are so dear that a trace would take longer than
    twice its time.
    """
    if slot_requests is not None or panel.metric == "throughput" or panel.concurrency > 1:
        return SlotChoice(least_slot(slot_requests, panel.metric, panel.concurrency))
    return SlotChoice(1) if LEAST_TRACE * request_wall_ns / 1e9 > TRACE_OVERRUN * trace_s else None


def least_slot(slot_requests: int | None, metric: Metric, concurrency: int) -> int:
    """Requests of the shortest slot that will be measured: the given ones, else 20 for each in
    flight, or one for CPU of one at a time."""
    if slot_requests is not None:
        return max(slot_requests, concurrency if metric == "throughput" else 1)
    return 1 if metric == "cpu" and concurrency == 1 else REQUESTS_PER_FLIGHT * concurrency


def request_s(request_wall_ns: Mapping[str, int], concurrency: int) -> dict[str, float]:
    """Seconds of a slot that one request of each arm takes, several being in flight."""
    return {name: wall_ns / 1e9 / concurrency for name, wall_ns in request_wall_ns.items()}


def aa_blocks(metric: Metric, budget_s: float, start_s: float) -> int:
    """A/A blocks of a calibration: many where the further instances that they need, each ready
    after `start_s`, take a tenth of the budget at most."""
    starts_s = (2 * MANY_AA_BLOCKS - 1) * start_s
    worth = metric == "cpu" and budget_s >= LARGE_BUDGET_S and starts_s <= AA_STARTS_SHARE * budget_s
    return MANY_AA_BLOCKS if worth else FEW_AA_BLOCKS


def noise_of(aa: Sequence[Observation]) -> Noise:
    """What A/A blocks say about pairs and starts: those that count, unless too few do."""
    told = telling(aa)
    return estimate_noise(
        [each.log_ratio for each in told], [each.pair_spread or each.pair_sigma for each in told], [each.pairs for each in told]
    )


class PanelGoal(Struct, frozen=True):
    """What the plan of a panel is to achieve: which effect (log ratio) at which alpha within how
    many seconds.

    `share` is the part of them that is the panel's own: panels take turns, so that a second of its
    blocks is gone after 1 / share seconds of the run.
    """

    metric: Metric
    effect: float
    alpha: float
    budget_s: float
    concurrency: int = 1
    share: float = 1.0


def make_plan(
    goal: PanelGoal,
    *,
    slot: SlotChoice,
    request_wall_ns: Mapping[str, int],
    control: str,
    control_cpu_ns: int,
    aa: Sequence[Observation],
    timing: Timing,
    took_s: float,
) -> Calibrated:
    """The blocks of one panel. `request_wall_ns` is the service time of one request per arm.

    Equal time for all treatments: an arm with dear requests gets fewer pairs. The promise is that
    of the median one.
    """
    metric = goal.metric
    in_blocks = share_in_blocks(metric)
    budget_s = goal.budget_s * goal.share * in_blocks
    noise = noise_of(aa)
    walls = request_s(request_wall_ns, goal.concurrency)

    def pair_s(treatment: str) -> float:
        return slot.requests * (walls[control] + walls[treatment]) + 2.0 * timing.slot_overhead_s

    def opening_s(treatment: str, count: int) -> float:
        if goal.concurrency > 1:
            return 0.0  # of slots that are hundreds of requests long
        one_s = walls[control] + walls[treatment] + 2.0 * timing.slot_overhead_s
        return stretches_of(count, len(walls) - 1) * opening_requests(len(walls) - 1, goal.concurrency) * one_s

    def pairs_of(count: int) -> dict[str, int]:
        share_s = count * pair_s(control)
        return {name: max(LEAST_PAIRS[metric], round(share_s / pair_s(name))) for name in walls if name != control}

    def shape(count: int) -> Shape:
        pairs = pairs_of(count)
        return Shape(sum(number * pair_s(name) + opening_s(name, number) for name, number in pairs.items()), median_low(pairs.values()))

    chosen = allocate(
        noise,
        shape=shape,
        overhead_s=timing.overhead_s,
        budget_s=budget_s,
        effect=goal.effect,
        alpha=goal.alpha,
        least_pairs=LEAST_PAIRS[metric],
        most_block_s=MOST_BLOCK_S[metric],
    )
    eta_s = None if chosen.eta_s is None else chosen.eta_s / (in_blocks * goal.share)
    return Calibrated(
        slot_requests=slot.requests,
        request_wall_ns=request_wall_ns[control],
        request_cpu_ns=control_cpu_ns,
        pairs=pairs_of(chosen.pairs),
        block_s=chosen.block_s,
        overhead_s=timing.overhead_s,
        note=_note(chosen, goal, timing=timing, eta_s=eta_s) + _doubt(aa),
        metric=metric,
        sigma_pair=noise.sigma_pair,
        sigma_start=noise.sigma_start,
        sigma_block=chosen.sigma_block,
        mixture=chosen.mixture,
        blocks=chosen.blocks,
        decidable=None if chosen.decidable is None else math.expm1(chosen.decidable),
        eta_s=eta_s,
        alive=timing.alive,
        took_s=took_s,
        allan=slot.allan,
        aa=tuple(aa),
    )


def fixed_plan(fixed: FixedBlocks, panel: Panel) -> Calibrated:
    """The blocks of a plan that has them already, as a calibration would have planned them."""
    blocks = "1 block" if fixed.blocks == 1 else f"{fixed.blocks} blocks"
    return Calibrated(
        slot_requests=fixed.slot_requests,
        request_wall_ns=fixed.request_wall_ns,
        request_cpu_ns=fixed.request_cpu_ns,
        pairs={arm.name: fixed.pairs for arm in panel.treatments},
        block_s=fixed.block_s,
        overhead_s=fixed.overhead_s,
        note=f"{panel.metric}: {blocks} of {fixed.pairs} pairs per treatment were planned beforehand",
        metric=panel.metric,
        sigma_pair=fixed.sigma_pair,
        sigma_start=fixed.sigma_start,
        sigma_block=Noise(fixed.sigma_pair, fixed.sigma_start).of_block(fixed.pairs),
        mixture=MIXTURE,
        blocks=fixed.blocks,
    )


def share_in_blocks(metric: Metric) -> float:
    """The part of the time that goes to blocks; the rest goes to slots of other lengths."""
    return 1.0 - CARRY_OVER_SHARE if metric == "cpu" else 1.0


def carry_over_pairs(plan: Calibrated, length: int) -> int:
    """Pairs of `length` requests per treatment in a block that looks at carry-over: about 20
    requests' worth, more where they are cheap."""
    return max(1, CARRY_OVER_REQUESTS // length) if plan.request_wall_ns > BASE_SLOT_NS else max(4, 4 * CARRY_OVER_REQUESTS // length)


def carry_over_s(plan: Calibrated, length: int, treatments: Iterable[str]) -> float:
    """Seconds that a block's look at slots of `length` requests takes for these treatments.

    What a request of the control and one of the treatment take follows from how many pairs fit into
    the treatment's share of a block.
    """
    share_s = plan.block_s / len(plan.pairs)
    request_s = sum(share_s / (plan.pairs[name] * plan.slot_requests) for name in treatments)
    return (length * carry_over_pairs(plan, length) + opening_requests(len(plan.pairs), 1)) * request_s


def carries_over(plan: Calibrated, turn: int) -> tuple[int, ...]:
    """Slot lengths at which the effects of a panel's block number `turn` are looked at besides the
    plan's own.

    At most a tenth of the time goes to them.
    """
    if plan.metric != "cpu" or not plan.pairs:
        return ()
    lengths = tuple(length for length in CARRY_OVER_LENGTHS if length != plan.slot_requests)
    extra_s = sum(carry_over_s(plan, length, plan.pairs) for length in lengths)
    every = max(1, math.ceil(extra_s / (CARRY_OVER_SHARE * (plan.block_s + plan.overhead_s))))
    return lengths if turn % every == every - 1 else ()


def _note(chosen: Allocation, goal: PanelGoal, *, timing: Timing, eta_s: float | None) -> str:
    """What is said before the first block: `CPU: 13 blocks of 1.4 s fit in the budget: they detect
    3.8 % or more; 1 % takes about 3 min`."""
    metric = "CPU" if goal.metric == "cpu" else goal.metric
    budget = "the budget" if goal.share == 1.0 else "its part of the budget"
    text = f"{metric}: {chosen.blocks} blocks of {chosen.block_s + timing.overhead_s:.1f} s fit in {budget}"
    if chosen.decidable is not None:
        text += f": they detect {_percent(math.expm1(chosen.decidable))} or more"
    wanted = _percent(math.expm1(goal.effect))
    return text + (f"; {wanted} takes about {_duration(eta_s)}" if eta_s is not None else f"; {wanted} is out of reach here")


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2g} %" if fraction < 0.1 else f"{100 * fraction:.0f} %"


def _doubt(aa: Sequence[Observation]) -> str:
    """What to add where the noise is that of A/A blocks which do not count."""
    if not any(each.excluded for each in telling(aa)):
        return ""
    return f"; the noise is that of all A/A blocks, since fewer than {LEAST_AA_BLOCKS} would count"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
