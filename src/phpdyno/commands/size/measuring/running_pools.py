"""Other pools that run on this host: what they may take of its memory when all of their workers are
there, and the master's own limit."""

import statistics

from msgspec import Struct

from phpdyno.host.processes.memory import MemoryUnreadable, read_memory_of
from phpdyno.model.runs.readings import WorkerMemory
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.live.pool import LivePool
from phpdyno.servers.live.watched_masters import WatchedPool, pool_of_worker, pools_of, watched_masters


class Neighbours(Struct, frozen=True):
    """`others` are pools by name and what each takes when it is full, KiB; `unread` those of which
    that is not known.

    `process_max` is that of the master whose pool is to be sized, None without one.
    """

    others: dict[str, int]
    unread: tuple[str, ...]
    process_max: int | None


def neighbours_of(own: LivePool | None) -> Neighbours:
    """The pools that run here besides `own`, the running pool that is to be sized. Nothing of
    theirs is asked or changed."""
    others: dict[str, int] = {}
    unread: list[str] = []
    process_max = None
    for master in watched_masters():
        for pool in pools_of(master):
            if own is not None and own.master is not None and (master.pid, pool.name) == (own.master.pid, own.section):
                process_max = pool.process_max or None
                continue
            taken = full_kib(pool, _workers(pool))
            if taken is None:
                unread.append(f"pool {pool.key}")
            else:
                others[f"pool {pool.key}"] = taken
    return Neighbours(others, tuple(unread), process_max)


def full_kib(pool: WatchedPool, workers: list[WorkerMemory] | None) -> int | None:
    """What a pool takes with all workers that its file allows; None where neither file nor memory
    tells.

    It is what it takes now, and a median worker's own memory for each that is not there yet.
    """
    most = pool.number("pm.max_children")
    if workers is None or most is None or not workers:
        return None
    own = statistics.median(each.private_kib for each in workers)
    return round(sum(each.pss_kib for each in workers) + max(0, most - len(workers)) * own)


def _workers(pool: WatchedPool) -> list[WorkerMemory] | None:
    """The memory of a pool's workers; None where it may not be read."""
    found = []
    for pid in children_of(pool.master.pid):
        if pool_of_worker(pid) == pool.name:
            try:
                memory = read_memory_of(pid)
            except MemoryUnreadable:
                return None
            found += [memory] if memory is not None else []
    return found
