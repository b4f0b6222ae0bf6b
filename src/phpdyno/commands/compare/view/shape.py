"""The view of a comparison: everything that any report shows, as frozen data. It is also the wire
format of `--json`.

The descriptions are the documentation: docs/reference/json.md and compare.schema.json are generated
from them.
"""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Struct, UnsetType, field

from phpdyno.commands.compare.view.answered import AnsweredRow
from phpdyno.commands.compare.view.measuring import BlockPoint, CalibrationRow, CarryOverRow, ControlPoint, ExclusionRow, NoisePoint
from phpdyno.model.plan import Metric, Transport, Unit
from phpdyno.model.verdict import Relevance, VerdictKind
from phpdyno.report.view_parts import EnvironmentRow, ExplainedRow, Outcome, ReachView, TargetRow, says

SCHEMA: Final = "phpdyno.compare/1"


class AnswerRow(Struct, frozen=True):
    """The equal-answers check of one arm."""

    arm: Annotated[str, says("Name of the arm.")]
    equal: Annotated[bool, says("Whether every target answered as the control did.")]
    detail: Annotated[str, says("What was compared, or what differed.")]
    masked_fraction: Annotated[float, says("Largest share of a body that was masked as volatile, 0 to 1.")]


class ProofRow(Struct, frozen=True):
    """Whether one changed setting was seen at work in the running worker."""

    knob: Annotated[str, says("Full name of the knob.")]
    value: Annotated[str, says("The value asked for.")]
    proved: Annotated[bool, says("Whether the running worker shows the effect of the setting.")]
    detail: Annotated[str, says("What was read from the worker.")]
    same_as_control: Annotated[bool, says("The control has the same value already, so it changes nothing; `proved` is then false.")]


class ArmCost(Struct, frozen=True):
    """What one arm cost over the blocks that count. Totals and medians, without an interval: to
    describe, not to compare."""

    requests: Annotated[int, says("Requests measured, failed ones included.")]
    php_cpu_ms_per_request: Annotated[float, says("CPU of the arm's PHP processes, milliseconds per valid request (the metric `cpu`).")]
    nginx_cpu_ms_per_request: Annotated[float, says("CPU of nginx, milliseconds per valid request.")]
    database_cpu_ms_per_request: Annotated[float, says("CPU of the database, milliseconds per valid request.")]
    host_cpu_ms_per_request: Annotated[float, says("Busy time of all cores of the host, milliseconds per valid request.")]
    service_p50_ms: Annotated[
        float | None,
        says(
            "Service time (done - sent), milliseconds: median over the blocks of the block's median. Null where most have but one answer."
        ),
    ]
    service_p99_ms: Annotated[
        float | None,
        says(
            "Service time, milliseconds: median over the blocks of the block's 99th percentile. Null where most blocks have fewer than 100 "
            "valid answers: of so few it would be the greatest."
        ),
    ]
    requests_per_s: Annotated[
        float | None,
        says("Valid completions per second of driving (the metric `throughput`). Null in journals of schema 1, which did not record it."),
    ] = None
    failed: Annotated[int, says("Requests that got no valid answer.")] = 0
    failures: Annotated[dict[str, int], says("The failed requests by kind; may be empty where the kinds were not recorded.")] = field(
        default_factory=dict
    )
    services_cpu_ms_per_request: Annotated[
        dict[str, float], says("CPU of each service of the app.toml by its name, milliseconds per valid request; empty without any.")
    ] = field(default_factory=dict)


class Ratio(Struct, frozen=True):
    """A ratio of costs control / treatment with its anytime-valid interval."""

    ratio: Annotated[float, says("Control / treatment; above 1 the treatment is cheaper.")]
    low: Annotated[float, says("Lower end of the interval.")]
    high: Annotated[float, says("Upper end of the interval.")]


class Row(Struct, frozen=True):
    """One treatment against the control."""

    name: Annotated[str, says("Name of the treatment.")]
    metric: Annotated[
        Metric, says("What its verdict is about, fixed beforehand: `cpu` per request, or `throughput` in requests per second.")
    ]
    sentence: Annotated[str, says("The verdict in words.")]
    changed: Annotated[dict[str, str], says("Settings in which it differs from the control; empty for an A/A arm.")]
    is_aa: Annotated[bool, says("Whether it is identical to the control: an A/A arm, which shows what the measurement itself makes up.")]
    kind: Annotated[VerdictKind, says("The verdict.")]
    relevance: Annotated[
        Relevance,
        says(
            "The interval against the margin; empty without a direction. `spent elsewhere`: PHP's CPU has improved, but that of php-fpm + "
            "nginx + database + services together is certain to have grown, so nothing is gained (`--fail-on regression` exits with 3)."
        ),
    ]
    ratio: Annotated[
        float | None,
        says(
            "Control cost / treatment cost: above 1 the treatment is better. The cost is CPU per valid request, or for throughput the time "
            "per valid completion, so that the ratio is requests per second, treatment / control. Null without an interval."
        ),
    ]
    low: Annotated[float | None, says("Lower end of the interval of `ratio`. Null while the interval is infinite.")]
    high: Annotated[float | None, says("Upper end of the interval of `ratio`. Null while the interval is infinite.")]
    clipped_ratio: Annotated[float | None, says("`ratio` with outlying pairs clipped: a sensitivity check. Null without an interval.")]
    sigma: Annotated[float | None, says("Standard deviation of the blocks' log ratios. Null without an interval.")]
    blocks: Annotated[int, says("Blocks that count.")]
    blocks_needed: Annotated[int, says("Least number of blocks for a finite interval at this confidence.")]
    blocks_excluded: Annotated[int, says("Blocks left out for a covariate declared beforehand (never for being slow).")]
    confidence: Annotated[float, says("Probability that the intervals of all treatments hold together, at every look (0.95 = 95 %).")]
    interval_confidence: Annotated[float, says("Confidence of this interval alone: 1 - (1 - confidence) / simultaneous_over.")]
    simultaneous_over: Annotated[int, says("Number of treatments that `confidence` covers together.")]
    margin: Annotated[float, says("Relevance margin as a fraction (0.01 = 1 %).")]
    reason: Annotated[str, says("Why there is no more to say: invalid, budget spent, not concluded; empty otherwise.")]
    warnings: Annotated[tuple[str, ...], says("What casts doubt on this effect.")]
    proofs: Annotated[tuple[ProofRow, ...], says("Proof of effect of each changed setting.")]
    control: Annotated[ArmCost | None, says("What the control cost in this treatment's blocks. Null without a block or when invalid.")]
    treated: Annotated[ArmCost | None, says("What the treatment cost. Null without a block or when invalid.")]
    whole_stack: Annotated[
        Ratio | None,
        says("The same comparison for php-fpm + nginx + database + services CPU together: secondary. Null while infinite or when invalid."),
    ]
    unit: Annotated[Unit, says("What is counted: requests, or with `--script` operations.")] = "request"
    scope: Annotated[str, says("What the number holds for, in a few words: this host, the time that was measured, these builds.")] = ""
    not_judged: Annotated[
        str, says("What a busy loop hides of the effect of settings that act by time, in words; empty where there are none.")
    ] = ""
    blocks_begun: Annotated[
        int | None, says("Blocks that were begun for it: those that count, excluded and dropped ones. Null in older journals.")
    ] = None
    blocks_dropped: Annotated[tuple[str, ...], says("Blocks without an observation, each with its reason.")] = ()
    answers: Annotated[AnsweredRow | None, says("What the treatment answered under load. Null in journals of before that was counted.")] = (
        None
    )


class IncidentRow(Struct, frozen=True):
    """Something that happened and is not a number."""

    block: Annotated[int, says("Number of the block, from 0; below 0 outside the blocks.")]
    arm: Annotated[str, says("Name of the arm; empty when it concerns the whole run.")]
    kind: Annotated[str, says("Kind, as the journal names it.")]
    detail: Annotated[str, says("What happened.")]


class RunView(Struct, frozen=True, kw_only=True):
    """A comparison, ready to be shown."""

    schema: Annotated[Literal["phpdyno.compare/1"], says("Name and version of this format.")]
    run: Annotated[str, says("Name of the run: its folder under runs/.")]
    title: Annotated[str, says("What was compared, in words.")]
    phpdyno: Annotated[str, says("Version of phpdyno that measured.")]
    command: Annotated[str, says("Command that measured.")]
    started: Annotated[str, says("When it started, as the journal says.")]
    outcome: Annotated[
        Outcome, says("How the last session ended; `unfinished`: the journal has no end (still measuring, or the machine died).")
    ]
    outcome_detail: Annotated[str, says("Reason of an interruption or a failure.")]
    elapsed_s: Annotated[float, says("Measuring time in seconds, all sessions together, starts and warm-up included.")]
    app: Annotated[str, says("Name of the app.")]
    app_version: Annotated[str, says("Version of the app.")]
    workload: Annotated[str, says("The workload in words.")]
    targets: Annotated[tuple[TargetRow, ...], says("The requests of the workload.")]
    control: Annotated[str, says("The control in words: PHP and settings.")]
    loaded_control: Annotated[str, says("The control of the throughput treatments in words; empty when it is the same one.")]
    transport: Annotated[Transport, says("How requests reached PHP.")]
    unit: Annotated[
        Unit, says("What the workload consists of: `operation` with `--script`; fields named after requests then hold operations.")
    ]
    metric: Annotated[str, says("What is compared, in words; each row names its own metric.")]
    margin: Annotated[float, says("Relevance margin of CPU per request as a fraction (0.01 = 1 %); each row has its own.")]
    confidence: Annotated[float, says("Probability that the intervals of the `ratio` of all rows hold together, at every look.")]
    budget_s: Annotated[float, says("Budget in seconds.")]
    seed: Annotated[int, says("Seed of orders, coins and targets.")]
    scope: Annotated[str, says("What the verdicts hold for: host, mix, builds, seed.")]
    host: Annotated[str, says("The machine in words.")]
    environment: Annotated[tuple[EnvironmentRow, ...], says("The machine, the servers and the builds, one fact each.")]
    calibration: Annotated[str, says("Slot length and block size in words; empty before calibration.")] = ""
    calibrations: Annotated[tuple[CalibrationRow, ...], says("What was found before the first block, one entry per metric.")] = ()
    preflight_warnings: Annotated[tuple[str, ...], says("What the host does that may disturb a measurement.")]
    reached: Annotated[
        ReachView | None, says("What the app reached for; null where nobody looked: built-in apps, scripts, journals before schema 3.")
    ] = None
    explained: Annotated[
        tuple[ExplainedRow, ...] | UnsetType, says("What the treatments do inside; there only where `--explain` asked for it.")
    ] = UNSET
    answers: Annotated[tuple[AnswerRow, ...], says("The equal-answers check of each arm.")] = ()
    rows: Annotated[tuple[Row, ...], says("One row per treatment, in the order of the plan.")] = ()
    blocks_excluded: Annotated[int, says("Observations left out for a covariate declared beforehand, all treatments together.")] = 0
    blocks: Annotated[tuple[BlockPoint, ...], says("All observations in the order of time, excluded ones marked.")] = ()
    exclusions: Annotated[tuple[ExclusionRow, ...], says("Every observation that was left out, with its covariate.")] = ()
    control_costs: Annotated[tuple[ControlPoint, ...], says("The control's cost per block in the order of time.")] = ()
    noise: Annotated[tuple[NoisePoint, ...], says("Covariates of each block in the order of time.")] = ()
    max_steal: Annotated[float, says("Declared beforehand: a block with a larger steal fraction does not count.")]
    max_lag: Annotated[float, says("Declared beforehand: a block with a larger lag fraction does not count (throughput, scripts).")]
    max_lag_of_cpu: Annotated[float, says("The same where a server's CPU is judged.")]
    carry_over: Annotated[tuple[CarryOverRow, ...], says("Effects at other slot lengths, for the treatments that were measured so.")] = ()
    carry_over_missing: Annotated[str, says("Why no effect on CPU was measured at another slot length; empty where one was.")] = ""
    incidents: Annotated[tuple[IncidentRow, ...], says("What happened besides numbers.")] = ()
    repeat: Annotated[str, says("Shell command that repeats the measurement.")]
