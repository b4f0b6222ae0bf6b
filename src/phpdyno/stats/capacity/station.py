"""One run of a pool, request by request: a queue first come first served, before workers that share one speed.

At most m requests are in service. All n of them progress alike, X(n) E[S] / n seconds of work per second, so that answers leave at X(n)
per second: a load-dependent processor-sharing station with m places (Kleinrock, Queueing Systems II, chapter 4; limited sharing:
Avi-Itzhak and Halfin, 1988). The clock that runs at that speed is the same for all in service, so a request's end is a number on it
that does not move once the request is in service, and the next to end is the least on a heap.
"""

from collections import deque
from heapq import heappop, heappush, heapreplace

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Passage(Struct, frozen=True):
    """What became of each request, in the order of arrival, shape (n,): seconds until it was answered and until it was taken by a worker.

    Both are infinite for one that was refused. `waited` tells who found all workers busy and was let into the queue.
    """

    response_s: Floats
    wait_s: Floats
    waited: NDArray[np.bool_]


def passage(arrivals_s: Floats, works_s: Floats, speeds: Floats, backlog: int | None = None) -> Passage:
    """Runs all requests through an empty pool: `arrivals_s` ascending and `works_s` of shape (n,), `speeds` of shape (m,).

    `speeds[k - 1]` is the work in seconds that each of k requests in service gets done per second. `backlog`: how many may wait.
    """
    count, m = arrivals_s.size, speeds.size
    room = count if backlog is None else backlog
    times, works = arrivals_s.tolist(), works_s.tolist()
    speed = [0.0, *speeds.tolist()]
    started: list[float] = [np.inf] * count
    ended: list[float] = [np.inf] * count
    heap: list[tuple[float, int]] = []
    queue: deque[int] = deque()
    queued: list[int] = []
    now = clock = 0.0  # time, and work done so far by whoever has been in service from the beginning
    busy = 0

    for number, arrival in enumerate([*times, np.inf]):  # the last one never comes: everything ends before it
        while heap:
            least, who = heap[0]
            end = now + (least - clock) / speed[busy]
            if end > arrival:
                break
            now, clock, ended[who] = end, least, end
            if queue:
                following = queue.popleft()
                started[following] = now
                heapreplace(heap, (clock + works[following], following))
            else:
                heappop(heap)
                busy -= 1
        if number == count:
            break
        clock = clock + (arrival - now) * speed[busy] if busy else 0.0
        now = arrival
        if busy < m:
            busy += 1
            started[number] = now
            heappush(heap, (clock + works[number], number))
        elif len(queue) < room:
            queue.append(number)
            queued.append(number)

    waited = np.zeros(count, dtype=np.bool_)
    waited[queued] = True
    return Passage(np.array(ended) - arrivals_s, np.array(started) - arrivals_s, waited)
