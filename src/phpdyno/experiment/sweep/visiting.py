"""One visit: drive one instance at one point of load, and read everything that is to be read of
it."""

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Protocol, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno._native import Histogram
from phpdyno.drive.driver import LoopDriver, OpenRun, Response, Samples
from phpdyno.drive.open_samples import is_late, lag_ns, queued, response_ns
from phpdyno.errors import DynoError
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters, SlotReading, measure_slot, service_ns
from phpdyno.experiment.common.stage import LiveInstance
from phpdyno.experiment.comparison import block
from phpdyno.host.clock import HostCpu, read_each, read_host_cpu, stolen_over
from phpdyno.host.cores import Cores
from phpdyno.host.sockets.kernel_network import interrupt_ns, network_between, read_kernel_network
from phpdyno.host.sockets.listen_queue import ListenQueue
from phpdyno.host.sockets.queue_sampler import QueueSampler
from phpdyno.model.plan import ExclusionLimits
from phpdyno.model.runs.readings import KernelNetwork, PoolStatus, QueueLevel, QueueLevels
from phpdyno.model.runs.sweep import Point, SweepPlan, TargetTimes, Visit, VisitCpu
from phpdyno.servers.facts.pool_memory import read_pool_memory
from phpdyno.servers.facts.pool_status import read_pool_status
from phpdyno.stats.percentile import percentile

DISCARDED = 10
"""Requests before an open visit; a closed one has as many as are in flight. They open connections
and warm what an idle spell cooled."""
EVERY = 2
"""The status page is asked with every second sample of the queue: 3 times a second, 0.03 % of a
core."""
LATE_OPEN = "generator late"


class VisitOrder(Struct, frozen=True):
    """What a visit is to send: targets in order, and in an open loop when (nanoseconds from its
    start), at this rate per second."""

    point: Point
    sequence: NDArray[np.uint32]
    offsets_ns: NDArray[np.uint64] | None = None
    rate_per_s: float = 0.0


class PoolInstance(LiveInstance, Protocol):
    """An instance with a pool: where its queue is, and the address of its status page ('' without
    one)."""

    fastcgi: str
    status: str


class ScheduledDriver:
    """An open loop as a driver: its slot is sent at given times, and its columns are kept; all but
    the slot is the inner one's."""

    def __init__(self, inner: LoopDriver, offsets_ns: NDArray[np.uint64]) -> None:
        self.concurrency = inner.concurrency
        self.least_slot_ns = inner.least_slot_ns
        self.run: OpenRun | None = None
        self._inner = inner
        self._offsets_ns = offsets_ns

    def fetch(self, target: int) -> Response:
        """One request, the whole answer kept."""
        return self._inner.fetch(target)

    def close(self) -> None:
        """Give up its connections."""
        self._inner.close()

    def drive(self, sequence: NDArray[np.uint32]) -> Samples:
        """One slot: send `sequence` at its times."""
        self.run = self._inner.drive_open(sequence, self._offsets_ns)
        return self.run


class Guest:
    """A live instance while it is visited: its listen queue stays open, and its status page is
    asked once that may be.

    php-fpm answers for its page with a process of its own, which lives on for 10 s and shares pages
    with the workers: whoever asks changes everybody's PSS. So an instance is asked from its start
    (`asking`), or not before its memory was read.
    """

    def __init__(self, instance: PoolInstance, *, asking: bool = False) -> None:
        self.instance = instance
        self.asking = asking
        self._stack = contextlib.ExitStack()
        self._queue: ListenQueue | None = None
        self._active: list[int] = []
        self._samples = 0

    def __enter__(self) -> Self:
        # Where the kernel does not tell (no sock_diag), the queue is unknown and the sweep goes on.
        with contextlib.suppress(OSError):
            self._queue = self._stack.enter_context(ListenQueue(self.instance.fastcgi))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def sampler(self, cores: Sequence[int], seed: int) -> QueueSampler | None:
        """One for the next visit; None where the queue cannot be read."""
        self._active, self._samples = [], 0
        return QueueSampler(self.read, cores=cores, seed=seed) if self._queue else None

    def read(self) -> QueueLevel:
        """The queue at this moment; now and then the workers as well. Raises OSError when the
        socket is gone."""
        if self._queue is None:
            raise OSError("the queue is not open")
        level = self._queue.read()
        self._samples += 1
        # At the pool's own socket (before PHP 8.0) a question would take a worker.
        if self.asking and self._samples % EVERY == 0 and self.instance.status != self.instance.fastcgi:
            found = self.status()
            self._active += [found.active] if found else []
        return level

    def busy_workers(self) -> float | None:
        """Mean of the workers that were seen at work since the sampler was made; None when none
        were looked for."""
        return math.fsum(self._active) / len(self._active) if self._active else None

    def status(self) -> PoolStatus | None:
        """The status page; None when it may not be asked yet, or does not answer (a pool that just
        died says so elsewhere)."""
        if not self.asking or not self.instance.status:
            return None
        try:
            return read_pool_status(self.instance.status)
        except DynoError:
            return None


class CoreReading(Struct, frozen=True):
    """Totals since boot: php-fpm's cores, the helpers', each of both, and the kernel's network
    (None where it does not tell)."""

    php: HostCpu
    helpers: HostCpu
    each: tuple[HostCpu, ...]
    network: KernelNetwork | None


class Visitor:
    """Visits points of instances; what all visits share. `driver` makes one for an instance and so
    many requests in flight."""

    def __init__(
        self,
        plan: SweepPlan,
        cores: Cores,
        shared: SharedMeters,
        *,
        driver: Callable[[LiveInstance, int], LoopDriver],
        network_apart: bool | None,
    ) -> None:
        self._plan = plan
        self._cores = cores
        self._shared = shared
        self._driver = driver
        self._apart = network_apart

    def visit(self, guest: Guest, order: VisitOrder, number: int, *, remember: bool = False, opening: bool = True) -> Visit:
        """One visit of round `number`. `remember`: read the pool's memory after it; from then on
        the status page is asked.

        Without `opening` nothing is sent before it: it finds the pool as it is.
        """
        driver = self._driver(guest.instance, order.point.concurrency)
        scheduled = None if order.offsets_ns is None else ScheduledDriver(driver, order.offsets_ns)
        try:
            if opening:
                driver.drive(order.sequence[: DISCARDED if scheduled else order.point.concurrency])
            sampler = guest.sampler(self._cores.helpers, number)
            before = self._read_cores()
            with sampler or contextlib.nullcontext():
                reading = measure_slot(DrivenInstance(guest.instance, scheduled or driver), self._shared, order.sequence)
            after = self._read_cores()
        finally:
            driver.close()
        memory = read_pool_memory(guest.instance.php_pid) if remember else None
        guest.asking = guest.asking or remember
        run = scheduled.run if scheduled else None
        steal, lag = stolen_over(before.each, after.each), block.unfilled_share([reading]) if run is None else 0.0
        return Visit(
            arm=guest.instance.arm.name,
            point=order.point,
            round=number,
            requests=int(order.sequence.size),
            valid=reading.valid,
            drive_ns=reading.drive_ns,
            cpu=self._cpu(guest.instance, reading, before, after),
            times=target_times(reading.samples, run),
            rate_per_s=order.rate_per_s,
            kinds=dict(reading.failures),
            status=guest.status(),
            queue=seen(sampler),
            memory=memory,
            busy_workers=guest.busy_workers(),
            lag_fraction=lag,
            lag_p99_ns=lag_p99_ns(run),
            queued=queued(run) if run else 0,
            excluded=excluded_for(self._plan, steal, lag, run),
            threads=driver.threads,
        )

    def _read_cores(self) -> CoreReading:
        both = tuple(sorted({*self._cores.measured, *self._cores.helpers}))
        return CoreReading(
            php=read_host_cpu(cores=self._cores.measured),
            helpers=read_host_cpu(cores=self._cores.helpers),
            each=read_each(cores=both),
            network=read_kernel_network(apart=self._apart),
        )

    def _cpu(self, instance: LiveInstance, reading: SlotReading, before: CoreReading, after: CoreReading) -> VisitCpu:
        """A worker that ended between two readings of schedstat may take some of a tick with it:
        never less than nothing."""
        network = network_between(before.network, after.network) if before.network and after.network else None
        return VisitCpu(
            php_ns=max(0, reading.php_ns),
            generator_ns=reading.generator_ns,
            web_ns=max(0, reading.web_ns) if instance.web_meter else None,
            database_ns=max(0, reading.database_ns) if self._shared.database else None,
            php_cores_ns=after.php.busy_ns - before.php.busy_ns,
            helper_cores_ns=after.helpers.busy_ns - before.helpers.busy_ns,
            stolen_ns=sum(one.steal_ns for one in after.each) - sum(one.steal_ns for one in before.each),
            network_ns=interrupt_ns(network, {*self._cores.measured, *self._cores.helpers}) if network else None,
            network_apart=network.apart if network else None,
            wall_ns=reading.wall_ns,
            services_ns={name: max(0, ns) for name, ns in reading.services_ns.items()},
        )


def target_times(samples: Samples, run: OpenRun | None) -> tuple[TargetTimes, ...]:
    """Times of the valid answers by target: response times of an open loop, else service times."""
    valid = samples.outcome == 0
    times = service_ns(samples)[valid] if run is None else response_ns(run)
    targets = samples.target[valid]
    found = []
    for target in np.unique(targets).tolist():
        histogram = Histogram()
        histogram.record(np.ascontiguousarray(times[targets == target]))
        values, counts = histogram.counts()
        found.append(TargetTimes(int(target), tuple(values.tolist()), tuple(counts.tolist())))
    return tuple(found)


def lag_p99_ns(run: OpenRun | None) -> int:
    """The generator's own lag in an open loop at its 99th percentile, nanoseconds; 0 where nothing
    was sent."""
    if run is None:
        return 0
    lags = lag_ns(run)
    return percentile(lags, 99.0) if lags.size else 0


def excluded_for(plan: SweepPlan, steal: float, lag: float, run: OpenRun | None) -> str:
    """The covariate, declared beforehand, for which a visit does not count; '' when it counts.
    Failures are no such reason."""
    late = run is not None and response_ns(run).size and is_late(run)
    return block.excluded_for(ExclusionLimits(plan.max_steal, plan.max_lag), "", steal, lag) or (LATE_OPEN if late else "")


def seen(sampler: QueueSampler | None) -> QueueLevels | None:
    """What a sampler saw; None without one."""
    return sampler.levels() if sampler else None
