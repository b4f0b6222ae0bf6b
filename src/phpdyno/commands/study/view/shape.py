"""What a study found, ready to be shown: figures of every arm, contrasts beside the reference's,
syscalls. Frozen data.

The descriptions of the fields are the reference page of the JSON.
"""

from typing import Annotated, Literal

from msgspec import Struct, field

from phpdyno.commands.build.view import BuildView
from phpdyno.commands.compare.view.measuring import AaRow, CarryOverRow
from phpdyno.commands.compare.view.shape import ArmCost, Ratio
from phpdyno.commands.measure.view.shape import ArmRow, PointRow
from phpdyno.journal.study import PartState
from phpdyno.model.facts import HostFacts
from phpdyno.model.plan import Metric, Settle
from phpdyno.model.runs.study import Reference, Side
from phpdyno.report.view_parts import says


class ArmFigures(Struct, frozen=True):
    """One arm in one comparison. Ratios are against the comparison's control, above 1 the arm is
    better; the control has none."""

    arm: Annotated[str, says("Name of the arm in the study file.")]
    levels: Annotated[tuple[str, ...], says("Its level of every factor, in the order of `factors`.")]
    verdict: Annotated[str, says("`control`, or the verdict of the comparison, with its relevance.")]
    reason: Annotated[str, says("Why the verdict is what it is; empty where it needs no reason.")]
    per_s: Annotated[
        Ratio | None,
        says(
            "Valid completions per second, one value per block, with their interval (no ratio), which describes: it holds together with no "
            "other. Null while it is infinite."
        ),
    ]
    ratio: Annotated[
        Ratio | None,
        says("By the comparison's metric, against the control: these of one comparison hold together. Null without an interval."),
    ]
    cpu_ratio: Annotated[
        Ratio | None,
        says(
            "CPU of PHP per valid request, control / arm; null without an interval. Beside throughput these hold together among themselves "
            "only."
        ),
    ]
    cost: Annotated[ArmCost | None, says("What the arm cost, as totals without an interval; null while nothing is measured.")]
    host_busy: Annotated[float | None, says("Share of all cores that were busy while the arm was driven, 0 to 1.")]
    blocks: Annotated[int, says("Blocks that count.")]
    blocks_needed: Annotated[int, says("Least number of blocks for a finite interval.")]
    warnings: Annotated[tuple[str, ...], says("What casts doubt on its effect.")]
    carry_over: Annotated[CarryOverRow | None, says("Its effect at other slot lengths; null where none was measured.")]


class ComparisonFigures(Struct, frozen=True):
    """One comparison of the study."""

    name: Annotated[str, says("Its name in the study file; its run lies in the directory of that name.")]
    app: Annotated[str, says("Name of the app in the study file.")]
    app_version: Annotated[str, says("Version of the app; empty until there is a plan.")]
    metric: Annotated[Metric, says("What its arms are judged by.")]
    state: Annotated[PartState, says("`failed`: a fault ended it. `impossible`: this host forbids it.")]
    detail: Annotated[str, says("Why it is not done, and what would help.")]
    control: Annotated[str, says("Name of the arm that the others are compared with.")]
    arms: Annotated[tuple[ArmFigures, ...], says("Begins with the control; empty until there is a plan.")]
    workers: Annotated[int, says("Workers of the static pool.")]
    concurrency: Annotated[int, says("Requests in flight.")]
    slot_requests: Annotated[int | None, says("Requests per slot as they were measured; null before the calibration.")]
    aa: Annotated[AaRow | None, says("The control against itself, before the first block; null without an A/A block that counts.")]
    slot_reason: Annotated[str, says("Why a throughput slot is shorter than 20 requests for each in flight, as the study file says.")]
    settle: Annotated[Settle, says("What ends an arm's measuring before the budget is spent: `relevance` or `direction` that is settled.")]
    confidence: Annotated[float, says("Probability that the intervals of all `ratio` of the comparison hold together, at every look.")]
    margin: Annotated[float, says("Relevance margin as a fraction (0.01 = 1 %).")]
    elapsed_s: Annotated[float, says("Measuring time in seconds, all sessions together, starts and warm-up included.")]
    blocks_excluded: Annotated[int, says("Observations that do not count for a covariate declared beforehand.")]

    @property
    def burst(self) -> bool:
        """Whether all requests of a slot are sent at once, so that none is sent when another is
        done."""
        return self.metric == "throughput" and self.slot_requests is not None and self.slot_requests <= self.concurrency


class ContrastFigures(Struct, frozen=True):
    """How many times better one arm is than another in one comparison, beside the reference's ratio
    of throughputs."""

    title: Annotated[str, says("The contrast's title in the study file.")]
    app: Annotated[str, says("Name of the app.")]
    metric: Annotated[Metric, says("The metric of our ratio.")]
    ours: Annotated[Ratio | None, says("Our ratio, above 1 the arm is better; null without an interval.")]
    reference: Annotated[float | None, says("The reference's ratio of throughputs; null where it has none.")]
    side: Annotated[
        Side | None,
        says("Where our interval lies beside the reference's ratio; null where either is missing, or ours is not of throughputs."),
    ]


class SyscallRow(Struct, frozen=True):
    """One syscall, or several that do the same: calls per 1,000 requests in each column."""

    name: Annotated[str, says("Its names.")]
    ours: Annotated[tuple[float, ...], says("Ours, in the order of `arms`.")]
    reference: Annotated[tuple[float | None, ...], says("The reference's, in the same order; null where it does not say.")]


class SyscallTable(Struct, frozen=True):
    """The syscalls of one app."""

    app: Annotated[str, says("Name of the app.")]
    arms: Annotated[tuple[str, ...], says("The columns.")]
    requests: Annotated[tuple[int, ...], says("Requests that each column rests on.")]
    processes: Annotated[tuple[int, ...], says("Processes that were traced for each column.")]
    rows: Annotated[tuple[SyscallRow, ...], says("The most frequent first.")]
    totals: Annotated[tuple[float, ...], says("All calls per 1,000 requests, for each column.")]


class SweepArm(Struct, frozen=True):
    """One arm of a sweep."""

    arm: Annotated[str, says("Name of the arm in the study file.")]
    levels: Annotated[tuple[str, ...], says("Its level of every factor, in the order of `factors`.")]
    found: Annotated[ArmRow, says("What it does over all loads.")]
    points: Annotated[tuple[PointRow, ...], says("Its figures at every load, closed loops by concurrency, then the open one.")]


class SweepFigures(Struct, frozen=True):
    """One sweep of the study: several arms over requests in flight, in rounds of fresh
    instances."""

    name: Annotated[str, says("Its name in the study file; its run lies in the directory of that name.")]
    app: Annotated[str, says("Name of the app in the study file.")]
    app_version: Annotated[str, says("Version of the app; empty until there is a plan.")]
    state: Annotated[PartState, says("`failed`: a fault ended it. `impossible`: this host forbids it.")]
    detail: Annotated[str, says("Why it is not done, and what would help.")]
    concurrency: Annotated[tuple[int, ...], says("Requests in flight of its closed loops.")]
    open_share: Annotated[float, says("Offered rate of its open loop over the throughput at which closed ones saturate; 0 without one.")]
    arms: Annotated[tuple[SweepArm, ...], says("Its arms, in the study file's order; empty until there is a finished round.")]
    rounds: Annotated[int, says("Finished rounds.")]
    confidence: Annotated[float, says("Confidence of each interval by itself.")]
    elapsed_s: Annotated[float, says("Measuring time in seconds, all sessions together, starts and warm-up included.")]
    excluded: Annotated[int, says("Visits that do not count for a covariate declared beforehand.")]


class Missing(Struct, frozen=True):
    """A part without a result, and why."""

    name: Annotated[str, says("Name of the comparison, sweep or syscall pass.")]
    state: Annotated[PartState, says("`failed`: a fault ended it. `impossible`: this host forbids it.")]
    detail: Annotated[str, says("The reason, and what would help.")]


class StudyView(Struct, frozen=True):
    """A study, ready to be shown."""

    schema: Annotated[Literal["phpdyno.study/1"], says("Name and version of this format.")]
    name: Annotated[str, says("The study's name.")]
    title: Annotated[str, says("Its title.")]
    about: Annotated[str, says("What it asks, as the study file says.")]
    file: Annotated[str, says("The study file: relative to where the study was started, or only its name.")]
    phpdyno: Annotated[str, says("Version of phpdyno that measured.")]
    started: Annotated[str, says("When it started.")]
    seed: Annotated[int, says("Seed of orders, coins and requests.")]
    scale: Annotated[float, says("Share of the study file's budgets that it was given.")]
    elapsed_s: Annotated[float, says("Measuring time of all comparisons and sweeps in seconds.")]
    workers: Annotated[int, says("Workers of the static pool under load.")]
    concurrency: Annotated[int, says("Requests in flight under load.")]
    factors: Annotated[tuple[str, ...], says("Names of the factors.")]
    host: Annotated[HostFacts | None, says("The machine; null while nothing is measured.")]
    php: Annotated[str, says("Version of PHP; empty while nothing is measured.")]
    servers: Annotated[dict[str, str], says("Versions of the other servers.")]
    comparisons: Annotated[tuple[ComparisonFigures, ...], says("All comparisons, in the study file's order.")]
    contrasts: Annotated[tuple[ContrastFigures, ...], says("One for each contrast, app and metric that was measured.")]
    syscalls: Annotated[tuple[SyscallTable, ...], says("One for each app whose syscalls were counted.")]
    missing: Annotated[tuple[Missing, ...], says("Parts without a result.")]
    warnings: Annotated[tuple[str, ...], says("What the host does that may disturb a measurement.")]
    reference: Annotated[Reference | None, says("Somebody else's figures, as the study file has them.")]
    notes: Annotated[tuple[str, ...], says("Those notes of the study file whose conditions hold.")]
    why: Annotated[
        dict[str, tuple[str, ...]],
        says("Those of the notes that hold of one contrast, by its title: why ours differs from the reference's."),
    ] = field(default_factory=dict)
    sweeps: Annotated[tuple[SweepFigures, ...], says("All sweeps, in the study file's order.")] = ()
    builds: Annotated[dict[str, BuildView], says("Builds of PHP that it made, by their names in the study file.")] = field(
        default_factory=dict
    )
