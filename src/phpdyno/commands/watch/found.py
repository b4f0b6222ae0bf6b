"""What watching gives, as data: the lines of `--json` and `--record`; docs/reference/watch.md is
made of it."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

LimitKind = Literal[
    "overflow", "memory", "throttled", "cores", "stuck", "workers-waiting", "workers-on-cpu", "growing", "nothing", "unknown"
]
Confidence = Literal["low", "medium", "high"]


class Limit(Struct, frozen=True, kw_only=True):
    """What holds a pool back now."""

    kind: Annotated[
        LimitKind,
        Meta(
            description="`overflow`: the queue is full and connections are turned away; `memory`; `throttled`: a CPU limit stops it; "
            "`cores`: they are full; `stuck`: requests that do not end hold workers; `workers-waiting`: all are busy and mostly wait; "
            "`workers-on-cpu`: all are busy and mostly compute; `growing`: php-fpm forks slower than requests come; `nothing`; `unknown`."
        ),
    ] = "nothing"
    because: Annotated[str, Meta(description="The figures that say so.")] = ""


class StuckWorker(Struct, frozen=True, kw_only=True):
    """A request that runs far longer than is usual in this pool."""

    pid: Annotated[int, Meta(description="Its worker, as this host numbers it.")]
    age_s: Annotated[float, Meta(description="For how long it has been in its request.")]
    waits_on: Annotated[str, Meta(description="What it waits on at this moment; empty where that may not be read.")] = ""


class PoolMoment(Struct, frozen=True, kw_only=True, tag="pool"):
    """One pool over one interval. What no source tells is null."""

    at: Annotated[float, Meta(description="End of the interval, seconds since 1970.")]
    pool: Annotated[str, Meta(description="Name of the pool.")]
    master: Annotated[int, Meta(description="Process number of its master.")]
    config: Annotated[str, Meta(description="Configuration file of the master, as it sees it.")]
    over_s: Annotated[float, Meta(description="Length of the interval.")]
    group: Annotated[str, Meta(description="Last part of the path of the master's cgroup: a unit, a container.")] = ""
    source: Annotated[
        str,
        Meta(description="Where workers and requests come from: `scoreboard`, `status page`, `systemd`, `own socket` (--ask) or `/proc`."),
    ] = "/proc"
    pm: Annotated[str | None, Meta(description="static, dynamic or ondemand.")] = None
    max_children: Annotated[int | None, Meta(description="Workers that it may have: the running value where the scoreboard is read.")] = (
        None
    )
    configured: Annotated[int | None, Meta(description="pm.max_children in its file; null where the file cannot be read.")] = None
    total: Annotated[int | None, Meta(description="Workers that are there.")] = None
    active: Annotated[float | None, Meta(description="Workers in a request, mean over the interval.")] = None
    most_active: Annotated[int | None, Meta(description="The most of them that were seen at once in the interval.")] = None
    all_busy: Annotated[float | None, Meta(description="Share of the interval in which max_children workers were busy, 0 to 1.")] = None
    queue: Annotated[float | None, Meta(description="Connections that nobody has accepted, mean over the interval.")] = None
    most_queue: Annotated[int | None, Meta(description="The most of them that were seen at once.")] = None
    queue_limit: Annotated[int | None, Meta(description="How many may wait; the kernel lets one more.")] = None
    overflows: Annotated[
        int | None,
        Meta(
            description="Connections turned away in the interval. TCP: as the kernel counts them for its network, where the queue was half "
            "full at least; unix: looks that found it full."
        ),
    ] = None
    requests: Annotated[int | None, Meta(description="Requests since the pool was started or reloaded.")] = None
    requests_per_s: Annotated[float | None, Meta(description="Requests per second.")] = None
    cpu_cores: Annotated[float | None, Meta(description="CPU time of its workers per second: cores in use.")] = None
    run_queue_cores: Annotated[float | None, Meta(description="Time per second that workers were ready and had no core.")] = None
    blocked_cores: Annotated[
        float | None,
        Meta(description="Time per second that workers were in a request, neither on a core nor waiting for one: they wait on something."),
    ] = None
    worker_pss_kib: Annotated[float | None, Meta(description="PSS of a worker with its children, the median.")] = None
    worker_private_kib: Annotated[
        float | None, Meta(description="What a worker holds alone, the 95th percentile over the workers that have served requests.")
    ] = None
    pool_pss_kib: Annotated[float | None, Meta(description="PSS of all workers.")] = None
    shared_kib: Annotated[
        float | None, Meta(description="What workers share (opcache, code), counted once: PSS without what is private.")
    ] = None
    memory_limit_kib: Annotated[float | None, Meta(description="The tightest memory limit of its cgroups; null without one.")] = None
    memory_used_kib: Annotated[float | None, Meta(description="In use in the cgroup of that limit.")] = None
    cpu_limit_cores: Annotated[float | None, Meta(description="The tightest CPU limit of its cgroups.")] = None
    throttled: Annotated[float | None, Meta(description="Share of the periods of that limit in which it was stopped.")] = None
    memory_pressure: Annotated[float | None, Meta(description="Pressure stall: share of 10 s in which something waited for memory.")] = None
    max_children_reached: Annotated[
        int | None,
        Meta(description="As php-fpm counts it since its start: once until the next fork, never in a static pool."),
    ] = None
    slow_requests: Annotated[int | None, Meta(description="As php-fpm counts them since its start.")] = None
    stuck: Annotated[tuple[StuckWorker, ...], Meta(description="Requests far longer than usual, the longest first.")] = ()
    limit: Annotated[Limit, Meta(description="What limits it now.")] = field(default_factory=Limit)
    cost_ms: Annotated[float, Meta(description="CPU time that watching all pools took in this interval.")] = 0.0


class HostMoment(Struct, frozen=True, kw_only=True, tag="host"):
    """The host over one interval."""

    at: Annotated[float, Meta(description="End of the interval, seconds since 1970.")]
    over_s: Annotated[float, Meta(description="Length of the interval.")]
    cores: Annotated[int, Meta(description="Cores that are online.")]
    busy_cores: Annotated[float, Meta(description="Cores in use by anybody.")]
    stolen_cores: Annotated[float, Meta(description="Cores that the hypervisor gave to somebody else.")] = 0.0
    memory_kib: Annotated[int | None, Meta(description="RAM.")] = None
    available_kib: Annotated[int | None, Meta(description="What programs may still take.")] = None
    swapped_in_per_s: Annotated[float | None, Meta(description="Pages read from swap per second.")] = None
    swapped_out_per_s: Annotated[float | None, Meta(description="Pages written to swap per second.")] = None
    cpu_pressure: Annotated[float | None, Meta(description="Pressure stall: share of 10 s in which something waited for a core.")] = None


class Event(Struct, frozen=True, kw_only=True, tag="event"):
    """Something that happened and is no figure."""

    at: Annotated[float, Meta(description="When, seconds since 1970.")]
    pool: Annotated[str, Meta(description="PID:NAME of the pool; empty where it concerns all.")] = ""
    text: Annotated[str, Meta(description="What happened, in words.")] = ""


class Advice(Struct, frozen=True, kw_only=True, tag="advice"):
    """What follows from all that was seen of a pool."""

    pool: Annotated[str, Meta(description="Name of the pool.")]
    master: Annotated[int, Meta(description="Process number of its master.")]
    low: Annotated[
        int | None, Meta(description="The fewest workers that fit the loads that were seen; null where nothing can be said.")
    ] = None
    high: Annotated[int | None, Meta(description="The most that can help, within memory and cores.")] = None
    confidence: Annotated[Confidence, Meta(description="By the loads that were seen.")] = "low"
    why_confidence: Annotated[str, Meta(description="Why no more than that.")] = ""
    reasons: Annotated[tuple[str, ...], Meta(description="What the range rests on.")] = ()
    warnings: Annotated[tuple[str, ...], Meta(description="What is wrong beside the number of workers.")] = ()
    limits: Annotated[dict[str, float], Meta(description="Share of the watched time in which each limit was the limit, largest first.")] = (
        field(default_factory=dict)
    )
    watched_s: Annotated[float, Meta(description="How long it was watched.")] = 0.0
    requests: Annotated[int | None, Meta(description="Requests that were seen.")] = None


Line = PoolMoment | HostMoment | Event | Advice
"""A line of `--json` and `--record`; its `type` says which."""
