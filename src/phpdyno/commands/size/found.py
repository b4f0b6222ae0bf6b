"""What a run of `size` came to, as data: the format of `--json`. docs/reference/size-json.md is
made from the descriptions."""

from typing import Annotated, Final, Literal

from msgspec import Struct

from phpdyno.commands.measure.view.shape import Estimate, MemoryRow
from phpdyno.commands.size.record import Manager, Reason
from phpdyno.model.plan import Transport
from phpdyno.report.view_parts import EnvironmentRow, Outcome, ReachView, TargetRow, says

SCHEMA: Final = "phpdyno.size/1"


class RecommendedPool(Struct, frozen=True, kw_only=True):
    """The pool that is recommended, and what it does. Shares and times are from fresh pools after
    the choice, not from the search."""

    workers: Annotated[int, says("Workers (pm.max_children).")]
    reason: Annotated[
        Reason,
        says(
            "`knee`: the smallest pool near the best throughput. `objective`: the smallest that holds what was asked. `unsure`: it is "
            "foretold to hold it, but not for certain. `nothing`: no pool "
            "holds what was asked, the knee is given. `cap`: a limit allows no more."
        ),
    ]
    share: Annotated[
        Estimate | None, says("Its throughput over that of the best pool of the confirmation, paired by round; null before there is one.")
    ]
    per_s: Annotated[Estimate | None, says("Requests per second when saturated.")]
    rate_per_s: Annotated[float, says("The rate at which its response times were measured: what was asked, else 70 % of its throughput.")]
    p99_ms: Annotated[Estimate | None, says("99th percentile of the response times at that rate; null where too few requests tell it.")]
    predicted_p99_ms: Annotated[Estimate | None, says("The same as it was foretold before it was measured.")]
    within: Annotated[bool | None, says("Whether the foretold and the measured percentile agree: within 15 %, or their intervals overlap.")]
    mgc_p99_ms: Annotated[float | None, says("The same by M/G/c, a textbook's queue, as a check; null where it has none.")]
    holds_to_per_s: Annotated[
        float | None, says("The highest rate at which the response time that was asked for is foretold to hold; null where none was asked.")
    ]
    waits: Annotated[float | None, says("Share of requests that find all workers busy at that rate, by the queue model.")]
    memory_kib: Annotated[float | None, says("Memory of the pool under load, master included.")]
    failed: Annotated[float, says("Share of the requests at that rate without a valid answer, 0 to 1.")]
    meets: Annotated[bool | None, says("Whether the objective was met when it was measured; null where none was asked.")]


class PoolRow(Struct, frozen=True, kw_only=True):
    """One size of the search: a fresh static pool, saturated."""

    workers: Annotated[int, says("Workers.")]
    in_flight: Annotated[int, says("Requests in flight.")]
    per_s: Annotated[float, says("Valid answers per second.")]
    alone_per_s: Annotated[float | None, says("The same with as many requests in flight as workers.")]
    half_per_s: Annotated[float | None, says("The same with half as many: the others are idle.")]
    cpu_ms: Annotated[float, says("CPU milliseconds of php-fpm per request, saturated.")]
    failed: Annotated[int, says("Requests without a valid answer.")]
    excluded: Annotated[str, says("Why the visit does not count; empty where it does.")]
    memory: Annotated[MemoryRow | None, says("Memory after it.")]


class ConfirmedRow(Struct, frozen=True, kw_only=True):
    """One pool of the confirmation: fresh pools, in rounds, in random order."""

    workers: Annotated[int, says("Workers.")]
    what: Annotated[str, says("What it stands for: recommended, smaller, larger, cores × 2, yours (the control's).")]
    per_s: Annotated[Estimate | None, says("Requests per second when saturated.")]
    over: Annotated[Estimate | None, says("The recommended pool's throughput over this one's, paired by round; 1 for itself.")]
    p99_ms: Annotated[
        Estimate | None, says("99th percentile of its response times at the recommended pool's rate; null where it was not asked.")
    ]
    memory_kib: Annotated[float | None, says("Memory under load, master included, median over the rounds.")]
    failed: Annotated[int, says("Requests without a valid answer, of the visits that count.")]
    excluded: Annotated[int, says("Visits that do not count, for a covariate declared beforehand.")]
    words: Annotated[str, says("What that says.")]


class TargetCost(Struct, frozen=True, kw_only=True):
    """One target by itself, on a worker that served nothing else."""

    label: Annotated[str, says("The target.")]
    cpu_ms: Annotated[float, says("CPU milliseconds of php-fpm per request.")]
    wall_ms: Annotated[float, says("Milliseconds of an answer, alone.")]
    waiting: Annotated[float, says("Share of that time in which PHP does not compute, 0 to 1.")]
    private_kib: Annotated[int, says("What the worker holds for itself after the last request.")]
    growth_kib: Annotated[float | None, says("What it grows by with each thousand requests; null where it does not grow for certain.")]
    max_requests: Annotated[int | None, says("pm.max_requests that keeps the growth small; null without growth.")]
    heavy: Annotated[bool, says("Whether a worker that serves it holds half as much again as the lightest target's: a pool of its own.")]
    words: Annotated[str, says("What that says.")]


class LimitRow(Struct, frozen=True, kw_only=True):
    """One limit on the number of workers."""

    kind: Annotated[str, says("memory, process_max, max_connections, or asked (--most).")]
    value: Annotated[int | None, says("Its value: KiB of memory, else a count; null where it could not be read.")]
    workers: Annotated[int | None, says("Workers that it allows; null where that is not known.")]
    source: Annotated[str, says("Where it was read, or why it could not be.")]


class ManagerRow(Struct, frozen=True, kw_only=True):
    """One way to manage workers through idle, burst and idle."""

    manager: Annotated[Manager, says("pm.")]
    first_ms: Annotated[float | None, says("Milliseconds of the first answer after an idle spell; null where it was no valid one.")]
    p50_ms: Annotated[float, says("Median response time in the burst.")]
    p99_ms: Annotated[float, says("99th percentile of the response times in the burst.")]
    rate_per_s: Annotated[float, says("Requests per second that arrived in the burst.")]
    requests: Annotated[int, says("Requests of the burst.")]
    failed: Annotated[int, says("Those without a valid answer.")]
    failures: Annotated[dict[str, int], says("These by kind.")]
    queue_most: Annotated[int | None, says("Most connections that were seen waiting for a worker; null where the queue could not be read.")]
    queue_full: Annotated[float | None, says("Share of the samples in which the queue was full.")]
    forks: Annotated[int, says("Workers that were started in the burst.")]
    forks_per_s: Annotated[float | None, says("The same per second, from the first to the last; null below two.")]
    idle_workers: Annotated[int, says("Workers while idle.")]
    idle_kib: Annotated[int | None, says("Memory of the pool while idle, without the master.")]
    workers: Annotated[tuple[tuple[float, int], ...], says("Workers over time: seconds from the burst's start, and how many.")]


class FormulaRow(Struct, frozen=True, kw_only=True):
    """What somebody else's formula would have given."""

    name: Annotated[str, says("Whose it is.")]
    formula: Annotated[str, says("The formula in words.")]
    workers: Annotated[int | None, says("What it gives; null where it cannot be reckoned.")]
    cost: Annotated[
        float | None, says("Throughput that it would have lost against the recommended pool, 0 to 1 (below 0: gained); null if not known.")
    ]
    how: Annotated[Literal["confirmed", "searched", "interpolated", "beyond", ""], says("How that is known.")]
    words: Annotated[str, says("What that says, or why there is no number.")]


class Summary(Struct, frozen=True, kw_only=True):
    """The Universal Scalability Law over the curve: a summary, never what the recommendation rests
    on."""

    per_s: Annotated[float, says("λ: answers per second of one worker.")]
    contention: Annotated[float, says("σ: the share that is done one at a time.")]
    coherence: Annotated[float, says("κ: the cost of each pair.")]
    peak: Annotated[float | None, says("Workers at which it says throughput is highest; null where it never falls.")]
    error: Annotated[float | None, says("Greatest relative error where a measured point is foretold from the others.")]


class ForetoldRow(Struct, frozen=True, kw_only=True):
    """Response times of the recommended pool at one rate of arrivals, as they are foretold."""

    rate_per_s: Annotated[float, says("Requests per second that arrive by chance.")]
    p99_ms: Annotated[float, says("99th percentile by the simulation.")]
    mgc_p99_ms: Annotated[float | None, says("The same by M/G/c; null where it has none.")]
    waits: Annotated[float, says("Share of requests that wait for a worker, by the simulation.")]


class PoolSettings(Struct, frozen=True, kw_only=True):
    """The pool as php-fpm takes it."""

    settings: Annotated[dict[str, str], says("Directives of the pool.")]
    reasons: Annotated[dict[str, str], says("Why, by directive.")]
    kernel: Annotated[dict[str, str], says("Settings of the kernel that belong to it; empty where they are in force.")]


class SizeFound(Struct, frozen=True, kw_only=True):
    """All of a run."""

    schema: Annotated[Literal["phpdyno.size/1"], says("Name and version of this format.")] = SCHEMA
    run: Annotated[str, says("Name of the run.")]
    title: Annotated[str, says("What it is about.")]
    phpdyno: Annotated[str, says("Version of phpdyno.")]
    started: Annotated[str, says("When, ISO 8601 with the offset.")]
    outcome: Annotated[Outcome, says("How it ended.")]
    outcome_detail: Annotated[str, says("Why, where it did not finish.")]
    elapsed_s: Annotated[float, says("Seconds of measuring.")]
    app: Annotated[str, says("The app and its version.")]
    transport: Annotated[Transport, says("How PHP was reached.")]
    targets: Annotated[tuple[TargetRow, ...], says("What was asked for.")]
    cores: Annotated[int, says("Cores that php-fpm had.")]
    confidence: Annotated[float, says("Confidence of each interval by itself, 0 to 1.")]
    answer: Annotated[str, says("The answer in one line.")]
    recommended: Annotated[RecommendedPool, says("The recommended pool.")]
    limit: Annotated[str, says("What limits throughput with that pool, in words.")]
    pools: Annotated[tuple[PoolRow, ...], says("The search, the smallest pool first.")]
    confirmed: Annotated[tuple[ConfirmedRow, ...], says("The confirmation, the recommended pool first.")]
    idle: Annotated[str, says("What idle workers cost.")]
    summary: Annotated[Summary | None, says("The Universal Scalability Law over the search; null with fewer than four sizes.")]
    foretold: Annotated[tuple[ForetoldRow, ...], says("Response times of the recommended pool over the rate of arrivals.")]
    costs: Annotated[tuple[TargetCost, ...], says("Each target by itself.")]
    limits: Annotated[tuple[LimitRow, ...], says("What limits the number of workers.")]
    managers: Annotated[tuple[ManagerRow, ...], says("pm = static, dynamic and ondemand through a burst.")]
    formulas: Annotated[tuple[FormulaRow, ...], says("What other people's formulas would have given.")]
    pool: Annotated[PoolSettings, says("The pool as php-fpm takes it.")]
    sentences: Annotated[tuple[str, ...], says("What else is to be known, in words.")]
    environment: Annotated[tuple[EnvironmentRow, ...], says("Machine and servers.")]
    warnings: Annotated[tuple[str, ...], says("What was warned of.")]
    reached: Annotated[ReachView | None, says("What the app reached for.")]
    repeat: Annotated[str, says("The command that repeats it.")]
