"""The view of a sweep: everything that any report shows, as frozen data. It is also the wire format
of `--json`.

The descriptions are the documentation: docs/reference/measure-json.md is generated from them.
"""

from typing import Annotated, Final, Literal

from msgspec import Struct

from phpdyno.model.plan import Transport
from phpdyno.model.runs.bottleneck import Kind
from phpdyno.report.view_parts import EnvironmentRow, Outcome, ReachView, TargetRow, says

SCHEMA: Final = "phpdyno.measure/1"


class Estimate(Struct, frozen=True):
    """A figure of one arm at one point over its rounds: their geometric mean, with an interval that
    holds for this figure by itself."""

    value: Annotated[float, says("The figure, in the unit of its field.")]
    low: Annotated[float | None, says("Lower end of the interval; null below 3 rounds, or where one of them has 0.")]
    high: Annotated[float | None, says("Upper end of the interval; null where `low` is.")]
    rounds: Annotated[int, says("Rounds that it rests on.")]


class PercentileRow(Struct, frozen=True):
    """One percentile of the valid answers' times. Only those are here beyond which at least ten
    requests lie, all visits together."""

    percent: Annotated[float, says("Which one: 50, 90, 95, 99, 99.9 or 99.99.")]
    ms: Annotated[
        Estimate,
        says(
            "Milliseconds: the percentile of all visits together, with the interval of the visits' own percentiles (widened to hold it); "
            "without an interval where a single visit is too short to have that percentile."
        ),
    ]
    beyond: Annotated[int, says("Requests beyond it, all visits together.")]


class TargetPercentiles(Struct, frozen=True):
    """The times of one target at one point."""

    target: Annotated[str, says("What the target is called: its name, or its path with the query.")]
    valid: Annotated[int, says("Valid answers, all visits together.")]
    percentiles: Annotated[tuple[PercentileRow, ...], says("Of all visits together, without an interval.")]


class CpuSplit(Struct, frozen=True):
    """CPU milliseconds per valid request by component, over the visits without a failed request: a
    failed one costs something else.

    Null is what could not be read or is not there.
    """

    php: Annotated[Estimate, says("All of php-fpm's processes.")]
    nginx: Annotated[Estimate | None, says("nginx.")]
    database: Annotated[Estimate | None, says("The database.")]
    services: Annotated[Estimate | None, says("All services of the app.toml together.")]
    generator: Annotated[Estimate, says("phpdyno's own load generator: no part of `total`.")]
    network: Annotated[
        Estimate | None,
        says("The kernel's time in (soft) interrupts on all these cores, most of it network. In ticks, so coarse in a short visit."),
    ]
    network_apart: Annotated[
        bool | None,
        says("True: the kernel accounts `network` apart, and `total` contains it. False: it lies in the components' own. Null: unknown."),
    ]
    total: Annotated[Estimate, says("php-fpm, nginx, database and services together, and `network` where it is apart.")]


class QueueRow(Struct, frozen=True):
    """Connections that no worker had accepted yet, sampled on php-fpm's socket while it was driven.
    Null without a sample."""

    samples: Annotated[int, says("Samples, all visits together.")]
    mean: Annotated[float | None, says("Connections that waited, on the mean.")]
    most: Annotated[int | None, says("The most that were seen waiting.")]
    share: Annotated[float | None, says("Share of the samples with somebody waiting, 0 to 1.")]
    full: Annotated[float | None, says("Share of the samples in which the queue was full, 0 to 1.")]
    limit: Annotated[int | None, says("Connections that may wait.")]


class MemoryRow(Struct, frozen=True):
    """Memory of php-fpm's workers right after a visit, KiB; medians over the visits. PSS charges a
    shared page to its users in parts."""

    workers: Annotated[int, says("Workers that there were, the most of all visits.")]
    pss_worker_kib: Annotated[float | None, says("PSS of a worker, median; null where none could be read.")]
    private_worker_kib: Annotated[float | None, says("Memory that a worker shares with nobody, median.")]
    pss_pool_kib: Annotated[float, says("PSS of all workers together.")]
    shared_kib: Annotated[float | None, says("The part of it in shared memory: opcache, APCu. Null where the kernel does not tell it.")]
    master_kib: Annotated[float | None, says("PSS of php-fpm's master, which `pss_pool_kib` does not contain.")]
    unread: Annotated[int, says("Workers whose memory may not be read, the most of all visits.")]


class PointRow(Struct, frozen=True):
    """One arm at one load, all its visits that count together."""

    arm: Annotated[str, says("Name of the arm.")]
    loop: Annotated[
        Literal["closed", "open"],
        says("`closed`: the next request is sent when one is done. `open`: requests arrive at an offered rate, whatever happens."),
    ]
    concurrency: Annotated[int, says("Requests in flight; in an open loop the most connections.")]
    open_share: Annotated[float, says("Open loop: offered rate over the throughput at which the first round saturated; else 0.")]
    visits: Annotated[int, says("Visits that count.")]
    excluded: Annotated[int, says("Visits that do not count, for a covariate declared beforehand.")]
    requests: Annotated[int, says("Requests sent; in an open loop those that were due.")]
    valid: Annotated[int, says("Requests with a valid answer.")]
    failures: Annotated[dict[str, int], says("The others by kind.")]
    per_s: Annotated[Estimate | None, says("Throughput: valid completions per second. Null without a visit that counts.")]
    offered_per_s: Annotated[float | None, says("Open loop: requests that were due per second; null in a closed one.")]
    times: Annotated[
        Literal["service", "response"],
        says("What the percentiles are of: service times (done - sent), in an open loop response times (done - intended)."),
    ]
    percentiles: Annotated[tuple[PercentileRow, ...], says("Percentiles of the valid answers' times.")]
    targets: Annotated[tuple[TargetPercentiles, ...], says("The same by target; empty where there is only one.")]
    cpu: Annotated[CpuSplit | None, says("CPU per valid request; null where requests failed in every visit.")]
    workers_busy: Annotated[float | None, says("Workers that were busy, on the mean; null where nobody could be asked.")]
    max_active: Annotated[
        int | None,
        says("The most workers that were busy at once, as php-fpm counts it: since its start, so only the largest closed loop has it."),
    ]
    children_reached: Annotated[
        int | None,
        says(
            "How often php-fpm wanted another worker and already had all it may (`max children reached`), over those visits around which "
            "it was asked; null without one. Memory is read in every other round, and nothing is asked there before."
        ),
    ]
    queue: Annotated[QueueRow | None, says("The listen queue; null where it could not be read.")]
    memory: Annotated[
        MemoryRow | None, says("Memory of the workers; null where it was not read: a visit of the largest load ends with it.")
    ]
    lag_fraction: Annotated[float, says("Largest share of a visit in which the generator kept the server waiting, 0 to 1.")]
    lag_p99_ms: Annotated[float | None, says("Open loop: 99th percentile of the generator's own lag, the largest of the visits.")]
    queued: Annotated[int, says("Open loop: requests that were due while all connections were busy.")]
    late: Annotated[
        bool | None,
        says("Open loop: whether the generator was too late in some visit (lag above 5 % of the response time, both at p99)."),
    ]
    bottleneck: Annotated[
        Kind | None,
        says("What limits throughput here; null without a visit that counts, and in an open loop, whose generator spins while it waits."),
    ]
    sentence: Annotated[str, says("The same in one sentence, with the figures that it rests on; empty where `bottleneck` is null.")]


class ArmRow(Struct, frozen=True):
    """One arm over all its closed-loop points."""

    name: Annotated[str, says("Name of the arm.")]
    settings: Annotated[str, says("PHP and settings in words.")]
    workers: Annotated[int, says("The most workers that its pool may have.")]
    best: Annotated[int | None, says("Requests in flight with the highest throughput that was measured; null where nothing was.")]
    best_per_s: Annotated[Estimate | None, says("Throughput there.")]
    knee: Annotated[int | None, says("Fewest requests in flight whose throughput is within 5 % of that.")]
    rising: Annotated[bool, says("Whether the knee is the largest concurrency that was measured: more may bring more.")]
    max_active: Annotated[int | None, says("The most workers that were ever busy at once.")]
    children_reached: Annotated[int | None, says("`max children reached`, all instances and points together.")]
    memory: Annotated[MemoryRow | None, says("Memory of the workers at the largest load that it was read at; null where it was not.")]
    sentence: Annotated[str, says("What the arm does as more is asked of it, and what limits it, in words.")]


class CrossRow(Struct, frozen=True):
    """Another load generator on the same instance and target, in turns with our own."""

    tool: Annotated[Literal["wrk", "ab"], says("The other generator.")]
    arm: Annotated[str, says("Name of the arm.")]
    concurrency: Annotated[int, says("Requests in flight.")]
    ratio: Annotated[Estimate | None, says("Its throughput / ours; 1 when they agree. Null without a turn.")]
    ratios: Annotated[tuple[float, ...], says("The single ratios, turn by turn.")]
    kept: Annotated[bool, says("Whether both kept their connections; else both opened one for each request.")]
    detail: Annotated[str, says("Why there are no ratios; empty where there are.")]


class VisitRow(Struct, frozen=True):
    """One visit, in the order of time."""

    arm: Annotated[str, says("Name of the arm.")]
    concurrency: Annotated[int, says("Requests in flight; in an open loop the most connections.")]
    open_share: Annotated[float, says("Above 0 in an open loop.")]
    round: Annotated[int, says("Number of the round.")]
    per_s: Annotated[float | None, says("Valid completions per second.")]
    steal_fraction: Annotated[float | None, says("Share of the cores' time that the hypervisor took, 0 to 1; null where it is not told.")]
    lag_fraction: Annotated[float, says("Share of it in which the generator kept the server waiting, 0 to 1.")]
    excluded: Annotated[str, says("The covariate for which it does not count; empty when it counts.")]


class SweepView(Struct, frozen=True, kw_only=True):
    """A sweep, ready to be shown."""

    schema: Annotated[Literal["phpdyno.measure/1"], says("Name and version of this format.")]
    run: Annotated[str, says("Name of the run: its folder under runs/.")]
    title: Annotated[str, says("What was measured, in words.")]
    phpdyno: Annotated[str, says("Version of phpdyno that measured.")]
    started: Annotated[str, says("When it started.")]
    outcome: Annotated[
        Outcome, says("How the last session ended; `unfinished`: the record has no end (still measuring, or the machine died).")
    ]
    outcome_detail: Annotated[str, says("Reason of an interruption or a failure.")]
    elapsed_s: Annotated[float, says("Measuring time in seconds, all sessions together, starts and warm-up included.")]
    app: Annotated[str, says("Name of the app.")]
    app_version: Annotated[str, says("Version of the app.")]
    workload: Annotated[str, says("The workload in words.")]
    targets: Annotated[tuple[TargetRow, ...], says("The requests of the workload.")]
    transport: Annotated[Transport, says("How requests reached PHP.")]
    arms: Annotated[tuple[ArmRow, ...], says("The arms, in the order of the plan.")]
    points: Annotated[tuple[PointRow, ...], says("Each arm's points, closed loops by concurrency, then open ones.")]
    cross_checks: Annotated[tuple[CrossRow, ...], says("Other load generators beside ours.")]
    visits: Annotated[tuple[VisitRow, ...], says("Every visit of the rounds that were finished, excluded ones too.")]
    rounds: Annotated[int, says("Finished rounds; each has fresh instances and visits every point once, in an order of its own.")]
    confidence: Annotated[float, says("Confidence of each interval by itself (0.95 = 95 %).")]
    budget_s: Annotated[float, says("Budget in seconds; without --budget the first round may have raised it.")]
    visit_s: Annotated[float, says("Least length of a visit in seconds, as planned.")]
    seed: Annotated[int, says("Seed of orders, arrivals and targets.")]
    max_steal: Annotated[float, says("Declared beforehand: a visit with a larger steal fraction does not count.")]
    max_lag: Annotated[float, says("Declared beforehand: a visit with a larger lag fraction does not count.")]
    scope: Annotated[str, says("What the figures hold for: host, mix, builds, seed.")]
    host: Annotated[str, says("The machine in words.")]
    environment: Annotated[tuple[EnvironmentRow, ...], says("The machine, the servers and the builds, one fact each.")]
    warnings: Annotated[tuple[str, ...], says("What the host does that may disturb a measurement.")]
    noticed: Annotated[tuple[str, ...], says("What answers showed before the first round: messages of PHP, targets with one page.")] = ()
    reached: Annotated[
        ReachView | None, says("What the app reached for; null where nobody looked: built-in apps, records before schema 2.")
    ] = None
    sentences: Annotated[tuple[str, ...], says("What was found, in words: one sentence for each arm.")]
    repeat: Annotated[str, says("Shell command that repeats the measurement.")]
