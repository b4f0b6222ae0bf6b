"""When requests arrive: at random at a rate, or with the gaps that a log shows."""

import math

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray


class Offered(Struct, frozen=True):
    """`rate_per_s` requests per second: Poisson where `gaps` is empty, else gaps in these
    proportions (mean 1), in their order."""

    rate_per_s: float
    gaps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate_per_s) and self.rate_per_s > 0.0):
            raise ValueError(f"arrivals need a positive rate, not {self.rate_per_s}")

    def draw(self, random: Generator, size: int) -> NDArray[np.float64]:
        """Times of arrival of `size` requests in seconds, ascending. Given gaps begin at a random
        one and go round."""
        if not self.gaps:
            return np.asarray(np.cumsum(random.exponential(1.0 / self.rate_per_s, size)))
        places = (np.arange(size) + int(random.integers(len(self.gaps)))) % len(self.gaps)
        return np.asarray(np.cumsum(np.asarray(self.gaps)[places]) / self.rate_per_s)


def offered_by(gaps_s: ArrayLike, rate_per_s: float | None = None) -> Offered:
    """Arrivals with these gaps in seconds, shape (n,); at another rate, stretched to it.

    Raises ValueError: no gaps, negative or not finite ones, or nothing but zeros.
    """
    gaps = np.asarray(gaps_s, dtype=float).ravel()
    if gaps.size == 0 or not np.isfinite(gaps).all() or (gaps < 0.0).any() or gaps.sum() <= 0.0:
        raise ValueError("gaps between arrivals must be finite and not negative, and not all 0")
    mean = float(gaps.mean())
    return Offered(1.0 / mean if rate_per_s is None else rate_per_s, tuple((gaps / mean).tolist()))
