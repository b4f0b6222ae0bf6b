"""The Universal Scalability Law, as a summary of a throughput curve only.

X(n) = rate n / (1 + sigma (n - 1) + kappa n (n - 1)) (Gunther, Guerrilla Capacity Planning, 2007).
It has no kink where workers or cores run out, so it misses measured curves by tens of percent:
nothing is decided by it, and its leave-one-out error is printed beside it.
"""

import math

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

LEAST_POINTS = 3
ROUNDS = 200
_TOLERANCE = 1e-12
Floats = NDArray[np.float64]


class Usl(Struct, frozen=True):
    """`rate_per_s` of one request at a time, `sigma` contention and `kappa` crosstalk (both at
    least 0), fitted over `numbers`.

    `left_out[i]` is (predicted - measured) / measured of point i by the law fitted without it;
    empty with three points, which leave none.
    """

    rate_per_s: float
    sigma: float
    kappa: float
    numbers: tuple[int, ...]
    left_out: tuple[float, ...]

    def at(self, number: float) -> float:
        """Answers per second with `number` in service."""
        return self.rate_per_s * number / (1.0 + self.sigma * (number - 1.0) + self.kappa * number * (number - 1.0))

    @property
    def peak(self) -> float | None:
        """sqrt((1 - sigma) / kappa), the number of most throughput, at least 1; None where the law
        rises for ever."""
        if self.kappa == 0.0:
            return 1.0 if self.sigma >= 1.0 else None
        return max(1.0, math.sqrt(max(0.0, 1.0 - self.sigma) / self.kappa))

    @property
    def worst(self) -> float | None:
        """The largest leave-one-out error, as a ratio above 0."""
        return max(map(abs, self.left_out)) if self.left_out else None

    @property
    def words(self) -> str:
        """What is printed beside the plot."""
        if not self.left_out:
            return "Universal Scalability Law: a summary only; three points say nothing of its error"
        low, high = 100.0 * min(self.left_out), 100.0 * max(self.left_out)
        return f"Universal Scalability Law: a summary only; points that it did not see it misses by {low:+.0f} to {high:+.0f} %"


def fit_usl(numbers: ArrayLike, rates_per_s: ArrayLike) -> Usl:
    """Least squares of the relative errors, sigma and kappa not below 0; both arrays of shape (n,),
    in any order.

    Raises ValueError: fewer than three different numbers, numbers below 1, rates that are not
    positive and finite.
    """
    n, x = np.asarray(numbers, dtype=float), np.asarray(rates_per_s, dtype=float)
    if n.ndim != 1 or n.shape != x.shape or np.unique(n).size < LEAST_POINTS:
        raise ValueError(f"the law has three parameters: it needs as many numbers of requests at least, not {n.size}")
    if not np.isfinite(n).all() or (n < 1.0).any():
        raise ValueError("numbers of requests in service are 1 at least")
    if not (np.isfinite(x).all() and (x > 0.0).all()):
        raise ValueError("rates must be positive and finite")
    without = (np.delete(np.arange(n.size), i) for i in range(n.size)) if np.unique(n).size > LEAST_POINTS else ()
    left_out = tuple(_error(_fit(n[kept], x[kept]), n, x, kept) for kept in without if np.unique(n[kept]).size >= LEAST_POINTS)
    a, b, c = _fit(n, x)
    return Usl(1.0 / a, b / a, c / a, tuple(int(each) for each in n), left_out)


def _error(found: tuple[float, float, float], n: Floats, x: Floats, kept: NDArray[np.intp]) -> float:
    (out,) = np.setdiff1d(np.arange(n.size), kept)
    return float(n[out] / (_terms(n[out : out + 1]) @ np.array(found))[0] / x[out]) - 1.0


def _fit(n: Floats, x: Floats) -> tuple[float, float, float]:
    """1 / rate, sigma / rate, kappa / rate: n / X is linear in them. The best of the fits with
    none, either or both held at 0."""
    free = ([0, 1, 2], [0, 1], [0, 2], [0])
    found = [fitted for columns in free if (fitted := _descend(n, x, columns)) is not None]
    best = min(found, key=lambda each: _squares(each, n, x))
    return float(best[0]), float(best[1]), float(best[2])


def _terms(n: Floats) -> Floats:
    return np.column_stack([np.ones_like(n), n - 1.0, n * (n - 1.0)])


def _squares(found: Floats, n: Floats, x: Floats) -> float:
    time = _terms(n) @ found
    return float((((n / time) / x - 1.0) ** 2).sum()) if (time > 0.0).all() else math.inf


def _descend(n: Floats, x: Floats, columns: list[int]) -> Floats | None:
    """Gauss-Newton with halved steps from the linear fit; None where it leaves what is allowed."""
    terms = _terms(n)[:, columns]
    weights = x / n  # relative errors of n / X, to the first order those of X
    part = np.linalg.lstsq(terms * weights[:, None], np.ones_like(n), rcond=None)[0]
    whole = np.zeros(3)
    whole[columns] = part
    error = _squares(whole, n, x)
    for _ in range(ROUNDS if math.isfinite(error) else 0):
        time = terms @ whole[columns]
        residual = n / time / x - 1.0
        slope = -(n / time**2 / x)[:, None] * terms
        step = np.linalg.lstsq(slope, -residual, rcond=None)[0]
        following, share = whole, 1.0
        for _ in range(40):
            trial = whole.copy()
            trial[columns] += share * step
            if _squares(trial, n, x) < error:
                following = trial
                break
            share /= 2.0
        gained = error - _squares(following, n, x)
        whole, error = following, error - gained
        if gained <= _TOLERANCE * error:
            break
    return whole if whole[0] > 0.0 and (whole >= 0.0).all() and math.isfinite(error) else None
