"""Measured throughput over the number of requests in service, and what is read between the measured
numbers."""

import math
from itertools import pairwise
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from phpdyno.stats.capacity.idle import NO_IDLE, IdleCost

Known = Literal["measured", "interpolated", "below", "beyond"]
"""Where a rate comes from: measured at this k; on a line between two; proportional below the first;
that of the last, beyond it."""

_NORMAL = 1.959963984540054
"""Half-width of a 95 % interval in standard deviations."""


class CurvePoint(Struct, frozen=True):
    """`rate_per_s` answers per second with `busy` requests in service all the time; `low_per_s` and
    `high_per_s` are its 95 % interval.

    `workers` is the size of the pool it was measured with, None for as many as `busy` (none idle).
    Raises ValueError: fewer than one request, a rate that is not positive and finite, an interval
    that does not hold it or has one end only, fewer workers than `busy`.
    """

    busy: int
    rate_per_s: float
    low_per_s: float | None = None
    high_per_s: float | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.busy < 1:
            raise ValueError(f"a point needs at least one request in service, not {self.busy}")
        if not (math.isfinite(self.rate_per_s) and self.rate_per_s > 0.0):
            raise ValueError(f"at {self.busy} in service: a rate must be positive and finite, not {self.rate_per_s}")
        if (self.low_per_s is None) != (self.high_per_s is None):
            raise ValueError(f"at {self.busy} in service: an interval has two ends")
        low, high = self.low_per_s, self.high_per_s
        if low is not None and high is not None and not 0.0 < low <= self.rate_per_s <= high < math.inf:
            raise ValueError(f"at {self.busy} in service: {low} to {high} is no interval of {self.rate_per_s}")
        if self.workers is not None and self.workers < self.busy:
            raise ValueError(f"{self.workers} workers cannot have {self.busy} requests in service")

    @property
    def pool(self) -> int:
        """The number of workers it was measured with."""
        return self.busy if self.workers is None else self.workers

    @property
    def sigma_log(self) -> float:
        """Standard deviation of the rate's logarithm, as its interval says; 0 without one."""
        if self.low_per_s is None or self.high_per_s is None:
            return 0.0
        return math.log(self.high_per_s / self.low_per_s) / (2.0 * _NORMAL)


class Curve(Struct, frozen=True):
    """Throughput X(k) over the number k of requests in service; `points` in strictly increasing
    order of `busy`, not necessarily every k.

    Raises ValueError: no points, or numbers that do not increase.
    """

    points: tuple[CurvePoint, ...]

    def __post_init__(self) -> None:
        if not self.points:
            raise ValueError("a curve needs at least one point")
        numbers = [point.busy for point in self.points]
        if any(later <= earlier for earlier, later in pairwise(numbers)):
            raise ValueError(f"the numbers of requests in service must increase: {numbers}")

    @property
    def last(self) -> int:
        """The most requests in service that were measured."""
        return self.points[-1].busy

    @property
    def has_intervals(self) -> bool:
        """Whether at least one point says how sure its rate is."""
        return any(point.low_per_s is not None for point in self.points)

    def known(self, busy: int) -> Known:
        """How the rate with so many in service is known. Raises ValueError: fewer than one."""
        _at_least_one(busy, "requests in service")
        if any(point.busy == busy for point in self.points):
            return "measured"
        if busy < self.points[0].busy:
            return "below"
        return "beyond" if busy > self.last else "interpolated"

    def rate_per_s(self, busy: int, *, workers: int | None = None, idle: IdleCost = NO_IDLE) -> float:
        """Answers per second with `busy` in service in a pool of `workers` (None: as many), of
        which the others are idle.

        Linear in k between measured points, constant beyond the last, proportional to k below the
        first. Raises ValueError: fewer than one request, fewer workers than requests.
        """
        _at_least_one(busy, "requests in service")
        pool = busy if workers is None else workers
        if pool < busy:
            raise ValueError(f"{pool} workers cannot have {busy} requests in service")
        return float(self._without_idle(np.array([float(busy)]), idle)[0]) / idle.factor(pool, busy)

    def rates_per_s(self, workers: int, idle: IdleCost = NO_IDLE) -> NDArray[np.float64]:
        """X(1) ... X(workers) of a pool of that size, shape (workers,); what the queue and the
        simulation take. As `rate_per_s`."""
        _at_least_one(workers, "workers")
        busy = np.arange(1, workers + 1, dtype=float)
        return np.asarray(self._without_idle(busy, idle) / idle.factors(workers))

    def shifted(self, normals: ArrayLike) -> "Curve":
        """Each rate moved by its own standard deviations on the log scale: shape (points,). Points
        without an interval stay.

        What comes out has no intervals. Raises ValueError: another number of values than points.
        """
        by = np.asarray(normals, dtype=float)
        if by.shape != (len(self.points),):
            raise ValueError(f"{len(self.points)} points cannot be moved by values of shape {by.shape}")
        moved = (
            CurvePoint(point.busy, point.rate_per_s * math.exp(point.sigma_log * float(each)), workers=point.workers)
            for point, each in zip(self.points, by, strict=True)
        )
        return Curve(tuple(moved))

    def _without_idle(self, busy: NDArray[np.float64], idle: IdleCost) -> NDArray[np.float64]:
        numbers = np.array([point.busy for point in self.points], dtype=float)
        rates = np.array([point.rate_per_s * idle.factor(point.pool, point.busy) for point in self.points])
        found = np.interp(busy, numbers, rates)
        below = busy < numbers[0]
        found[below] = rates[0] * busy[below] / numbers[0]
        return np.asarray(found)


def curve_of(busy: ArrayLike, rates_per_s: ArrayLike) -> Curve:
    """A curve of plain numbers, without intervals, none idle. Raises ValueError: different lengths,
    fractions, and as `Curve`."""
    numbers, rates = np.asarray(busy, dtype=float), np.asarray(rates_per_s, dtype=float)
    if numbers.ndim != 1 or numbers.shape != rates.shape:
        raise ValueError(f"each number of requests needs its rate: {numbers.shape} and {rates.shape}")
    if not np.isfinite(numbers).all() or (numbers != np.floor(numbers)).any():
        raise ValueError("numbers of requests in service are whole")
    return Curve(tuple(CurvePoint(int(number), float(rate)) for number, rate in zip(numbers, rates, strict=True)))


def _at_least_one(number: int, what: str) -> None:
    if number < 1:
        raise ValueError(f"there must be at least one of the {what}, not {number}")
