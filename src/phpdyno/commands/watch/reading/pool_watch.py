"""One pool, watched: its source of workers and requests, its queue, its workers' times and memory,
its cgroup; figures of each interval.

Between intervals `sample` looks at busy workers and the queue several times a second, where that
costs next to nothing, so that means and maxima are of the interval and not of one moment.
"""

import time
from collections.abc import Iterator

from phpdyno.commands.watch.found import PoolMoment, StuckWorker
from phpdyno.commands.watch.judging.stuck import Running, Usual
from phpdyno.commands.watch.reading.levels import Levels, LevelsSeen
from phpdyno.commands.watch.reading.master_watch import MasterWatch
from phpdyno.commands.watch.reading.sources import Source, SourceReading, open_source
from phpdyno.commands.watch.reading.workers import Workers
from phpdyno.errors import DynoError
from phpdyno.host.processes.waiting_on import waiting_on
from phpdyno.host.sockets.queue_of_process import QueueReader, overflows
from phpdyno.servers.live.scoreboard import Slot
from phpdyno.servers.live.watched_masters import WatchedPool, as_text, pool_of_worker

TRIES = 3
PAUSE_S = 0.004
MOST_STUCK = 5
LOOK_AGAIN_S = 10.0
NEAR = 0.5
UNTOLD = SourceReading(active=0, idle=0)


class PoolGone(DynoError):  # noqa: N818 (it names what is the matter)
    """The master of this pool has ended, or it has this pool no more."""


class PoolWatch:
    """While open. `events` collects what is to be told; who reads them empties it."""

    def __init__(self, pool: WatchedPool, master: MasterWatch, *, ask: bool, alone: bool) -> None:
        self.pool = pool
        self._master = master
        self.events: list[str] = []
        self._refused: tuple[DynoError, ...] = ()
        self._ask, self._alone = ask, alone
        self._workers = Workers()
        self._usual = Usual()
        self._levels = Levels()
        self._source: Source | None = None
        self._queue: QueueReader | None = None
        self._last: SourceReading | None = None
        self._since_s = self._looked_s = time.monotonic()
        self._overflows = overflows(pool.master.pid) if pool.address.startswith("tcp:") else None
        self._open()
        self._last = self._read(self._since_s)
        self._started_s = None if self._last is None else self._last.started_s
        self._workers.follow(self._hosts(None if self._last is None else self._last.slots).keys(), None)

    def renew(self, pool: WatchedPool) -> None:
        """Go on with what the pool's file says now: it was edited, and perhaps reloaded."""
        moved = pool.address != self.pool.address
        self.pool = pool
        if moved and self._queue is not None:
            self._queue.close()
            self._queue = None
        self._looked_s = float("-inf")

    @property
    def source(self) -> str:
        """Name of where workers and requests come from."""
        return self._source.name if self._source is not None else "/proc"

    def missing(self) -> Iterator[str]:
        """What cannot be read, each with the next step. That a source which is not needed lacks is
        not told."""
        for error in self._refused:
            yield _without_place(error)
        if self.pool.unread:
            yield f"its configuration is not known ({self.pool.unread}): no spares, no queue, no page"
        if self._workers.unread:
            yield f"memory of its workers: {self._workers.unread}"
        yield from self._master.hidden()

    def close(self) -> None:
        """Close all that is open. Idempotent."""
        if self._source is not None:
            self._source.close()
            self._source = None
        if self._queue is not None:
            self._queue.close()
            self._queue = None
        self._workers.close()

    def sample(self) -> None:
        """One quick look at busy workers and the queue; what fails is found out by the next
        interval."""
        try:
            busy = self._source.busy() if self._source is not None else None
        except DynoError:
            busy = None
        try:
            queue = self._queue.read() if self._queue is not None else None
        except OSError:
            queue = None
        most = self._last.max_children if self._last is not None else None
        self._levels.add(busy, most, queue)

    def moment(self, at: float, memory_share: float) -> PoolMoment:
        """The interval that ends now, its master just looked at; reading memory may take
        `memory_share` of a core. Raises PoolGone."""
        now = time.monotonic()
        over_s, self._since_s = max(now - self._since_s, 1e-6), now
        if not self._master.alive:
            raise PoolGone("its master has ended", where=self.pool.key)
        reading = self._read(now)
        self.sample()
        slots = None if reading is None else reading.slots
        hosts = self._hosts(slots)
        run_s, wait_s = self._workers.follow(hosts.keys(), None if slots is None else {pid for pid, slot in hosts.items() if _served(slot)})
        self._workers.read_memory(now, over_s, memory_share)
        requests_per_s = self._rate(reading, over_s)
        levels = self._levels.take(None if reading is None else (reading.active, reading.max_children))
        stuck = tuple(self._stuck(hosts, now))
        self._last = reading
        blocked = None if levels.active is None else max(0.0, levels.active - (run_s + wait_s) / over_s)
        told, group, memory = reading or UNTOLD, self._master.group, self._workers.memory()
        return PoolMoment(
            at=at,
            pool=self.pool.shown,
            master=self.pool.master.pid,
            config=as_text(self.pool.master.config),
            over_s=over_s,
            group=self.pool.master.group,
            source=self.source,
            pm=told.pm or self.pool.directives.get("pm"),
            max_children=told.max_children or self.pool.number("pm.max_children"),
            configured=self.pool.number("pm.max_children"),
            total=len(hosts) if reading is None else reading.active + reading.idle,
            active=levels.active,
            most_active=levels.most_active,
            all_busy=levels.all_busy,
            queue=levels.queue,
            most_queue=levels.most_queue,
            queue_limit=levels.queue_limit,
            overflows=self._turned_away(levels),
            requests=told.requests,
            requests_per_s=requests_per_s,
            cpu_cores=run_s / over_s,
            run_queue_cores=wait_s / over_s,
            blocked_cores=blocked,
            stuck=stuck,
            max_children_reached=told.max_children_reached,
            slow_requests=told.slow_requests,
            memory_limit_kib=group.memory_limit_kib,
            memory_used_kib=group.memory_used_kib,
            cpu_limit_cores=group.cpu_limit_cores,
            throttled=group.throttled,
            memory_pressure=group.memory_pressure,
            worker_pss_kib=memory.median_pss_kib,
            worker_private_kib=memory.private_kib,
            pool_pss_kib=memory.pool_pss_kib,
            shared_kib=memory.shared_kib,
        )

    def _open(self) -> None:
        """Find a source and the queue; what is refused is told once."""
        self._source, refused = open_source(self.pool, self._workers_now, ask=self._ask, alone=self._alone)
        self._refused = (*refused, *self._open_queue())

    def _workers_now(self) -> frozenset[int] | None:
        self._master.find_children()
        return self._master.inner

    def _open_queue(self) -> Iterator[DynoError]:
        """Find the queue, where it is not open; why not."""
        if self._queue is None and self.pool.address:
            try:
                self._queue = QueueReader(
                    self.pool.address, self.pool.master.pid, backlog=self.pool.backlog, inside=self.pool.master.inside
                )
            except DynoError as error:
                yield error

    def _read(self, now: float) -> SourceReading | None:
        """What the source says; after a reload, or a race with a worker that comes or goes, on a
        second try."""
        due = now - self._looked_s >= LOOK_AGAIN_S
        if due and (self._source is None or self._source.name != "scoreboard"):
            self._reopen(now)
        elif due and self._queue is None:
            self._looked_s = now
            self._refused = tuple(self._open_queue())
        for attempt in range(TRIES):
            if self._source is None:
                break
            try:
                return self._source.read(self._master.inner)
            except DynoError:
                time.sleep(PAUSE_S)
                self._master.find_children()
                if attempt:
                    self._reopen(now)
        return None

    def _reopen(self, now: float) -> None:
        self._looked_s = now
        before = self.source
        if self._source is not None:
            self._source.close()
        self._open()
        if self.source != before:
            self.events.append(f"workers and requests come from {self.source} now, no longer from {before}")

    def _hosts(self, slots: list[Slot] | None) -> dict[int, Slot | None]:
        """The pool's workers by their numbers on this host, with their slots where those are
        known."""
        children = self._master.children
        if slots is None:
            return dict.fromkeys(pid for pid in children if pool_of_worker(pid) == self.pool.name)
        if not self.pool.master.inside:
            return {slot.pid: slot for slot in slots}
        by_inner = {self._master.number(pid): pid for pid in children}
        return {by_inner[slot.pid]: slot for slot in slots if slot.pid in by_inner}

    def _rate(self, reading: SourceReading | None, over_s: float) -> float | None:
        """Requests per second. A reload sets the counter to 0 and the start time to now."""
        last, started_s = self._last, self._started_s
        if reading is not None:
            # Also where nothing could be read in the midst of the reload.
            self._started_s = reading.started_s
        reloaded = reading is not None and started_s is not None and reading.started_s != started_s
        if reloaded:
            self.events.append("php-fpm was reloaded: its counters start anew")
        if reading is None or reading.requests is None or last is None or last.requests is None:
            return None
        if reloaded:
            return reading.requests / over_s
        if reading.counts_wrong and reading.slots is not None and last.slots is not None:
            before = {slot.pid: slot.requests for slot in last.slots}
            return sum(max(0, slot.requests - before.get(slot.pid, 0)) for slot in reading.slots) / over_s
        if reading.requests < last.requests:
            self.events.append(f"its counter of requests went back from {last.requests} to {reading.requests}: not counted")
            return None
        return (reading.requests - last.requests) / over_s

    def _turned_away(self, levels: LevelsSeen) -> int | None:
        """Connections that were turned away.

        For TCP the kernel counts all sockets of a network together: they are this pool's where its
        own queue was near its limit.
        """
        if not self.pool.address.startswith("tcp:"):
            return levels.full
        before, self._overflows = self._overflows, overflows(self.pool.master.pid)
        if before is None or self._overflows is None or levels.most_queue is None or levels.queue_limit is None:
            return None
        return max(0, self._overflows - before) if levels.most_queue >= NEAR * levels.queue_limit else 0

    def _stuck(self, hosts: dict[int, Slot | None], now: float) -> Iterator[StuckWorker]:
        slots = {pid: slot for pid, slot in hosts.items() if slot is not None}
        # A worker's count goes up when a request begins: while it is busy its last duration is of
        # the one before.
        self._usual.add((pid, slot.requests - slot.busy, slot.duration_s) for pid, slot in slots.items())
        running = (Running(pid, now - slot.accepted_s) for pid, slot in slots.items() if slot.busy and slot.accepted_s)
        for number, each in enumerate(self._usual.stuck(running)):
            yield StuckWorker(pid=each.pid, age_s=each.age_s, waits_on=waiting_on(each.pid) if number < MOST_STUCK else "")


def _without_place(error: DynoError) -> str:
    return f"{error.what}{f'; {error.next_step}' if error.next_step else ''}"


def _served(slot: Slot | None) -> bool:
    return slot is None or slot.requests > 0
