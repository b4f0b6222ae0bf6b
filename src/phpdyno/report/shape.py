"""The view of a comparison: everything that any report shows, as frozen data. It is also the wire format of `--json`.

The descriptions are the documentation: docs/reference/json.md and compare.schema.json are generated from them.
"""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from phpdyno.model.verdict import Relevance, VerdictKind

SCHEMA: Final = "phpdyno.compare/1"

Outcome = Literal["finished", "interrupted", "failed", "unfinished"]


def _says(text: str) -> Meta:
    return Meta(description=text)


class TargetRow(Struct, frozen=True):
    """One request of the workload, and how the arms' answers to it were compared."""

    path: Annotated[str, _says("Path with its query.")]
    share: Annotated[float, _says("Fraction of the requests, 0 to 1.")]
    status: Annotated[int, _says("Expected HTTP status.")]
    compared: Annotated[str, _says("`body`: the normalised bodies had to agree; `status`: the status only, as the target declares.")]


class AnswerRow(Struct, frozen=True):
    """The equal-answers check of one arm."""

    arm: Annotated[str, _says("Name of the arm.")]
    equal: Annotated[bool, _says("Whether every target answered as the control did.")]
    detail: Annotated[str, _says("What was compared, or what differed.")]
    masked_fraction: Annotated[float, _says("Largest share of a body that was masked as volatile, 0 to 1.")]


class ProofRow(Struct, frozen=True):
    """Whether one changed setting was seen at work in the running worker."""

    knob: Annotated[str, _says("Full name of the knob.")]
    value: Annotated[str, _says("The value asked for.")]
    proved: Annotated[bool, _says("Whether the running worker shows the effect of the setting.")]
    detail: Annotated[str, _says("What was read from the worker.")]
    same_as_control: Annotated[bool, _says("The control has the same value already, so it changes nothing; `proved` is then false.")]


class ArmCost(Struct, frozen=True):
    """What one arm cost over the blocks that count. Totals and medians, without an interval: to describe, not to compare."""

    requests: Annotated[int, _says("Requests measured.")]
    php_cpu_ms_per_request: Annotated[float, _says("CPU of the arm's php-fpm processes, milliseconds per valid request (the metric).")]
    nginx_cpu_ms_per_request: Annotated[float, _says("CPU of nginx, milliseconds per request.")]
    database_cpu_ms_per_request: Annotated[float, _says("CPU of the database, milliseconds per request.")]
    host_cpu_ms_per_request: Annotated[float, _says("Busy time of all cores of the host, milliseconds per request.")]
    service_p50_ms: Annotated[float, _says("Service time (done - sent), milliseconds: median over the blocks of the block's median.")]
    service_p99_ms: Annotated[float, _says("Service time, milliseconds: median over the blocks of the block's 99th percentile.")]


class Ratio(Struct, frozen=True):
    """A ratio control / treatment with its anytime-valid interval."""

    ratio: Annotated[float, _says("Control / treatment; above 1 the treatment is cheaper.")]
    low: Annotated[float, _says("Lower end of the interval.")]
    high: Annotated[float, _says("Upper end of the interval.")]


class Row(Struct, frozen=True):
    """One treatment against the control."""

    name: Annotated[str, _says("Name of the treatment.")]
    sentence: Annotated[str, _says("The verdict in words.")]
    changed: Annotated[dict[str, str], _says("Settings in which it differs from the control; empty for an A/A arm.")]
    is_aa: Annotated[bool, _says("Whether it is identical to the control: an A/A arm, which shows what the measurement itself makes up.")]
    kind: Annotated[VerdictKind, _says("The verdict.")]
    relevance: Annotated[Relevance, _says("The interval against the margin; empty without a direction.")]
    ratio: Annotated[float | None, _says("Control cost / treatment cost; above 1 the treatment is cheaper. Null without an interval.")]
    low: Annotated[float | None, _says("Lower end of the interval of `ratio`. Null while the interval is infinite.")]
    high: Annotated[float | None, _says("Upper end of the interval of `ratio`. Null while the interval is infinite.")]
    clipped_ratio: Annotated[float | None, _says("`ratio` with outlying pairs clipped: a sensitivity check. Null without an interval.")]
    sigma: Annotated[float | None, _says("Standard deviation of the blocks' log ratios. Null without an interval.")]
    blocks: Annotated[int, _says("Blocks that count.")]
    blocks_needed: Annotated[int, _says("Least number of blocks for a finite interval at this confidence.")]
    blocks_excluded: Annotated[int, _says("Blocks left out for a covariate declared beforehand (never for being slow).")]
    confidence: Annotated[float, _says("Probability that the intervals of all treatments hold together, at every look (0.95 = 95 %).")]
    interval_confidence: Annotated[float, _says("Confidence of this interval alone: 1 - (1 - confidence) / simultaneous_over.")]
    simultaneous_over: Annotated[int, _says("Number of treatments that `confidence` covers together.")]
    margin: Annotated[float, _says("Relevance margin as a fraction (0.01 = 1 %).")]
    reason: Annotated[str, _says("Why there is no more to say: invalid, budget spent, not concluded; empty otherwise.")]
    warnings: Annotated[tuple[str, ...], _says("What casts doubt on this effect.")]
    proofs: Annotated[tuple[ProofRow, ...], _says("Proof of effect of each changed setting.")]
    control: Annotated[ArmCost | None, _says("What the control cost in this treatment's blocks. Null without a block or when invalid.")]
    treated: Annotated[ArmCost | None, _says("What the treatment cost. Null without a block or when invalid.")]
    whole_stack: Annotated[
        Ratio | None,
        _says("The same comparison for php-fpm + nginx + database CPU together: secondary. Null while infinite or when invalid."),
    ]


class BlockPoint(Struct, frozen=True):
    """One observation: a treatment against the control within one block. Invalid treatments have none."""

    treatment: Annotated[str, _says("Name of the treatment.")]
    block: Annotated[int, _says("Number of the block, from 0.")]
    at_s: Annotated[float, _says("Middle of the block, seconds since the start.")]
    log_ratio: Annotated[float, _says("log(control cost / treatment cost), natural logarithm.")]
    pairs: Annotated[int, _says("Pairs in the block.")]
    steal_fraction: Annotated[float, _says("Share of the block that the hypervisor took, 0 to 1.")]
    excluded: Annotated[str, _says("The covariate for which the block does not count; empty when it counts.")]


class ControlPoint(Struct, frozen=True):
    """What the control cost in one block: how the machine itself moved."""

    block: Annotated[int, _says("Number of the block, from 0.")]
    at_s: Annotated[float, _says("Middle of the block, seconds since the start.")]
    php_cpu_ms_per_request: Annotated[float, _says("CPU of the control's php-fpm processes, milliseconds per request.")]
    excluded: Annotated[bool, _says("Whether an observation of this block is excluded.")]


class IncidentRow(Struct, frozen=True):
    """Something that happened and is not a number."""

    block: Annotated[int, _says("Number of the block, from 0; below 0 outside the blocks.")]
    arm: Annotated[str, _says("Name of the arm; empty when it concerns the whole run.")]
    kind: Annotated[str, _says("Kind, as the journal names it.")]
    detail: Annotated[str, _says("What happened.")]


class RunView(Struct, frozen=True):
    """A comparison, ready to be shown."""

    schema: Annotated[Literal["phpdyno.compare/1"], _says("Name and version of this format.")]
    run: Annotated[str, _says("Name of the run: its folder under runs/.")]
    title: Annotated[str, _says("What was compared, in words.")]
    phpdyno: Annotated[str, _says("Version of phpdyno that measured.")]
    command: Annotated[str, _says("Command that measured.")]
    started: Annotated[str, _says("When it started, as the journal says.")]
    outcome: Annotated[
        Outcome, _says("How the last session ended; `unfinished`: the journal has no end (still measuring, or the machine died).")
    ]
    outcome_detail: Annotated[str, _says("Reason of an interruption or a failure.")]
    elapsed_s: Annotated[float, _says("Measuring time in seconds, all sessions together, starts and warm-up included.")]
    app: Annotated[str, _says("Name of the app.")]
    app_version: Annotated[str, _says("Version of the app.")]
    workload: Annotated[str, _says("The workload in words.")]
    targets: Annotated[tuple[TargetRow, ...], _says("The requests of the workload.")]
    control: Annotated[str, _says("The control in words: PHP and settings.")]
    metric: Annotated[str, _says("What is compared, in words.")]
    margin: Annotated[float, _says("Relevance margin as a fraction (0.01 = 1 %).")]
    confidence: Annotated[float, _says("Probability that all intervals hold together, at every look.")]
    budget_s: Annotated[float, _says("Budget in seconds.")]
    seed: Annotated[int, _says("Seed of orders, coins and targets.")]
    scope: Annotated[str, _says("What the verdicts hold for: host, mix, builds, seed.")]
    host: Annotated[str, _says("The machine in words.")]
    calibration: Annotated[str, _says("Slot length and block size in words; empty before calibration.")]
    preflight_warnings: Annotated[tuple[str, ...], _says("What the host does that may disturb a measurement.")]
    answers: Annotated[tuple[AnswerRow, ...], _says("The equal-answers check of each arm.")]
    rows: Annotated[tuple[Row, ...], _says("One row per treatment, in the order of the plan.")]
    blocks_excluded: Annotated[int, _says("Observations left out for a covariate declared beforehand, all treatments together.")]
    blocks: Annotated[tuple[BlockPoint, ...], _says("All observations in the order of time, excluded ones marked.")]
    control_costs: Annotated[tuple[ControlPoint, ...], _says("The control's cost per block in the order of time.")]
    incidents: Annotated[tuple[IncidentRow, ...], _says("What happened besides numbers.")]
    repeat: Annotated[str, _says("Shell command that repeats the measurement.")]
