"""All that was seen of one pool so far, summed up as it comes: a day takes a few kilobytes.
Pure."""

from collections import Counter

from msgspec import Struct, field

from phpdyno.commands.watch.found import HostMoment, PoolMoment
from phpdyno.commands.watch.judging.limit import ALL_BUSY, STOPPED, cores_full

WINDOW_S = 60.0
MOST_DEMAND = 1 << 16


class SeenInterval(Struct, frozen=True, kw_only=True):
    """What a recommendation rests on. `demand` is busy workers and queue together, without waiting
    for a core: what was asked of the pool.

    Shares are of the watched time; None is what was not told. `cpu_per_busy` is cores that a busy
    worker used while it was not waiting for one. Memory is PSS: `private_kib` of one worker,
    `shared_kib` once, `room_kib` what the pool may have in all.
    """

    watched_s: float = 0.0
    requests: int | None = None
    busiest: float | None = None
    quietest: float | None = None
    peak: int | None = None
    saturated: float = 0.0
    full: float = 0.0
    full_by_others: bool = False
    cpu_per_busy: float | None = None
    blocked: float | None = None
    private_kib: float | None = None
    shared_kib: float = 0.0
    room_kib: float | None = None
    room_is: str = ""
    cores: float = 1.0
    max_children: int | None = None
    configured: int | None = None
    pm: str | None = None
    stuck: float = 0.0
    swapped: bool = False
    overflows: int = 0
    queue_limit: int | None = None
    limits: dict[str, float] = field(default_factory=dict)


class History:
    """Takes in intervals of one pool."""

    def __init__(self) -> None:
        self._watched_s = 0.0
        self._requests: float | None = None
        self._last: PoolMoment | None = None
        self._window_s = self._window = 0.0
        self._windows: list[float] = []
        self._peaks: Counter[int] = Counter()
        self._limits: Counter[str] = Counter()
        self._busy_s = self._run_s = self._wait_s = self._blocked_s = 0.0
        self._saturated_s = self._full_s = self._stuck_s = self._full_run_s = self._full_host_s = 0.0
        self._private_kib: float | None = None
        self._shared_kib = 0.0
        self._room: tuple[float, str] | None = None
        self._cores = 1.0
        self._swapped_s = 0.0
        self._overflows = 0

    def add(self, pool: PoolMoment, host: HostMoment) -> None:
        """One interval."""
        over_s = pool.over_s
        self._watched_s += over_s
        self._last = pool
        if pool.requests_per_s is not None:
            self._requests = (self._requests or 0.0) + pool.requests_per_s * over_s
        self._limits[pool.limit.kind] += over_s  # type: ignore[assignment]  # seconds, not a count
        self._overflows += pool.overflows or 0
        self._swapped_s += over_s * ((host.swapped_in_per_s or 0.0) > 0)
        self._cores = min(host.cores, pool.cpu_limit_cores or host.cores)
        self._add_load(pool, host)
        self._add_memory(pool, host)

    def _add_load(self, pool: PoolMoment, host: HostMoment) -> None:
        over_s = pool.over_s
        self._stuck_s += over_s * len(pool.stuck)
        if cores_full(pool, host):
            self._full_s += over_s
            available = min(host.busy_cores, pool.cpu_limit_cores or host.busy_cores)
            # What its own limit stops is its own doing, however little it is let run.
            used = available if (pool.throttled or 0.0) > STOPPED else pool.cpu_cores or 0.0
            self._full_run_s += over_s * used
            self._full_host_s += over_s * available
        if pool.active is None:
            return
        self._saturated_s += over_s * ((pool.all_busy or 0.0) >= ALL_BUSY)
        wait = min(pool.run_queue_cores or 0.0, pool.active)
        self._busy_s += over_s * pool.active
        self._wait_s += over_s * wait
        self._run_s += over_s * min(pool.cpu_cores or 0.0, pool.active)
        self._blocked_s += over_s * (pool.blocked_cores or 0.0)
        demand = max(0.0, pool.active - wait - len(pool.stuck)) + (pool.queue or 0.0)
        peak = (pool.most_active or 0) - len(pool.stuck) + (pool.most_queue or 0)
        self._peaks[min(max(0, peak), MOST_DEMAND)] += 1
        self._window += demand * over_s
        self._window_s += over_s
        if self._window_s >= WINDOW_S:
            self._windows.append(self._window / self._window_s)
            self._window = self._window_s = 0.0

    def _add_memory(self, pool: PoolMoment, host: HostMoment) -> None:
        if pool.worker_private_kib is not None:
            self._private_kib = max(self._private_kib or 0.0, pool.worker_private_kib)
        if pool.pool_pss_kib is None:
            return
        if pool.shared_kib is not None:
            self._shared_kib = max(self._shared_kib, pool.shared_kib)
        rooms = []
        if pool.memory_limit_kib and pool.memory_used_kib is not None:
            rooms.append((pool.memory_limit_kib - pool.memory_used_kib + pool.pool_pss_kib, "its cgroup's memory limit"))
        if host.available_kib is not None:
            rooms.append((host.available_kib + pool.pool_pss_kib, "this host's RAM"))
        if rooms:
            self._room = min([*rooms, *([self._room] if self._room else [])])

    def seen(self) -> SeenInterval:
        """What was seen so far."""
        last, ready_s = self._last, self._busy_s - self._wait_s
        watched_s = max(self._watched_s, 1e-9)
        windows = (
            [*self._windows, *([self._window / self._window_s] if self._window_s >= WINDOW_S / 6 or not self._windows else [])]
            if (self._windows or self._window_s)
            else []
        )
        return SeenInterval(
            watched_s=self._watched_s,
            requests=None if self._requests is None else round(self._requests),
            busiest=max(windows, default=None),
            quietest=min(windows, default=None),
            peak=_percentile(self._peaks, 0.99),
            saturated=self._saturated_s / watched_s,
            full=self._full_s / watched_s,
            full_by_others=self._full_run_s < 0.5 * self._full_host_s,
            cpu_per_busy=self._run_s / ready_s if ready_s > 0.5 else None,
            blocked=self._blocked_s / self._busy_s if self._busy_s > 0.5 else None,
            private_kib=self._private_kib,
            shared_kib=self._shared_kib,
            room_kib=self._room[0] if self._room else None,
            room_is=self._room[1] if self._room else "",
            cores=self._cores,
            max_children=last.max_children if last else None,
            configured=last.configured if last else None,
            pm=last.pm if last else None,
            stuck=self._stuck_s / watched_s,
            swapped=self._swapped_s > 0.1 * watched_s,
            overflows=self._overflows,
            queue_limit=last.queue_limit if last else None,
            limits={kind: seconds / watched_s for kind, seconds in self._limits.most_common()},
        )


def _percentile(counts: Counter[int], share: float) -> int | None:
    rest = share * counts.total()
    for value, count in sorted(counts.items()):
        rest -= count
        if rest <= 0:
            return value
    return None
