"""Requests that run far longer than is usual in their pool. Pure."""

from collections import deque
from collections.abc import Iterable

from msgspec import Struct

LEAST_S = 10.0
TIMES_USUAL = 10.0
UNKNOWN_USUAL_S = 60.0
ENOUGH = 20
KEPT = 2000


class Running(Struct, frozen=True):
    """A request under way: its worker and for how long."""

    pid: int
    age_s: float


class Usual:
    """How long requests of a pool take, from what workers say of their last one."""

    def __init__(self) -> None:
        self._seen: deque[float] = deque(maxlen=KEPT)
        self._last: dict[int, int] = {}

    def add(self, finished: Iterable[tuple[int, int, float]]) -> None:
        """Worker, requests so far and seconds of its last finished one; the same request is taken
        in once."""
        now: dict[int, int] = {}
        for pid, requests, took_s in finished:
            now[pid] = requests
            if requests and self._last.get(pid) != requests:
                self._seen.append(took_s)
        self._last = now

    def threshold_s(self) -> float:
        """From when on a request counts as stuck: ten times what 95 % take, and ten seconds at
        least; a minute while few were seen."""
        if len(self._seen) < ENOUGH:
            return UNKNOWN_USUAL_S
        ordered = sorted(self._seen)
        return max(LEAST_S, TIMES_USUAL * ordered[int(0.95 * (len(ordered) - 1))])

    def stuck(self, running: Iterable[Running]) -> list[Running]:
        """Those far beyond that, the longest first."""
        limit = self.threshold_s()
        return sorted((each for each in running if each.age_s > limit), key=lambda each: -each.age_s)
