"""A listen queue while something is measured: a few samples per second, from a core that is not
measured.

A sample takes 0.15 to 0.25 ms of CPU, nearly all of it for waking a thread on cold caches: less
than 0.2 % of a core.
"""

import contextlib
import os
import statistics
from collections.abc import Callable, Sequence
from threading import Event

import numpy as np

from phpdyno.host.background import Background
from phpdyno.model.runs.readings import QueueLevel, QueueLevels

MOST_PER_S = 10.0


class QueueSampler(Background):
    """A thread that reads while the context is open. It waits 1 to 2 periods, drawn anew each time,
    so that it keeps step with nothing."""

    def __init__(self, read: Callable[[], QueueLevel], *, cores: Sequence[int] = (), seed: int = 0, per_s: float = MOST_PER_S) -> None:
        """`cores` is where the thread runs, this thread's own cores when empty; at most 10 samples
        per second. Raises ValueError."""
        if not 0 < per_s <= MOST_PER_S:
            raise ValueError(f"samples per second: more than 0 and at most {MOST_PER_S:.0f}")
        self._read = read
        self._cores = tuple(cores)
        self._period_s = 1.0 / per_s
        self._random = np.random.default_rng(seed)
        self._levels: list[QueueLevel] = []
        self._failed = 0
        super().__init__(self._sample, name="phpdyno-queue")

    def levels(self) -> QueueLevels:
        """What was seen so far."""
        return levels_of(tuple(self._levels), failed=self._failed)

    def _sample(self, end: Event) -> None:
        if self._cores:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, self._cores)  # of this thread alone
        while not end.wait(self._period_s * (1.0 + self._random.random())):
            try:
                self._levels.append(self._read())
            except OSError:
                self._failed += 1


def levels_of(seen: Sequence[QueueLevel], *, failed: int = 0) -> QueueLevels:
    """Samples as one reading."""
    if not seen:
        return QueueLevels(samples=0, failed=failed, most=None, mean=None, share=None, full=None, limit=None)
    waiting = [level.waiting for level in seen]
    return QueueLevels(
        samples=len(seen),
        failed=failed,
        most=max(waiting),
        mean=statistics.fmean(waiting),
        share=sum(count > 0 for count in waiting) / len(seen),
        # The kernel takes one more than the limit (unix_recvq_full, sk_acceptq_is_full: `>`).
        full=sum(level.waiting > level.limit for level in seen) / len(seen),
        limit=seen[-1].limit,
    )
