"""One block's estimate from its pairs: the block, not the pair, is the observation that the verdict
rests on."""

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

CLIP_SIGMAS = 2.5
"""Pairs further than this from the block's median are clipped in the sensitivity check."""

MAD_TO_SIGMA = 1.48
"""The median absolute deviation of a normal sample times this estimates its standard deviation."""


class BlockEstimate(Struct, frozen=True):
    """log(total control cost / total treatment cost) of one block, its clipped version, and the
    spread of its pairs.

    `pair_sigma` is the standard deviation (n - 1) of the pairs' log ratios, 0.0 for a single pair.
    `spread` / sqrt(pairs) is the standard error of `log_ratio` by the delta method: in a mix of
    dear and cheap requests the dear ones weigh more in a ratio of totals.
    """

    log_ratio: float
    clipped_log_ratio: float
    pair_sigma: float
    pairs: int
    spread: float = 0.0


def estimate_block(control_ns: ArrayLike, treated_ns: ArrayLike) -> BlockEstimate:
    """Estimate of a block from the cost of each slot; entry i of both arrays belongs to pair i
    (shape (pairs,), nanoseconds).

    Every slot of a pair drives the same requests, so totals compare like with like. A slot may cost
    nothing (nothing but static files was drawn): it counts in the totals, and has no ratio to clip.
    Raises ValueError: no pairs, different lengths, a cost that is negative or not finite, a total
    of 0.
    """
    control = _costs(control_ns, "control")
    treated = _costs(treated_ns, "treatment")
    if control.shape != treated.shape:
        raise ValueError(f"pairs need as many control as treatment slots, not {control.size} and {treated.size}")

    if not (control.sum() > 0 and treated.sum() > 0):
        raise ValueError("the slots of both arms need a total cost above 0")

    both = (control > 0) & (treated > 0)
    ratios = np.zeros_like(control)
    ratios[both] = np.log(control[both] / treated[both])
    low, high = _clip_bounds(ratios[both])
    # Only the dearer side of an outlying pair moves, down to the bound from its partner: swapping
    # the arms then inverts the result, and a stalled slot loses its weight in the total as well as
    # its ratio.
    clipped_control, clipped_treated = control.copy(), treated.copy()
    above, below = both & (ratios > high), both & (ratios < low)
    clipped_control[above] = treated[above] * np.exp(high)
    clipped_treated[below] = control[below] * np.exp(-low)

    return BlockEstimate(
        log_ratio=float(np.log(control.sum() / treated.sum())),
        clipped_log_ratio=float(np.log(clipped_control.sum() / clipped_treated.sum())),
        pair_sigma=float(ratios[both].std(ddof=1)) if both.sum() > 1 else 0.0,
        pairs=int(ratios.size),
        spread=float((control / control.mean() - treated / treated.mean()).std(ddof=1)) if ratios.size > 1 else 0.0,
    )


def _clip_bounds(ratios: NDArray[np.float64]) -> tuple[float, float]:
    if ratios.size == 0:
        return -np.inf, np.inf
    median = float(np.median(ratios))
    sigma = MAD_TO_SIGMA * float(np.median(np.abs(ratios - median)))
    if sigma == 0.0:
        # Over half of the pairs agree to the bit (or there is one pair): no scale to clip by.
        return -np.inf, np.inf
    return median - CLIP_SIGMAS * sigma, median + CLIP_SIGMAS * sigma


def _costs(values: ArrayLike, arm: str) -> NDArray[np.float64]:
    costs = np.asarray(values, dtype=np.float64)
    if costs.ndim != 1 or costs.size == 0:
        raise ValueError(f"a block needs at least one {arm} slot, in one dimension")
    if not (np.isfinite(costs).all() and (costs >= 0).all()):
        raise ValueError(f"no {arm} slot may have a negative or infinite cost")
    return costs
