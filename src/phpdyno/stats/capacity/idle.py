"""What idle workers cost: CPU per request over the size of the pool, at an equal number of requests
in service."""

import math

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from phpdyno.stats.student import quantile

ALPHA = 0.05


class IdleCost(Struct, frozen=True):
    """A request costs base x (1 + slope x ln(workers / busy)): `base` (the unit of what was fitted)
    where no worker is idle.

    `error` is the standard error of `slope`, `low` and `high` its 95 % interval (Student's t,
    `sizes` measurements), None where two measurements allow none. The form is ours: on one host it
    held within 1.3 % from 5 to 32 workers; it is no law.
    """

    slope: float
    base: float = 1.0
    error: float | None = None
    low: float | None = None
    high: float | None = None
    sizes: int = 0

    @property
    def seen(self) -> bool:
        """Whether idle workers certainly make a request dearer: the whole interval lies above 0.
        Without an interval it is not seen."""
        return self.low is not None and self.low > 0.0

    @property
    def words(self) -> str:
        """One line for a reader."""
        if not self.seen:
            return "no effect of idle workers seen"
        return f"each doubling of the pool at equal load costs {100.0 * self.slope * math.log(2.0):.1f} % more per request"

    def factor(self, workers: int, busy: int) -> float:
        """How many times as dear a request is with `busy` of `workers` in service as with none
        idle: 1 where no effect is seen."""
        return 1.0 + self.slope * math.log(workers / busy) if self.seen and workers > busy else 1.0

    def factors(self, workers: int) -> NDArray[np.float64]:
        """`factor` for 1 ... workers in service, shape (workers,)."""
        if not self.seen:
            return np.ones(workers)
        return 1.0 + self.slope * np.log(workers / np.arange(1, workers + 1, dtype=float))

    def shifted(self, normal: float) -> "IdleCost":
        """The slope moved by so many of its standard errors, but not below 0; as it is where no
        effect is seen."""
        if not self.seen or self.error is None:
            return self
        return replace(self, slope=max(0.0, self.slope + normal * self.error))


NO_IDLE = IdleCost(0.0)
"""Idle workers cost nothing, or nobody looked."""


def fit_idle(workers: ArrayLike, busy: int, costs: ArrayLike, alpha: float = ALPHA) -> IdleCost:
    """Least squares of cost = base (1 + slope ln(workers / busy)), both arrays of shape (n,), any
    unit, sizes may repeat.

    `costs` are CPU per request, or seconds per answer (1 / throughput): the former moves throughput
    only where the CPU is the limit. It is a line in ln(workers / busy) with intercept `base`; the
    slope is a ratio of its coefficients, with the error by the delta method. Raises ValueError:
    fewer than two different sizes, a size below `busy`, costs that are not positive and finite.
    """
    sizes, cost = np.asarray(workers, dtype=float), np.asarray(costs, dtype=float)
    if sizes.ndim != 1 or sizes.shape != cost.shape or np.unique(sizes).size < 2:
        raise ValueError("the cost of idle workers needs measurements at two sizes of the pool at least")
    if busy < 1 or not np.isfinite(sizes).all() or (sizes < busy).any():
        raise ValueError(f"a pool cannot be smaller than the {busy} requests in service")
    if not (np.isfinite(cost).all() and (cost > 0.0).all()):
        raise ValueError("costs must be positive and finite")

    design = np.column_stack([np.ones_like(sizes), np.log(sizes / busy)])
    inverse = np.linalg.inv(design.T @ design)
    base, rise = inverse @ design.T @ cost
    if base <= 0.0:
        raise ValueError("the costs fall so steeply with the pool's size that none is left without idle workers")
    slope, freedom = float(rise / base), sizes.size - 2
    if freedom < 1:
        return IdleCost(slope, float(base), sizes=sizes.size)
    residuals = cost - design @ np.array([base, rise])
    gradient = np.array([-rise / base**2, 1.0 / base])
    error = math.sqrt(float(residuals @ residuals) / freedom * float(gradient @ inverse @ gradient))
    reach = quantile(1.0 - alpha / 2.0, freedom) * error
    return IdleCost(slope, float(base), error, slope - reach, slope + reach, sizes.size)
