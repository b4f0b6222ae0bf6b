"""The workers of one pool: CPU time and waiting for a core of each interval, and their memory, read
in turns."""

import statistics
import time
from collections import deque
from collections.abc import Collection, Iterator

from msgspec import Struct

from phpdyno.host.processes.memory import MemoryUnreadable, read_memory_of
from phpdyno.host.processes.times import ProcessTimes
from phpdyno.model.runs.readings import WorkerMemory
from phpdyno.servers.facts.meter import children_of

MEMORY_EVERY_S = 10.0
"""A worker's memory is read no more often: the kernel walks all its pages for it, holding a lock
that the worker may want."""


class MemorySeen(Struct, frozen=True):
    """Memory of the pool as last read, in KiB. `private_kib` is the 95th percentile of those that
    have served requests; `pages_kib` is what they share, once. None is what could not be read."""

    median_pss_kib: float | None = None
    pool_pss_kib: float | None = None
    private_kib: float | None = None
    shared_kib: float | None = None


class _Worker:
    """One process that is there."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.times = ProcessTimes(pid)
        self.run_ns, self.wait_ns = self.times.read()
        self.memory: WorkerMemory | None = None
        self.read_at = float("-inf")
        self.served = False


class Workers:
    """Those of one pool, followed over intervals."""

    def __init__(self) -> None:
        self._known: dict[int, _Worker] = {}
        self._turn: deque[int] = deque()
        self._memory_owed_s = 0.0
        self.unread = ""
        """Why their memory cannot be read; '' where it can, or there is none."""

    def follow(self, pids: Collection[int], served: Collection[int] | None) -> tuple[float, float]:
        """Take in who is there now; seconds on cores and seconds ready without one of all of them
        since the last time.

        A worker's time before it was first seen is not counted, nor what it used after its last
        reading. `served` are those that have answered a request, None where that is not known.
        """
        for pid in [pid for pid in self._known if pid not in pids]:
            self._known.pop(pid).times.close()
        run = wait = 0
        for pid in pids:
            worker = self._known.get(pid)
            try:
                if worker is None:
                    self._known[pid] = _Worker(pid)
                    self._turn.append(pid)
                    continue
                now_run, now_wait = worker.times.read()
            except (OSError, ValueError):
                self._forget(pid)
                continue
            run += now_run - worker.run_ns
            wait += now_wait - worker.wait_ns
            worker.run_ns, worker.wait_ns = now_run, now_wait
            worker.served = served is None or pid in served
        return run / 1e9, wait / 1e9

    def read_memory(self, now_s: float, over_s: float, share: float) -> None:
        """Read the memory of those whose turn it is: each every ten seconds at most, evenly spread,
        within a share of a core."""
        self._memory_owed_s = min(self._memory_owed_s, 0.0) + share * over_s
        turns = max(1, round(len(self._known) * over_s / MEMORY_EVERY_S + 0.5))
        for _ in range(min(turns, len(self._turn))):
            pid = self._turn[0]
            worker = self._known.get(pid)
            if worker is None:
                self._turn.popleft()
                continue
            if now_s - worker.read_at < MEMORY_EVERY_S or self._memory_owed_s < 0:
                return
            self._turn.rotate(-1)
            start = time.thread_time()
            self._read(worker)
            self._memory_owed_s -= time.thread_time() - start
            worker.read_at = now_s

    def memory(self) -> MemorySeen:
        """The memory as last read; what was not yet read counts as the mean of the others."""
        seen = [(worker.memory, worker.served) for worker in self._known.values() if worker.memory is not None]
        if not seen:
            return MemorySeen()
        all_pss = [memory.pss_kib for memory, _ in seen]
        private = sorted(memory.private_kib for memory, served in seen if served)
        scale = len(self._known) / len(seen)
        return MemorySeen(
            statistics.median(all_pss),
            sum(all_pss) * scale,
            private[min(len(private) - 1, int(0.95 * len(private)))] if private else None,
            sum(memory.pss_kib - memory.private_kib for memory, _ in seen) * scale,
        )

    def close(self) -> None:
        """Close all."""
        for worker in self._known.values():
            worker.times.close()
        self._known.clear()
        self._turn.clear()

    def _forget(self, pid: int) -> None:
        gone = self._known.pop(pid, None)
        if gone is not None:
            gone.times.close()

    def _read(self, worker: _Worker) -> None:
        try:
            parts = [memory for pid in _with_children(worker.pid) if (memory := read_memory_of(pid)) is not None]
        except MemoryUnreadable as error:
            self.unread = f"{error.what}{f'; {error.next_step}' if error.next_step else ''}"
            return
        self.unread = ""
        if parts:
            worker.memory = WorkerMemory(
                worker.pid,
                sum(part.pss_kib for part in parts),
                None,
                private_kib=sum(part.private_kib for part in parts),
                shared_kib=sum(part.shared_kib for part in parts),
            )


def _with_children(pid: int) -> Iterator[int]:
    """A worker and what it has started (a converter, a mailer): that is memory of the worker,
    too."""
    yield pid
    yield from children_of(pid)
