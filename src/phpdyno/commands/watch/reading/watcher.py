"""All pools that are meant, watched together: found, followed over reloads and new masters, looked
at without a load of ours."""

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from msgspec import structs

from phpdyno.commands.watch.found import Event, HostMoment, PoolMoment
from phpdyno.commands.watch.judging.limit import limit_of
from phpdyno.commands.watch.reading.master_watch import MasterWatch
from phpdyno.commands.watch.reading.pool_watch import PoolGone, PoolWatch
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.clock import read_host_cpu
from phpdyno.host.files.small_files import SmallFiles
from phpdyno.host.pressure import host_memory, pressure_10s
from phpdyno.servers.live.watched_masters import WatchedMaster, WatchedPool, pools_of, watched_masters

FIND_EVERY_S = 10.0
FILES_EVERY_S = 60.0
SAMPLES_PER_S = 5.0
MEMORY_SHARE = 0.001
"""Of a core: reading memory takes no more than that, however many workers there are."""
SAMPLING_SHARE = 0.002
"""Of a core: quick looks take no more than that; with many pools there are fewer."""


def matches(pool: WatchedPool, wanted: str) -> bool:
    """Whether POOL means this one: everything, its name, or PID:NAME."""
    return wanted in {"", pool.shown, pool.key}


class Watcher:
    """While its context is open. `pools` are those that are watched now."""

    def __init__(self, wanted: str, *, ask: bool) -> None:
        """Raises UsageError (no such pool) and DynoError (no pool runs), each with what to do."""
        self._wanted, self._ask = wanted, ask
        self._tree = SmallFiles()
        self._watches: dict[str, PoolWatch] = {}
        self._masters: dict[WatchedMaster, MasterWatch] = {}
        self._files: dict[WatchedMaster, tuple[float, list[WatchedPool]]] = {}
        self._events: list[Event] = []
        self._told: set[str] = set()
        self._sample_cost_s = 0.0
        self._find(first=True)
        self._found_s = time.monotonic()
        self._cpu, self._memory, self._since_s = read_host_cpu(), host_memory(self._tree), time.monotonic()
        self._spent_s = time.process_time()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for watch in self._watches.values():
            watch.close()
        self._watches.clear()

    @property
    def pools(self) -> tuple[WatchedPool, ...]:
        """Those that are watched now."""
        return tuple(watch.pool for watch in self._watches.values())

    @property
    def period_s(self) -> float:
        """How long to wait before the next quick look."""
        return max(1.0 / SAMPLES_PER_S, self._sample_cost_s / SAMPLING_SHARE)

    def sample(self) -> None:
        """One quick look at every pool."""
        start = time.thread_time()
        for watch in self._watches.values():
            watch.sample()
        self._sample_cost_s = 0.8 * self._sample_cost_s + 0.2 * (time.thread_time() - start)

    def moment(self) -> tuple[HostMoment, tuple[PoolMoment, ...]]:
        """The interval that ends now: the host, and every pool that is still there."""
        at, now = time.time(), time.monotonic()
        if now - self._found_s >= FIND_EVERY_S:
            self._found_s = now
            self._find(first=False)
        host = self._host(at, now)
        for master in self._masters.values():
            master.look()
        pools, share = [], MEMORY_SHARE / max(1, len(self._watches))
        for key, watch in list(self._watches.items()):
            try:
                moment = watch.moment(at, share)
                pools.append(structs.replace(moment, limit=limit_of(moment, host)))
            except PoolGone as error:
                self._say(key, f"{error.what}; it is watched no more")
                self._watches.pop(key).close()
                self._found_s = 0.0
            for text in watch.events:
                self._say(key, text)
                self._files.clear()
                self._found_s = 0.0
            watch.events.clear()
        spent, self._spent_s = time.process_time() - self._spent_s, time.process_time()
        return host, tuple(structs.replace(moment, cost_ms=spent * 1e3) for moment in pools)

    def events(self) -> tuple[Event, ...]:
        """What happened since the last time."""
        told, self._events = tuple(self._events), []
        return told

    def missing(self) -> Iterator[str]:
        """What cannot be read, with the next step; each is said once, of the first pool that lacks
        it."""
        for watch in self._watches.values():
            for line in watch.missing():
                if line not in self._told:
                    self._told.add(line)
                    yield f"{watch.pool.key}: {line}"

    def _find(self, *, first: bool) -> None:
        all_pools = [pool for master in watched_masters() for pool in self._pools_of(master)]
        wanted = [pool for pool in all_pools if matches(pool, self._wanted)]
        if first and not wanted:
            raise _nothing(self._wanted, all_pools)
        alone = Counter(pool.master for pool in all_pools)
        for pool in wanted:
            known = self._watches.get(pool.key)
            if known is None:
                self._begin(pool, alone=alone[pool.master] == 1, first=first)
            elif known.pool != pool and not pool.unread:  # a file that cannot be read for once says nothing new
                known.renew(pool)
        names = {pool.key for pool in wanted}
        unread = {pool.master for pool in all_pools if pool.unread}
        for key, watch in list(self._watches.items()):
            if key not in names and watch.pool.master not in unread:
                self._say(key, "it is there no more; it is watched no more")
                self._watches.pop(key).close()
        here = {watch.pool.master for watch in self._watches.values()}
        self._masters = {master: watch for master, watch in self._masters.items() if master in here}

    def _begin(self, pool: WatchedPool, *, alone: bool, first: bool) -> None:
        """Watch one pool more."""
        if pool.master not in self._masters:
            self._masters[pool.master] = MasterWatch(pool.master)
        self._watches[pool.key] = PoolWatch(pool, self._masters[pool.master], ask=self._ask, alone=alone)
        if not first:
            self._say(pool.key, f"a pool was found and is watched now (by {self._watches[pool.key].source})")

    def _pools_of(self, master: WatchedMaster) -> list[WatchedPool]:
        """The pools of a master as its file has them; read anew once a minute, after a reload,
        and for a new master."""
        now = time.monotonic()
        known = self._files.get(master)
        if known is None or now - known[0] >= FILES_EVERY_S:
            known = self._files[master] = now, pools_of(master)
        return known[1]

    def _host(self, at: float, now: float) -> HostMoment:
        cpu, memory = read_host_cpu(), host_memory(self._tree)
        over_s = max(now - self._since_s, 1e-6)
        swapped = [
            None if after is None or before is None else (after - before) / over_s
            for after, before in (
                (memory.swapped_in, self._memory.swapped_in),
                (memory.swapped_out, self._memory.swapped_out),
            )
        ]
        moment = HostMoment(
            at=at,
            over_s=over_s,
            cores=os.cpu_count() or 1,
            busy_cores=(cpu.busy_ns - self._cpu.busy_ns) / 1e9 / over_s,
            stolen_cores=(cpu.steal_ns - self._cpu.steal_ns) / 1e9 / over_s,
            memory_kib=memory.total_kib,
            available_kib=memory.available_kib,
            swapped_in_per_s=swapped[0],
            swapped_out_per_s=swapped[1],
            cpu_pressure=pressure_10s(self._tree, "cpu"),
        )
        self._cpu, self._memory, self._since_s = cpu, memory, now
        return moment

    def _say(self, pool: str, text: str) -> None:
        self._events.append(Event(at=time.time(), pool=pool, text=text))


def _nothing(wanted: str, pools: list[WatchedPool]) -> DynoError:
    if not pools:
        step = "start php-fpm, or run phpdyno as root where processes of others are hidden (hidepid)" if _hides() else "start it"
        return DynoError("no php-fpm runs here", where="watch", next_step=step)
    known = ", ".join(dict.fromkeys(pool.key for pool in pools))
    return UsageError("no such pool runs", where=f"watch {wanted}", next_step=f"running: {known}")


def _hides() -> bool:
    """Whether /proc hides processes of other accounts from us."""
    with contextlib.suppress(OSError):
        os.stat("/proc/1/status")  # noqa: PTH116 (of one process)
        return False
    return True
