"""The three ways to manage workers (pm), each through idle, burst and idle: what waits, what is
refused, what is started."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event

from phpdyno._native import OUTCOMES
from phpdyno.commands.size.measuring.pools import PoolLoad, Pools, connections_for, now_s
from phpdyno.commands.size.record import Manager, ManagerMeasured
from phpdyno.errors import DynoError
from phpdyno.experiment.sweep.visiting import Guest
from phpdyno.host.background import Background
from phpdyno.server_files.php import SPARES
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.facts.pool_memory import read_pool_memory, workers_of
from phpdyno.servers.instance import Instance

MANAGERS: tuple[Manager, ...] = ("static", "dynamic", "ondemand")
BURST_S = 4.0
DRAINED_SHARE = 0.06
"""Of the budget: in which a pool that starts with two workers, and one more a second, is through
with the burst."""
BURST_SHARE = 0.7
"""Of the throughput of the whole pool: what comes in the burst could be served if all workers were
there."""
MOST_REQUESTS = 8_000
LEAST_REQUESTS = 100
QUIET_S = 1.0
AFTER_S = 3.0
"""Idle again: how the pool shrinks is watched for so long."""
FOR_GOOD = {"pool.pm.max_requests": "0"}
"""Workers that are replaced after so many requests would look like those that a burst starts."""
IDLE_TIMEOUT = "1s"
"""`pm.process_idle_timeout` here: workers of an ondemand pool are gone soon. Debian's 10s only make
the idle spell longer."""
GONE_S = 15.0
PERIOD_S = 0.05


def settings_of(manager: Manager, workers: int, given: Mapping[str, str]) -> dict[str, str]:
    """The pool's settings: so many workers at most, and, where nobody named any, Debian's numbers
    of spare ones."""
    own = {"pool.pm": manager, "pool.pm.max_children": str(workers)}
    if manager == "dynamic":
        spares = {f"pool.{name}": given[f"pool.{name}"] for name in SPARES if f"pool.{name}" in given}
        # They belong together: php-fpm refuses some beside Debian's others.
        fitting = len(spares) == len(SPARES) and all(int(value) <= workers for value in spares.values())
        return {**own, **(spares if fitting else {})}
    return {**own, "pool.pm.process_idle_timeout": IDLE_TIMEOUT} if manager == "ondemand" else own


def measure_manager(
    pools: Pools, manager: Manager, workers: int, *, rate_per_s: float, alone_per_s: float, given: Mapping[str, str], number: int
) -> ManagerMeasured:
    """One way, on a fresh pool. `rate_per_s` is what comes in the burst, `alone_per_s` what one
    worker answers. Raises ArmFailed, OutOfMemory."""
    pools.tell(f"pm = {manager}, {workers} workers: idle")
    settings = settings_of(manager, workers, given)
    arm = pools.arm({**settings, **FOR_GOOD})
    with pools.guarded(arm, workers) as instance:
        pools.warm(instance, workers if manager == "static" else 1)
        _quiet(instance, manager)
        began = time.monotonic()
        driver = pools.driver(instance, 1)
        try:
            answered = OUTCOMES[driver.fetch(0).outcome] == "ok"
            first_ms = (time.monotonic() - began) * 1e3 if answered else None
        finally:
            driver.close()
        _quiet(instance, manager)
        idle = read_pool_memory(instance.php_pid)
        pools.tell(f"pm = {manager}, {workers} workers: a burst of {rate_per_s:.3g} requests/s")
        drained_s = DRAINED_SHARE * pools.budget_s
        drained = alone_per_s * (2.0 * drained_s + drained_s**2 / 2.0)
        requests = round(max(LEAST_REQUESTS, min(rate_per_s * BURST_S, MOST_REQUESTS, drained)))
        connections = connections_for(workers, pools.transport)
        before = frozenset(workers_of(instance.php_pid))
        # The page is asked for the times that the limit was met: its process is none of the pool's.
        with Guest(instance, asking=True) as guest, _watched(instance) as seen:
            burst = pools.visit(guest, PoolLoad(connections, requests, rate_per_s), number=number, opening=False)
            time.sleep(AFTER_S)
        return ManagerMeasured(
            manager=manager,
            settings={name.removeprefix("pool."): value for name, value in settings.items()},
            first_ms=first_ms,
            burst=burst,
            burst_s=requests / rate_per_s,
            workers=tuple(seen.counts),
            forks=len(seen.pids - before),
            idle_workers=len(before),
            idle_pss_kib=idle.pss_kib if not idle.unread else None,
            at_s=now_s(pools.clock),
        )


def _quiet(instance: Instance, manager: Manager) -> None:
    """Wait a while, for an ondemand pool until its workers are gone. Raises DynoError where they
    stay."""
    time.sleep(QUIET_S)
    deadline = time.monotonic() + GONE_S
    while manager == "ondemand" and workers_of(instance.php_pid):
        if time.monotonic() > deadline:
            raise DynoError("idle workers of an ondemand pool do not end", where=instance.arm.name)
        time.sleep(PERIOD_S)


class _Seen:
    """Workers over time: (seconds, count), and every process that was seen."""

    def __init__(self) -> None:
        self.counts: list[tuple[float, int]] = []
        self.pids: set[int] = set()


@contextmanager
def _watched(instance: Instance) -> Iterator[_Seen]:
    """Counts the workers while the context is open."""
    seen, began = _Seen(), time.monotonic()

    def look(end: Event) -> None:
        others: set[int] = set()
        while True:
            # Which process answers the status page is asked once of each: a pool of hundreds is
            # looked at twenty times a second.
            born = set(children_of(instance.php_pid))
            if born - seen.pids - others:
                others.update(born - set(workers_of(instance.php_pid)))
            pids = born - others
            seen.pids.update(pids)
            if not seen.counts or seen.counts[-1][1] != len(pids):
                seen.counts.append((round(time.monotonic() - began, 2), len(pids)))
            if end.wait(PERIOD_S):
                return

    with Background(look, name="phpdyno-workers"):
        yield seen
