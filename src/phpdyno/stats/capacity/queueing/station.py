"""One run of a pool, request by request: a queue first come first served, before workers that share
one speed.

At most m requests are in service. All n of them progress alike, X(n) E[S] / n seconds of work per
second, so that answers leave at X(n) per second: a load-dependent processor-sharing station with m
places (Kleinrock, Queueing Systems II, chapter 4; limited sharing: Avi-Itzhak and Halfin, 1988).
The clock that runs at that speed is the same for all in service, so a request's end is a number on
it that does not move once the request is in service, and the next to end is the least on a heap. A
request may wait for something else first, which takes its time however many are in service.
"""

from collections import deque
from heapq import heappop, heappush

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class QueueOutcome(Struct, frozen=True):
    """What became of each request, in the order of arrival, shape (n,): seconds until it was
    answered and until it was taken by a worker.

    Both are infinite for one that was refused. `waited` tells who found all workers busy and was
    let into the queue.
    """

    response_s: Floats
    wait_s: Floats
    waited: NDArray[np.bool_]


def passage(
    arrivals_s: Floats, works_s: Floats, speeds: Floats, backlog: int | None = None, *, apart_s: Floats | None = None
) -> QueueOutcome:
    """Runs all requests through an empty pool: `arrivals_s` ascending and `works_s` of shape (n,),
    `speeds` of shape (m,).

    `speeds[k - 1]` is the work in seconds that each of k requests in service gets done per second.
    `backlog`: how many may wait. `apart_s`, shape (n,): seconds that a request is in service before
    its work begins, unslowed (None: 0).
    """
    count = arrivals_s.size
    apart = [0.0] * count if apart_s is None else apart_s.tolist()
    pool = _Pool(works_s.tolist(), apart, [0.0, *speeds.tolist()], count if backlog is None else backlog)
    for number, arrival in enumerate(arrivals_s.tolist()):
        pool.run_until(arrival)
        pool.arrive(number)
    pool.run_until(np.inf)
    waited = np.zeros(count, dtype=np.bool_)
    waited[pool.queued] = True
    return QueueOutcome(np.array(pool.ended) - arrivals_s, np.array(pool.started) - arrivals_s, waited)


class _Pool:
    """The state between two events. `clock`: work done so far by whoever has been in service from
    the beginning of a busy period."""

    __slots__ = ("apart", "busy", "clock", "ended", "now", "queue", "queued", "room", "speed", "started", "waiting", "working", "works")

    def __init__(self, works: list[float], apart: list[float], speed: list[float], room: int) -> None:
        self.works, self.apart, self.speed, self.room = works, apart, speed, room
        self.started: list[float] = [np.inf] * len(works)
        self.ended: list[float] = [np.inf] * len(works)
        self.working: list[tuple[float, int]] = []  # a heap by the clock of work
        self.waiting: list[tuple[float, int]] = []  # a heap by time
        self.queue: deque[int] = deque()
        self.queued: list[int] = []
        self.now = self.clock = 0.0
        self.busy = 0

    def arrive(self, who: int) -> None:
        """Into service, into the queue, or refused: that one never ends."""
        if self.busy < len(self.speed) - 1:
            self.busy += 1
            self._begin(who)
        elif len(self.queue) < self.room:
            self.queue.append(who)
            self.queued.append(who)

    def run_until(self, moment: float) -> None:
        """All that ends by then; what ends at that moment, too."""
        working, waiting, speed = self.working, self.waiting, self.speed
        while self.busy:
            end = self.now + (working[0][0] - self.clock) / speed[self.busy] if working else np.inf
            if waiting and waiting[0][0] < end:
                if waiting[0][0] > moment:
                    break
                self._wake()
            elif end > moment:
                break
            else:
                self.clock, who = heappop(working)
                self.now = self.ended[who] = end
                if self.queue:
                    self._begin(self.queue.popleft())
                else:
                    self.busy -= 1
        self.clock = self.clock + (moment - self.now) * speed[self.busy] if self.busy else 0.0
        self.now = moment

    def _begin(self, who: int) -> None:
        self.started[who] = self.now
        if self.apart[who] > 0.0:
            heappush(self.waiting, (self.now + self.apart[who], who))
        else:
            heappush(self.working, (self.clock + self.works[who], who))

    def _wake(self) -> None:
        """The next that waited for something else begins its work."""
        at, who = heappop(self.waiting)
        self.clock += (at - self.now) * self.speed[self.busy]
        self.now = at
        heappush(self.working, (self.clock + self.works[who], who))
