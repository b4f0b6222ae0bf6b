"""How much work a request is: its measured service times with nothing else in service."""

import math

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray


class Work(Struct, frozen=True):
    """Service times in seconds, ascending, each with its share of the requests (shares sum to 1),
    as measured at one in service.

    `slowed_s`: the part of a request that others in service slow down, about its CPU time; what is
    longer is waiting (a sleep, a remote service) and takes its time whoever else is there.
    Infinite: all of it is slowed, in proportion.
    """

    times_s: tuple[float, ...]
    shares: tuple[float, ...]
    slowed_s: float = math.inf

    @property
    def mean_s(self) -> float:
        """The mean service time in seconds."""
        return float(np.dot(self.times_s, self.shares))

    @property
    def mean_slowed_s(self) -> float:
        """The mean of the part that others slow down, in seconds."""
        return float(np.dot(np.minimum(self.times_s, self.slowed_s), self.shares))

    @property
    def cv2(self) -> float:
        """Squared coefficient of variation (variance / mean^2): 0 where all are equal, 1 as an
        exponential."""
        times, mean = np.asarray(self.times_s), self.mean_s
        return float(np.dot((times - mean) ** 2, self.shares)) / mean**2

    def quantile_s(self, percent: float) -> float:
        """The smallest time that at least `percent` % of the requests do not exceed. Raises
        ValueError: outside 0 to 100."""
        if not 0.0 <= percent <= 100.0:
            raise ValueError(f"a percentile lies between 0 and 100, not {percent}")
        place = np.searchsorted(np.cumsum(self.shares), percent / 100.0 - 1e-12)
        return self.times_s[min(int(place), len(self.times_s) - 1)]

    def draw(self, random: Generator, size: int) -> NDArray[np.float64]:
        """Service times of `size` requests in seconds, independent of each other."""
        places = np.searchsorted(np.cumsum(self.shares), random.random(size), side="right")
        return np.asarray(self.times_s)[np.minimum(places, len(self.times_s) - 1)]


def work_of(times_ns: ArrayLike, counts: ArrayLike | None = None, *, slowed_s: float = math.inf) -> Work:
    """From service times in nanoseconds, each seen `counts` times (shape as `times_ns`; None:
    once), as a histogram gives them.

    `slowed_s` as in `Work`. Raises ValueError: one that is not positive, no request, other shapes,
    a time that is not positive and finite, a count that is negative or not finite.
    """
    times = np.asarray(times_ns, dtype=float).ravel()
    weights = np.ones_like(times) if counts is None else np.asarray(counts, dtype=float).ravel()
    if times.shape != weights.shape:
        raise ValueError(f"each service time needs its count: {times.shape} and {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0.0).any() or weights.sum() <= 0.0:
        raise ValueError("service times need counts that are not negative, of one request at least")
    if not np.isfinite(times).all() or (times <= 0.0).any():
        raise ValueError("service times must be positive and finite")
    if not slowed_s > 0.0:
        raise ValueError(f"the part of a request that others slow down must be positive, not {slowed_s}")
    kept = weights > 0.0
    values, where = np.unique(times[kept], return_inverse=True)
    shares = np.bincount(where, weights=weights[kept]) / weights[kept].sum()
    return Work(tuple((values / 1e9).tolist()), tuple(shares.tolist()), slowed_s)
