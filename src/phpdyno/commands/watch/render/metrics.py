"""Metrics for Prometheus: each with its unit in its name and a help text; labels are pool and
master, never a process number.

Counters grow from the start of this watching, over reloads of php-fpm; those that php-fpm counts
itself start anew with it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, get_args

from msgspec import Struct
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from phpdyno.commands.watch.found import Advice, HostMoment, LimitKind, PoolMoment

KIB = 1024.0
LABELS = ("pool", "master")


class Described(Struct, frozen=True):
    """A metric of a pool: `read` gives its value at this moment, for a counter what the interval
    added; None where it is not known."""

    name: str
    help: str
    read: Callable[[PoolMoment], float | None]
    kind: Literal["gauge", "counter", "php-fpm's counter"] = "gauge"
    unit: str = ""


def _times(rate: Callable[[PoolMoment], float | None]) -> Callable[[PoolMoment], float | None]:
    """What an interval added, from its rate."""

    def added(pool: PoolMoment) -> float | None:
        value = rate(pool)
        return None if value is None else value * pool.over_s

    return added


def _bytes(kib: Callable[[PoolMoment], float | None]) -> Callable[[PoolMoment], float | None]:
    def value(pool: PoolMoment) -> float | None:
        held = kib(pool)
        return None if held is None else held * KIB

    return value


def _idle(pool: PoolMoment) -> float | None:
    return None if pool.total is None or pool.active is None else max(0.0, pool.total - pool.active)


OF_A_POOL = (
    Described("phpdyno_pool_active_workers", "Workers in a request, mean of the last interval.", lambda pool: pool.active),
    Described("phpdyno_pool_idle_workers", "Workers without a request.", _idle),
    Described("phpdyno_pool_max_workers", "Workers that the pool may have (pm.max_children in effect).", lambda pool: pool.max_children),
    Described(
        "phpdyno_pool_all_busy_ratio",
        "Share of the last interval in which all workers were busy.",
        lambda pool: pool.all_busy,
        unit="ratio",
    ),
    Described("phpdyno_pool_queue_connections", "Connections that no worker has accepted, mean.", lambda pool: pool.queue),
    Described("phpdyno_pool_queue_peak_connections", "The most of them in the last interval.", lambda pool: pool.most_queue),
    Described("phpdyno_pool_queue_limit_connections", "How many may wait.", lambda pool: pool.queue_limit),
    Described(
        "phpdyno_pool_queue_overflows",
        "Connections turned away (unix: looks that found the queue full).",
        lambda pool: pool.overflows,
        "counter",
    ),
    Described("phpdyno_pool_requests", "Requests.", _times(lambda pool: pool.requests_per_s), "counter"),
    Described("phpdyno_pool_cpu_seconds", "CPU time of its workers.", _times(lambda pool: pool.cpu_cores), "counter", "seconds"),
    Described(
        "phpdyno_pool_run_queue_seconds",
        "Time that workers were ready without a core.",
        _times(lambda pool: pool.run_queue_cores),
        "counter",
        "seconds",
    ),
    Described(
        "phpdyno_pool_blocked_seconds",
        "Time in requests on no core and waiting for none: for a database, a disk, a peer, a lock.",
        _times(lambda pool: pool.blocked_cores),
        "counter",
        "seconds",
    ),
    Described("phpdyno_pool_worker_pss_bytes", "PSS of a worker, the median.", _bytes(lambda pool: pool.worker_pss_kib), unit="bytes"),
    Described("phpdyno_pool_pss_bytes", "PSS of all workers.", _bytes(lambda pool: pool.pool_pss_kib), unit="bytes"),
    Described(
        "phpdyno_pool_memory_limit_bytes",
        "The tightest memory limit of its cgroups.",
        _bytes(lambda pool: pool.memory_limit_kib),
        unit="bytes",
    ),
    Described(
        "phpdyno_pool_memory_used_bytes", "In use in the cgroup of that limit.", _bytes(lambda pool: pool.memory_used_kib), unit="bytes"
    ),
    Described("phpdyno_pool_cpu_limit_cores", "The tightest CPU limit of its cgroups.", lambda pool: pool.cpu_limit_cores, unit="cores"),
    Described(
        "phpdyno_pool_throttled_ratio", "Share of that limit's periods in which it was stopped.", lambda pool: pool.throttled, unit="ratio"
    ),
    Described("phpdyno_pool_stuck_requests", "Requests that run far longer than usual.", lambda pool: len(pool.stuck)),
    Described(
        "phpdyno_pool_max_children_reached",
        "As php-fpm counts it since its start.",
        lambda pool: pool.max_children_reached,
        "php-fpm's counter",
    ),
    Described(
        "phpdyno_pool_slow_requests", "As php-fpm counts them since its start.", lambda pool: pool.slow_requests, "php-fpm's counter"
    ),
)
OF_THE_HOST: tuple[tuple[str, str, Callable[[HostMoment], float | None], str], ...] = (
    ("phpdyno_host_online_cores", "Cores of the host.", lambda host: host.cores, "cores"),
    ("phpdyno_host_busy_cores", "Cores in use by anybody.", lambda host: host.busy_cores, "cores"),
    ("phpdyno_host_stolen_cores", "Cores that the hypervisor gave to somebody else.", lambda host: host.stolen_cores, "cores"),
    (
        "phpdyno_host_available_bytes",
        "RAM that programs may still take.",
        lambda host: None if host.available_kib is None else host.available_kib * KIB,
        "bytes",
    ),
    ("phpdyno_host_memory_bytes", "RAM.", lambda host: None if host.memory_kib is None else host.memory_kib * KIB, "bytes"),
)
LIMITED = ("phpdyno_pool_limited", "1 for what limits the pool now, 0 for the rest.")
RECOMMENDED = ("phpdyno_pool_recommended_workers", "The ends of the recommended range, so far.")
COST = ("phpdyno_watch_cpu_seconds", "CPU time that watching took.")


class PoolMetrics(Collector):
    """What was last seen, and counters over all that was."""

    def __init__(self) -> None:
        self._host: HostMoment | None = None
        self._pools: tuple[PoolMoment, ...] = ()
        self._advice: tuple[Advice, ...] = ()
        self._counted: Counter[tuple[str, tuple[str, str]]] = Counter()
        self._cost_s = 0.0

    def put(self, host: HostMoment, pools: tuple[PoolMoment, ...], advice: tuple[Advice, ...]) -> None:
        """One interval."""
        for pool, label in zip(pools, labels_of(pools), strict=True):
            for metric in OF_A_POOL:
                if metric.kind == "counter":
                    self._counted[metric.name, label] += metric.read(pool) or 0.0  # type: ignore[assignment]  # seconds, too
        self._cost_s += (pools[0].cost_ms if pools else 0.0) / 1e3
        self._host, self._pools, self._advice = host, pools, advice

    def registry(self) -> CollectorRegistry:
        """One that holds these and nothing of our own process."""
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def describe(self) -> Iterable[Metric]:
        """Nothing needs to be collected to register them."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """All that is known at this moment."""
        pools = self._pools
        labels = labels_of(pools)
        for metric in OF_A_POOL:
            yield self._of_pools(metric, pools, labels)
        limited = GaugeMetricFamily(*LIMITED, labels=(*LABELS, "limit"))
        for pool, label in zip(pools, labels, strict=True):
            for kind in get_args(LimitKind):
                limited.add_metric((*label, kind), float(pool.limit.kind == kind))
        yield limited
        known = {(pool.master, pool.pool): label for pool, label in zip(pools, labels, strict=True)}
        recommended = GaugeMetricFamily(*RECOMMENDED, labels=(*LABELS, "end"))
        for each in self._advice:
            at = known.get((each.master, each.pool))
            if at is not None and each.low is not None and each.high is not None:
                recommended.add_metric((*at, "low"), each.low)
                recommended.add_metric((*at, "high"), each.high)
        yield recommended
        if self._host is not None:
            for name, text, read, unit in OF_THE_HOST:
                value = read(self._host)
                if value is not None:
                    yield GaugeMetricFamily(name, text, value=value, unit=unit)
        yield CounterMetricFamily(*COST, value=self._cost_s, unit="seconds")

    def _of_pools(self, metric: Described, pools: Sequence[PoolMoment], labels: Sequence[tuple[str, str]]) -> Metric:
        family = GaugeMetricFamily if metric.kind == "gauge" else CounterMetricFamily
        told = family(metric.name, metric.help, labels=LABELS, unit=metric.unit)
        for pool, label in zip(pools, labels, strict=True):
            value = self._counted[metric.name, label] if metric.kind == "counter" else metric.read(pool)
            if value is not None:
                told.add_metric(label, value)
        return told


def labels_of(pools: Sequence[PoolMoment]) -> list[tuple[str, str]]:
    """Pool and master of each: the master is its configuration file, with its cgroup where several
    masters have one of that name.

    Where that does not tell them apart either, they are numbered, the oldest process first.
    """
    masters = {pool.master: pool for pool in pools}
    named: dict[int, str] = {}
    for master, pool in sorted(masters.items()):
        same = [other for other in masters.values() if other.config == pool.config]
        name = pool.config or "?"
        if len(same) > 1 and pool.group:
            name = f"{name} in {pool.group}"
        taken = sum(other == name or other.startswith(f"{name} (") for other in named.values())
        named[master] = f"{name} ({taken + 1})" if taken else name
    return [(pool.pool, named[pool.master]) for pool in pools]


def metrics_table() -> Iterator[tuple[str, str, str]]:
    """Name as it is scraped, kind and help of every metric, for the reference."""
    for metric in OF_A_POOL:
        counts = metric.kind != "gauge"
        yield f"{metric.name}{'_total' if counts else ''}", "counter" if counts else "gauge", metric.help
    yield LIMITED[0], "gauge, label `limit`", LIMITED[1]
    yield RECOMMENDED[0], "gauge, label `end` (low, high)", RECOMMENDED[1]
    for name, text, _, _ in OF_THE_HOST:
        yield name, "gauge, without labels", text
    yield f"{COST[0]}_total", "counter, without labels", COST[1]
