"""When requests came: counts per second and the gaps between them, in bounded memory."""

import heapq
import math
from array import array

from phpdyno.access_log.times import Stamp
from phpdyno.stats.arrivals import HOUR_S, GapMoments

MOST_HOURS = 31 * 24
"""Hours with traffic that are counted by the second, at 14 KiB each."""
_REORDER = 8192
"""A log is in the order of the requests' ends; within so many their starts are put in order."""


class LogClock:
    """Arrivals so far. `untimed` had no time, or one in an hour beyond the first 744 with
    traffic."""

    def __init__(self) -> None:
        self.hours: dict[int, array[int]] = {}
        self.untimed = 0
        self._coarse = False
        self._waiting: list[float] = []
        self._last = math.nan
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    def add(self, stamp: Stamp | None) -> None:
        """One arrival."""
        if stamp is None:
            self.untimed += 1
            return
        hour, second = divmod(int(stamp.seconds), HOUR_S)
        counts = self.hours.get(hour)
        if counts is None:
            if len(self.hours) >= MOST_HOURS:
                self.untimed += 1
                return
            counts = self.hours[hour] = array("I", bytes(4 * HOUR_S))
        counts[second] += 1
        self._coarse = self._coarse or not stamp.fine
        if not self._coarse:
            self._follow(stamp.seconds)

    def gaps(self) -> GapMoments | None:
        """Moments of the gaps; None when a time had no fractions of a second."""
        if self._coarse:
            return None
        while self._waiting:
            self._gap(heapq.heappop(self._waiting))
        return GapMoments(self._count, self._mean, self._squares)

    def _follow(self, seconds: float) -> None:
        if len(self._waiting) < _REORDER:
            heapq.heappush(self._waiting, seconds)
        else:
            self._gap(heapq.heappushpop(self._waiting, seconds))

    def _gap(self, seconds: float) -> None:
        """Welford (1962); one that comes too late to be put in order makes no gap."""
        gap = seconds - self._last
        if gap >= 0.0:
            self._count += 1
            away = gap - self._mean
            self._mean += away / self._count
            self._squares += away * (gap - self._mean)
        if not gap < 0.0:
            self._last = seconds
