"""Slot length from an A/A trace: the Allan deviation between adjacent slots of one instance."""

import math

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

LEAST_GROUPS = 8
"""Fewer slots of a length than this say too little about it."""

NEAR_BEST = 1.15
"""A variance estimated from a few dozen groups scatters by more than this; within it the shorter
slot wins, as it follows slow noise."""


class AllanEstimate(Struct, frozen=True):
    """One slot length, in base slots of the trace: Allan deviation of the log cost, and how many
    slots of this length it rests on."""

    length: int
    deviation: float
    groups: int


def allan_deviations(costs: ArrayLike, expected: ArrayLike | None = None) -> list[AllanEstimate]:
    """Allan deviation for slots of 1, 2, 4, ... base slots; `costs` (shape (n,)) are those of base
    slots that followed each other.

    `expected` (same shape, any scale) is what each should have cost by what was asked in it, so
    that the mix is no noise.

    sigma_A^2(L) = 1/2 <(ln y_{j+1} - ln y_j)^2>, y_j total cost over total expected of the j-th
    group of L base slots (Allan 1966, on logarithms because effects are ratios). Groups that cost
    nothing (static files) are passed over, lengths with fewer than 8 groups left out. Raises
    ValueError: fewer than 8 costs, one negative or not finite, different shapes, nothing that costs
    anything.
    """
    trace: NDArray[np.float64] = np.asarray(costs, dtype=np.float64)
    wanted: NDArray[np.float64] = np.ones_like(trace) if expected is None else np.asarray(expected, dtype=np.float64)
    if trace.ndim != 1 or trace.size < LEAST_GROUPS or wanted.shape != trace.shape:
        raise ValueError(f"a trace needs at least {LEAST_GROUPS} costs in one dimension, and as many expected ones")
    if not (np.isfinite(trace).all() and np.isfinite(wanted).all() and trace.min() >= 0.0 and trace.sum() > 0.0):
        raise ValueError("a trace needs finite costs of which none is negative and some are not 0")
    found = []
    length = 1
    while trace.size // length >= LEAST_GROUPS:
        sums = [each[: trace.size // length * length].reshape(-1, length).sum(axis=1) for each in (trace, wanted)]
        costly = (sums[0] > 0.0) & (sums[1] > 0.0)
        logs = np.log(sums[0][costly] / sums[1][costly])
        if logs.size >= LEAST_GROUPS:
            found.append(AllanEstimate(length, math.sqrt(0.5 * float(np.mean(np.diff(logs) ** 2))), int(logs.size)))
        length *= 2
    return found


def pair_cost(deviation: float, slot_s: float) -> float:
    """Variance x time of a pair of adjacent slots: 2 sigma_A^2 times both slots' seconds. The less,
    the more a second buys."""
    return 2.0 * deviation**2 * 2.0 * slot_s


def best_length(costs_s: ArrayLike) -> int:
    """Index of the slot length to use: the first whose variance x time is within 15 % of the least.
    Raises ValueError: none given."""
    costs = np.asarray(costs_s, dtype=np.float64)
    if costs.size == 0:
        raise ValueError("no slot length to choose from")
    return int(np.argmax(costs <= NEAR_BEST * costs.min()))
