"""From the observations of finished comparisons to what the statistics ask for. Excluded
observations are left out everywhere, but for the noise where too few are left."""

import math
from collections.abc import Mapping, Sequence

from phpdyno.model.observation import Cost, Observation
from phpdyno.model.runs.tune import Goal, Side
from phpdyno.stats.comparison.noise import Noise, telling
from phpdyno.stats.screening.effects import RowReading
from phpdyno.stats.service_time import service_ms
from phpdyno.tuning.goals import GoalReadings, gain

LEAST_SIGMA = 0.0005
"""Of anything measured: A/A blocks that happen to be equal do not promise certainty."""


def goal_ratio(goal: Goal, seen: Observation) -> float | None:
    """log of how many times better than the control an arm was in one block, by the goal; None
    where that was not read."""
    if goal == "cpu":
        return seen.log_ratio
    return gain(goal, measured(seen.control), measured(seen.treated))


def noise_of(goal: Goal, seen: Noise, aa: Sequence[Observation]) -> Noise:
    """What identical arms differ by in the goal: `seen` for a mean; a percentile and a worker's
    memory by A/A blocks of their own.

    The expected log ratio of A/A is 0. All of a percentile's noise is taken for that of its pairs,
    which more of them average out, and none for less than the mean's; a worker holds what it drew
    at its start, so memory's is that of starts. Where nothing was read, as `seen`.
    """
    if goal not in {"p99", "memory"}:
        return seen
    known = [(ratio, each.pairs) for each in telling(aa) if (ratio := goal_ratio(goal, each)) is not None]
    if not known:
        return seen
    if goal == "p99":
        within = math.fsum(ratio**2 * pairs for ratio, pairs in known) / len(known)
        return Noise(max(seen.sigma_pair, math.sqrt(within)), seen.sigma_start)
    start = math.sqrt(math.fsum(ratio**2 for ratio, _ in known) / len(known) / 2.0)
    return Noise(LEAST_SIGMA, max(LEAST_SIGMA, start))


def screen_readings(goal: Goal, batches: Sequence[Sequence[Observation]], rows: Mapping[str, int]) -> tuple[RowReading, ...]:
    """The readings of a screening from its batches, which were comparisons of their own; `rows`
    says which arm is which row of the design.

    A block of one batch is no block of another. Arms that are no rows are left out.
    """
    found: list[RowReading] = []
    numbers: dict[tuple[int, int], int] = {}
    for batch, observations in enumerate(batches):
        for seen in observations:
            ratio = None if seen.excluded or seen.treatment not in rows else goal_ratio(goal, seen)
            if ratio is None:
                continue
            block = numbers.setdefault((batch, seen.block), len(numbers))
            found.append(RowReading(rows[seen.treatment], block, ratio, seen.pairs))
    return tuple(found)


def by_block(goal: Goal, batches: Sequence[Sequence[Observation]], treatment: str) -> dict[int, float]:
    """The log ratios of one arm against the control by block, over batches that were comparisons of
    their own: what a race and an ablation compare. Blocks of a later batch have higher numbers."""
    found: dict[int, float] = {}
    before = 0
    for batch in batches:
        for seen in batch:
            ratio = None if seen.excluded or seen.treatment != treatment else goal_ratio(goal, seen)
            if ratio is not None:
                found[before + seen.block] = ratio
        before += 1 + max((seen.block for seen in batch), default=-1)
    return found


def measured(cost: Cost) -> GoalReadings:
    """One arm in one block, as goals and guard-rails see it."""
    return GoalReadings(
        requests=cost.requests,
        failed=cost.failed,
        cpu_ns=cost.php_cpu_ns,
        drive_ns=cost.drive_ns,
        p99_ns=cost.service_p99_ns or None,
        memory_kib=cost.worker_kib,
        stack_ns=cost.stack_cpu_ns,
    )


def side_of(costs: Sequence[Cost]) -> Side:
    """One arm over its blocks. Raises ValueError: no blocks."""
    if not costs:
        raise ValueError("a side needs a block")
    held = [cost.worker_kib for cost in costs if cost.worker_kib is not None]
    valid = sum(cost.requests - cost.failed for cost in costs)
    return Side(
        cpu_ms=sum(cost.php_cpu_ns for cost in costs) / max(1, valid) / 1e6,
        p50_ms=service_ms(costs, 50),
        p99_ms=service_ms(costs, 99),
        worker_kib=sum(held) / len(held) if held else None,
    )


def sides(observations: Sequence[Observation], treatment: str) -> tuple[tuple[GoalReadings, ...], tuple[GoalReadings, ...]]:
    """The control and one arm in each block that counts, for `breaches`."""
    counted = [seen for seen in observations if seen.treatment == treatment and not seen.excluded]
    return tuple(measured(seen.control) for seen in counted), tuple(measured(seen.treated) for seen in counted)
