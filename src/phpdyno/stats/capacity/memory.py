"""Memory of a pool: what is there once, and what each worker adds. KiB throughout.

PSS, not RSS: a page that 32 workers share is in the RSS of each of them. A line through few small
pools misses a large one (by 14 % from 5 and 10 workers to 32), so `measured` says up to which size
it was looked at.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from phpdyno.model.runs.readings import PoolMemory

HEAVY = 1.5
"""A target whose worker has so many times the private memory of the lightest target's suggests a
pool of its own."""


class PoolCost(Struct, frozen=True):
    """`once_kib`: master and all that workers share (code, opcache). `private_kib`: what each
    worker has for itself.

    `measured`: the most workers that it was measured with. `miss`: largest relative error of the
    line at what it was fitted to.
    """

    once_kib: float
    private_kib: float
    measured: int
    miss: float = 0.0

    def total_kib(self, workers: int) -> float:
        """Memory of the pool with so many workers."""
        return self.once_kib + self.private_kib * workers

    def most_workers(self, limit_kib: float, reserve_kib: float = 0.0) -> int:
        """The most workers that fit under a limit of which `reserve_kib` is for others; 0 where not
        even one does.

        Raises ValueError: a limit that is not positive, a negative reserve, workers without private
        memory.
        """
        if not (limit_kib > 0.0 and reserve_kib >= 0.0 and self.private_kib > 0.0):
            raise ValueError(f"no cap follows from {limit_kib} KiB less {reserve_kib} KiB at {self.private_kib} KiB for a worker")
        return max(0, math.floor((limit_kib - reserve_kib - self.once_kib) / self.private_kib + 1e-9))

    def worst(self, private_kib: float) -> "PoolCost":
        """The same pool, each of its workers having served the heaviest target; never lighter than
        it is."""
        return replace(self, private_kib=max(self.private_kib, private_kib))


class Tenant(Struct, frozen=True):
    """A pool that shares a limit with others: its name, what it costs, and its
    `pm.max_children`."""

    name: str
    cost: PoolCost
    workers: int


class Sharing(Struct, frozen=True):
    """Several pools under one limit, all full: `total_kib` of `room_kib`. `most`: workers of each,
    scaled down alike until they fit.

    Empty where not even one worker of each fits.
    """

    total_kib: float
    room_kib: float
    most: dict[str, int]

    @property
    def fits(self) -> bool:
        """Whether all pools may be full at once."""
        return self.total_kib <= self.room_kib


def cost_of(reading: PoolMemory) -> PoolCost:
    """From one reading under load: workers' PSS and the master's, less the median worker's private
    memory times their number.

    Raises ValueError: no worker could be read, or some could not (what they hold is not known).
    """
    if reading.workers < 1 or reading.private_median_kib is None:
        raise ValueError("the memory of a pool needs a worker that could be read")
    if reading.unread:
        raise ValueError(f"the memory of {reading.unread} worker(s) could not be read, so the pool's is not known")
    once = reading.pss_kib + (reading.master_kib or 0) - reading.workers * reading.private_median_kib
    return PoolCost(max(0.0, once), reading.private_median_kib, reading.workers)


def fit_cost(workers: Sequence[int], totals_kib: Sequence[float]) -> PoolCost:
    """Least squares of total = once + private x workers, over pools of two sizes at least (totals
    with the master).

    Raises ValueError: other lengths, one size only, sizes or totals that are not positive, or
    totals that do not grow with the workers.
    """
    sizes, totals = np.asarray(workers, dtype=float), np.asarray(totals_kib, dtype=float)
    if sizes.shape != totals.shape or np.unique(sizes).size < 2:
        raise ValueError("a line of memory needs pools of two sizes at least, each with its total")
    if (sizes < 1.0).any() or not np.isfinite(totals).all() or (totals <= 0.0).any():
        raise ValueError("sizes of pools and totals must be positive")
    private, once = np.polyfit(sizes, totals, 1)
    if private <= 0.0:
        raise ValueError("the total does not grow with the number of workers")
    line = once + private * sizes
    return PoolCost(float(max(0.0, once)), float(private), int(sizes.max()), float(np.abs(line / totals - 1.0).max()))


def share(limit_kib: float, pools: Sequence[Tenant], reserve_kib: float = 0.0) -> Sharing:
    """All of `pools` under one limit. Raises ValueError: no pools, one name twice, a pool without
    workers, no room at all."""
    names = [pool.name for pool in pools]
    room = limit_kib - reserve_kib
    if not pools or len(set(names)) < len(names) or any(pool.workers < 1 for pool in pools):
        raise ValueError("sharing needs pools with names of their own and a worker each")
    if not room > 0.0:
        raise ValueError(f"nothing is left of {limit_kib} KiB with a reserve of {reserve_kib} KiB")
    total = math.fsum(pool.cost.total_kib(pool.workers) for pool in pools)
    if total <= room:
        return Sharing(total, room, {pool.name: pool.workers for pool in pools})

    def scaled(part: float) -> dict[str, int]:
        return {pool.name: max(1, math.floor(pool.workers * part + 1e-9)) for pool in pools}

    def fits(part: float) -> bool:
        numbers = scaled(part)
        return math.fsum(pool.cost.total_kib(numbers[pool.name]) for pool in pools) <= room

    low, high = 0.0, 1.0
    if not fits(low):
        return Sharing(total, room, {})
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Sharing(total, room, scaled(low))


def heavy_targets(private_kib: Mapping[str, float], factor: float = HEAVY) -> tuple[str, ...]:
    """Targets whose workers hold `factor` times the lightest one's private memory or more, heaviest
    first.

    Raises ValueError: memory that is not positive.
    """
    if any(not each > 0.0 for each in private_kib.values()):
        raise ValueError("private memory of a worker is positive")
    lightest = min(private_kib.values(), default=0.0)
    heavy = (name for name, each in private_kib.items() if each >= factor * lightest and each > lightest)
    return tuple(sorted(heavy, key=lambda name: (-private_kib[name], name)))


def apart_saves_kib(cost: PoolCost, heavy_kib: float, workers: int, heavy_workers: int, second_once_kib: float | None = None) -> float:
    """What a pool of its own for heavy targets saves of a pool of which each worker serves them
    sooner or later; negative: it costs.

    Of `workers`, `heavy_workers` are set apart. `second_once_kib` is what the second pool shares
    among itself only (None: as the first; 0 under the same master, whose code and opcache both
    have). Raises ValueError: not 1 to workers - 1 of them apart.
    """
    if not 1 <= heavy_workers < workers:
        raise ValueError(f"of {workers} workers, 1 to {workers - 1} may be set apart, not {heavy_workers}")
    second = cost.once_kib if second_once_kib is None else second_once_kib
    return (workers - heavy_workers) * (max(cost.private_kib, heavy_kib) - cost.private_kib) - second
