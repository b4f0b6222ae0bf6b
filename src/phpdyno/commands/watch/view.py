"""What is watched, in words. Pure."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import structs

from phpdyno.commands.watch.found import Advice, Event, HostMoment, Limit, PoolMoment
from phpdyno.commands.watch.judging.limit import blocked_share

DETAILED = 3
"""So many pools have a block each; more are rows of a table."""
HEADS = ("pool", "busy", "queue", "req/s", "cores", "waits", "MiB", "limit now")
_SHORT = {
    "overflow": "queue overflows",
    "memory": "memory",
    "throttled": "CPU limit",
    "cores": "cores full",
    "stuck": "stuck requests",
    "workers-waiting": "workers, waiting",
    "workers-on-cpu": "workers, computing",
    "growing": "forking",
    "nothing": "nothing",
    "unknown": "unknown",
}


def title(host: HostMoment, since_s: float) -> str:
    """The first line: the host."""
    memory = ""
    if host.memory_kib and host.available_kib is not None:
        memory = f", RAM {(host.memory_kib - host.available_kib) / (1 << 20):.1f} of {host.memory_kib / (1 << 20):.1f} GiB"
    stolen = f", {host.stolen_cores:.1f} stolen" if host.stolen_cores >= 0.05 else ""
    return f"{clock(host.at)}  {host.busy_cores:.1f} of {host.cores} cores busy{stolen}{memory}  watched for {span(since_s)}"


def block(pool: PoolMoment, names: Sequence[PoolMoment]) -> Iterator[tuple[str, str]]:
    """The lines of one pool, each with its name; no line is longer than 80 columns but where a
    limit has much to say."""
    yield name_of(pool, names), f"{pool.pm or 'php-fpm'}, master {pool.master}, by {pool.source}"
    yield "  workers", _workers(pool)
    yield "  requests", f"{_figure(pool.requests_per_s, 1)}/s, {_queue(pool)}"
    yield "  time", _time(pool)
    yield "  memory", _memory(pool)
    yield "  limit now", limit_words(pool.limit)
    for each in pool.stuck[:3]:
        yield "  stuck", f"process {each.pid} for {span(each.age_s)}{f': {each.waits_on}' if each.waits_on else ''}"


def row(pool: PoolMoment, names: Sequence[PoolMoment]) -> tuple[str, ...]:
    """The cells of one pool among many."""
    share = blocked_share(pool)
    return (
        name_of(pool, names),
        f"{_figure(pool.active, 1)}/{pool.max_children if pool.max_children is not None else '?'}",
        _figure(pool.queue, 1),
        _figure(pool.requests_per_s, 1),
        _figure(pool.cpu_cores, 2),
        "–" if share is None else f"{share:.0%}",
        "–" if pool.worker_pss_kib is None else f"{pool.worker_pss_kib / 1024:.0f}",
        _SHORT[pool.limit.kind],
    )


def line(pool: PoolMoment, names: Sequence[PoolMoment]) -> str:
    """One pool and interval as one line."""
    parts = [_workers(pool), _queue(pool), f"{_figure(pool.requests_per_s, 1)} req/s", _time(pool)]
    if pool.worker_pss_kib is not None:
        parts.append(f"{pool.worker_pss_kib / 1024:.1f} MiB a worker")
    return f"{clock(pool.at)} {name_of(pool, names)}: {'; '.join(parts)}; limit: {limit_words(pool.limit)}"


def event(told: Event) -> str:
    """Something that happened."""
    return f"{clock(told.at)} {f'{told.pool}: ' if told.pool else ''}{told.text}"


def summary(found: Sequence[Advice], together: str) -> Iterator[str]:
    """All pools at the end: those that had no request on one line, a warning that several have said
    once."""
    idle = [each for each in found if each.low is None and not each.requests and len(found) > DETAILED]
    counts = Counter(warning for each in found for warning in each.warnings)
    common = {warning: count for warning, count in counts.items() if count > 1}
    for each in found:
        if each not in idle:
            yield from advice(structs.replace(each, warnings=tuple(warning for warning in each.warnings if warning not in common)))
    if idle:
        yield f"{len(idle)} pools without a request, of which nothing can be said: {', '.join(each.pool for each in idle)}"
    for warning, count in common.items():
        yield f"! {count} pools: {warning}"
    if together:
        yield f"! {together}"


def advice(told: Advice) -> Iterator[str]:
    """The summary of a pool, the number first."""
    seen = f"watched for {span(told.watched_s)}{'' if told.requests is None else f', {told.requests:,} requests'}"
    if told.low is None or told.high is None:
        yield f"{told.pool} (master {told.master}): no number of workers can be named ({seen})"
    else:
        much = f"{told.low} workers" if told.low == told.high else f"{told.low} to {told.high} workers"
        yield f"{told.pool} (master {told.master}): {much}, confidence {told.confidence} ({seen})"
    if told.why_confidence:
        yield f"  confidence: {told.why_confidence}"
    for reason in told.reasons:
        yield f"  because {reason}"
    if told.limits:
        yield "  limits: " + ", ".join(f"{_SHORT.get(kind, kind)} {share:.0%} of the time" for kind, share in told.limits.items())
    for warning in told.warnings:
        yield f"  ! {warning}"


def name_of(pool: PoolMoment, among: Sequence[PoolMoment]) -> str:
    """Its name, with its master's number where another pool has the same."""
    return pool.pool if sum(other.pool == pool.pool for other in among) < 2 else f"{pool.master}:{pool.pool}"


def limit_words(limit: Limit) -> str:
    """What limits, and the figures."""
    return f"{_SHORT[limit.kind]}{f': {limit.because}' if limit.because else ''}"


def clock(at: float) -> str:
    """The time of day."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def span(seconds: float) -> str:
    """`42 s`, `3 min 5 s`, `2 h 10 min`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _workers(pool: PoolMoment) -> str:
    of = f" of {pool.max_children}" if pool.max_children is not None else ""
    there = "" if pool.total is None else f", {pool.total} there"
    reached = f", max children reached {pool.max_children_reached}×" if pool.max_children_reached else ""
    return f"{_figure(pool.active, 1)} busy{of} (at most {pool.most_active if pool.most_active is not None else '–'}{there}){reached}"


def _queue(pool: PoolMoment) -> str:
    if pool.queue is None:
        return "queue unknown"
    limit = "" if pool.queue_limit is None else f" of {pool.queue_limit}"
    over = f", {pool.overflows} turned away" if pool.overflows else ""
    return f"queue {pool.queue:.1f} (at most {pool.most_queue}{limit}){over}"


def _time(pool: PoolMoment) -> str:
    share = blocked_share(pool)
    waits = "waits unknown" if pool.blocked_cores is None else f"waits {pool.blocked_cores:.2f}"
    return (
        f"CPU {_figure(pool.cpu_cores, 2)} cores, run queue {_figure(pool.run_queue_cores, 2)}, {waits}"
        f"{'' if share is None else f' ({share:.0%} of busy)'}"
    )


def _memory(pool: PoolMoment) -> str:
    nobody = "no worker" if pool.total == 0 else "unknown"
    own = nobody if pool.worker_pss_kib is None else f"{pool.worker_pss_kib / 1024:.1f} MiB a worker"
    whole = "" if pool.pool_pss_kib is None else f", {pool.pool_pss_kib / 1024:,.0f} MiB the pool (PSS)"
    limit = ""
    if pool.memory_limit_kib:
        used = "" if pool.memory_used_kib is None else f", {pool.memory_used_kib / pool.memory_limit_kib:.0%} used"
        limit = f"; limit {pool.memory_limit_kib / 1024:,.0f} MiB{used}"
    return f"{own}{whole}{limit}"


def _figure(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
