"""Busy workers and the queue over an interval, from several quick looks. Pure."""

from msgspec import Struct

from phpdyno.model.runs.readings import QueueLevel


class LevelsSeen(Struct, frozen=True):
    """Means and maxima; None where nothing told. `full` counts looks that found the queue full."""

    active: float | None
    most_active: int | None
    all_busy: float | None
    queue: float | None
    most_queue: int | None
    queue_limit: int | None
    full: int | None


class Levels:
    """Collects looks."""

    def __init__(self) -> None:
        self._busy: list[int] = []
        self._all_busy = 0
        self._queue: list[int] = []
        self._limit: int | None = None
        self._full = 0

    def add(self, busy: int | None, most: int | None, queue: QueueLevel | None) -> None:
        """One look: busy workers of `most`, and the queue; None for what was not seen."""
        if busy is not None:
            self._busy.append(busy)
            self._all_busy += most is not None and busy >= most
        if queue is not None:
            self._queue.append(queue.waiting)
            self._limit = queue.limit
            # The kernel takes one more than the limit.
            self._full += queue.waiting > queue.limit

    def take(self, last: tuple[int, int | None] | None) -> LevelsSeen:
        """What was seen since the last time; `last` (busy, of how many) counts where nothing else
        told of workers."""
        if not self._busy and last is not None:
            self.add(last[0], last[1], None)
        busy, queue = self._busy, self._queue
        seen = LevelsSeen(
            active=sum(busy) / len(busy) if busy else None,
            most_active=max(busy, default=None),
            all_busy=self._all_busy / len(busy) if busy else None,
            queue=sum(queue) / len(queue) if queue else None,
            most_queue=max(queue, default=None),
            queue_limit=self._limit,
            full=self._full if queue else None,
        )
        self._busy, self._all_busy, self._queue, self._full = [], 0, [], 0
        return seen
