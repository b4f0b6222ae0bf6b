"""The parts of the view that say how the measuring itself went: calibration, blocks, noise,
exclusions, carry-over."""

from typing import Annotated

from msgspec import Struct

from phpdyno.model.plan import Metric
from phpdyno.report.view_parts import says


class AllanRow(Struct, frozen=True):
    """One slot length of the A/A trace."""

    slot_requests: Annotated[int, says("Requests per slot.")]
    slot_s: Annotated[float, says("Time of such a slot, seconds.")]
    deviation: Annotated[float, says("Allan deviation of the log cost between adjacent slots of one instance.")]
    cost_s: Annotated[float, says("Variance × time of a pair of such slots, seconds: what one wants small.")]
    chosen: Annotated[bool, says("Whether this length is used.")]


class AaRow(Struct, frozen=True):
    """The calibration's A/A blocks pooled: the control against itself, which shows what the
    measurement makes up."""

    metric: Annotated[Metric, says("What was compared.")]
    ratio: Annotated[float | None, says("Geometric mean of the blocks' ratios of costs. Null without an interval.")]
    low: Annotated[float | None, says("Lower end of the interval. Null while infinite.")]
    high: Annotated[float | None, says("Upper end of the interval. Null while infinite.")]
    log_ratios: Annotated[tuple[float, ...], says("One log ratio per A/A block that counts.")]
    blocks: Annotated[int, says("A/A blocks that count.")]
    blocks_needed: Annotated[int, says("Least number of blocks for a finite interval at this confidence.")]
    confidence: Annotated[float, says("Confidence of the interval (0.95 = 95 %).")]
    margin: Annotated[float, says("Relevance margin as a fraction (0.01 = 1 %).")]


class CalibrationRow(Struct, frozen=True):
    """What was found out before the first block about one metric, and the plan that follows."""

    metric: Annotated[Metric, says("The metric of the treatments that it is for.")]
    slot_requests: Annotated[int, says("Requests per slot.")]
    slot_reason: Annotated[str, says("Why slots have this length, in words.")]
    slot_warning: Annotated[str, says("What slots of fewer than 20 requests for each in flight do; empty where they hold so many.")]
    request_wall_ms: Annotated[float, says("Time of one request of the control, milliseconds.")]
    request_cpu_ms: Annotated[float, says("CPU of one request of the control in PHP, milliseconds.")]
    pairs: Annotated[dict[str, int], says("Pairs per block of each treatment.")]
    block_s: Annotated[float, says("Planned measuring time of a block, seconds.")]
    overhead_s: Annotated[float, says("What starting and warming up adds to a block, seconds.")]
    took_s: Annotated[float | None, says("Time of the calibration itself, seconds. Null when it was not recorded.")]
    sigma_pair: Annotated[float | None, says("Standard deviation of one pair's log ratio within a block. Null when not measured.")]
    sigma_start: Annotated[float | None, says("Standard deviation of what an instance draws when it starts. Null when not measured.")]
    sigma_block: Annotated[float | None, says("Forecast for the log ratio of a block. Null when not measured.")]
    mixture: Annotated[float, says("g of the confidence sequence.")]
    blocks: Annotated[int | None, says("Blocks that fit in the budget, or in the metric's part of it. Null when not forecast.")]
    decidable: Annotated[float | None, says("Smallest effect found with 90 % power within the budget, as a fraction. Null when none is.")]
    eta_s: Annotated[
        float | None,
        says(
            "Seconds of blocks, of the other metric's as well, until an effect of the margin is found with 90 % power. Null when never or "
            "not forecast."
        ),
    ]
    alive: Annotated[int, says("Sets of instances that are started at once.")]
    crews: Annotated[str, says("Whether sets of instances are kept alive or started anew, and why, in words.")]
    note: Annotated[str, says("What the runner said before the first block.")]
    allan: Annotated[tuple[AllanRow, ...], says("Allan curve of the control. Empty where the slot length was given.")]
    aa: Annotated[AaRow | None, says("The A/A blocks. Null without any.")]


class BlockPoint(Struct, frozen=True):
    """One observation: a treatment against the control within one block. Invalid treatments have
    none."""

    treatment: Annotated[str, says("Name of the treatment.")]
    block: Annotated[int, says("Number of the block, from 0.")]
    at_s: Annotated[float, says("Middle of the block, seconds since the start.")]
    log_ratio: Annotated[float, says("log(control cost / treatment cost), natural logarithm; positive when the treatment is better.")]
    pairs: Annotated[int, says("Pairs in the block.")]
    steal_fraction: Annotated[float, says("Share of the block that the hypervisor took, 0 to 1.")]
    excluded: Annotated[str, says("The covariate for which the block does not count; empty when it counts.")]


class ControlPoint(Struct, frozen=True):
    """What the control cost in one block: how the machine itself moved."""

    block: Annotated[int, says("Number of the block, from 0.")]
    at_s: Annotated[float, says("Middle of the block, seconds since the start.")]
    php_cpu_ms_per_request: Annotated[float, says("CPU of the control's PHP processes, milliseconds per valid request.")]
    excluded: Annotated[bool, says("Whether an observation of this block is excluded.")]
    metric: Annotated[Metric, says("Metric of the treatments that this control stood beside; each metric has its own load.")] = "cpu"
    requests_per_s: Annotated[float | None, says("The control's valid completions per second. Null when not recorded.")] = None


class NoisePoint(Struct, frozen=True):
    """Covariates of one block, for the treatments of one metric."""

    block: Annotated[int, says("Number of the block, from 0.")]
    at_s: Annotated[float, says("Middle of the block, seconds since the start.")]
    metric: Annotated[Metric, says("Metric of the treatments.")]
    steal_fraction: Annotated[float, says("Share of the block that the hypervisor took, 0 to 1.")]
    lag_fraction: Annotated[
        float | None, says("Largest share of the driving in which the generator kept the server waiting. Null when not recorded.")
    ]
    excluded: Annotated[bool, says("Whether an observation of this block is excluded.")]


class ExclusionRow(Struct, frozen=True):
    """One observation that does not count."""

    block: Annotated[int, says("Number of the block, from 0.")]
    treatment: Annotated[str, says("Name of the treatment.")]
    reason: Annotated[str, says("The covariate, declared beforehand, with its value.")]


class CarriedEffect(Struct, frozen=True):
    """One treatment's effect at one slot length."""

    slot_requests: Annotated[int, says("Requests per slot.")]
    main: Annotated[bool, says("Whether the verdict rests on slots of this length.")]
    ratio: Annotated[float | None, says("Control cost / treatment cost, as in `Row`. Null without an interval.")]
    low: Annotated[float | None, says("Lower end of the interval. Null while infinite.")]
    high: Annotated[float | None, says("Upper end of the interval. Null while infinite.")]
    log_ratios: Annotated[tuple[float, ...], says("One log ratio per block that counts.")]
    blocks: Annotated[int, says("Blocks that count.")]
    blocks_needed: Annotated[int, says("Least number of blocks for a finite interval at this confidence.")]


class CarryOverRow(Struct, frozen=True):
    """One treatment's effect at several slot lengths: what switching between the arms costs."""

    treatment: Annotated[str, says("Name of the treatment.")]
    metric: Annotated[Metric, says("Metric of the treatment.")]
    confidence: Annotated[float, says("Confidence of each interval.")]
    margin: Annotated[float, says("Relevance margin as a fraction (0.01 = 1 %).")]
    effects: Annotated[tuple[CarriedEffect, ...], says("Shortest slots first.")]
    differs: Annotated[bool, says("Whether there are two slot lengths whose intervals do not overlap.")]
    said: Annotated[str, says("What follows, in words.")]
