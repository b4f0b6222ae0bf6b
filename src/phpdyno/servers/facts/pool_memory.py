"""Memory of a pool's workers."""

import statistics
from collections.abc import Sequence
from pathlib import Path

from phpdyno.host.processes.memory import MemoryUnreadable, read_memory_of, read_own_kib_of
from phpdyno.model.runs.readings import PoolMemory, WorkerMemory
from phpdyno.servers.facts.meter import children_of

STATUS_POOL = b"_status"
"""How the name of the pool ends that php-fpm makes for `pm.status_listen`."""


def workers_of(master: int) -> tuple[int, ...]:
    """The pool's workers, without the process that answers the status page."""
    return tuple(pid for pid in children_of(master) if not _answers_status(pid))


def read_pool_memory(master: int) -> PoolMemory:
    """Read the memory of all workers under php-fpm's `master` at this moment. Never raises: what
    may not be read is counted as `unread`.

    A process more or less changes everybody's PSS: read it before the status page is asked for. 1.5
    ms for five workers.
    """
    found: list[WorkerMemory] = []
    unread = 0
    for pid in workers_of(master):
        try:
            memory = read_memory_of(pid)
        except MemoryUnreadable:
            unread += 1
            continue
        if memory is not None:
            found.append(memory)
    try:
        its_own = read_memory_of(master)
    except MemoryUnreadable:
        its_own = None
    return pool_memory(found, master=its_own, unread=unread)


def read_own_kib(master: int) -> float | None:
    """What a worker holds for itself, the median over those under `master`; None where it may not
    be read, or there is none."""
    found = []
    for pid in workers_of(master):
        try:
            held = read_own_kib_of(pid)
        except MemoryUnreadable:
            return None
        if held is not None:
            found.append(held)
    return statistics.median(found) if found else None


def pool_memory(workers: Sequence[WorkerMemory], *, master: WorkerMemory | None = None, unread: int = 0) -> PoolMemory:
    """Workers as one pool."""
    shared = [worker.pss_shmem_kib for worker in workers if worker.pss_shmem_kib is not None]
    return PoolMemory(
        workers=len(workers),
        pss_kib=sum(worker.pss_kib for worker in workers),
        pss_median_kib=statistics.median(worker.pss_kib for worker in workers) if workers else None,
        private_median_kib=statistics.median(worker.private_kib for worker in workers) if workers else None,
        pss_shmem_kib=sum(shared) if workers and len(shared) == len(workers) else None,
        master_kib=master.pss_kib if master else None,
        master_shmem_kib=master.pss_shmem_kib if master else None,
        unread=unread,
        rss_median_kib=statistics.median(worker.private_kib + worker.shared_kib for worker in workers) if workers else None,
    )


def _answers_status(pid: int) -> bool:
    try:
        title = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return title.rstrip(b"\0 ").endswith(STATUS_POOL)
