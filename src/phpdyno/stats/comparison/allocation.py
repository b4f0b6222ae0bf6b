"""How long a block should be, and with which mixture, so that the margin is decided soonest within
the budget."""

import math
from collections.abc import Callable

from msgspec import Struct

from phpdyno.stats.comparison.noise import Noise
from phpdyno.stats.comparison.sequence import half_width_factor, least_blocks
from phpdyno.stats.student import found_from

MIXTURES = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
MOST_BLOCKS = 100_000
SHARES_PER_DOUBLING = 2


class Shape(Struct, frozen=True):
    """A block as it will be: its length in seconds without starts, and the pairs that a typical
    treatment (the median one) gets.

    Not the one with the fewest: requests that are several times as dear are of a treatment with a
    large effect, and the length of a block that suits it would starve all others.
    """

    block_s: float
    typical: int


class Allocation(Struct, frozen=True):
    """What a block holds, and what follows from it.

    `pairs` of a treatment as dear as the control, per block; `mixture` (g); `blocks` that fit in
    the budget. `decidable`: the smallest effect (log ratio) that they find with 90 % power, None
    when none. `needed` blocks and `eta_s` seconds until the wanted effect is found, None when
    never.
    """

    pairs: int
    mixture: float
    sigma_block: float
    block_s: float
    blocks: int
    decidable: float | None
    needed: int | None
    eta_s: float | None


def resolution(blocks: int, alpha: float, mixture: float) -> float | None:
    """Smallest effect in units of sigma_block that `blocks` blocks find with 90 % power; None while
    the interval is infinite.

    The interval is as wide as the blocks happen to scatter, which few blocks know badly
    (`found_from`).
    """
    factor = half_width_factor(blocks, alpha, mixture)
    if factor is None:
        return None
    root = math.sqrt(blocks)
    return found_from(root * factor, blocks - 1) / root


def blocks_for(effect: float, sigma_block: float, alpha: float, mixture: float) -> int | None:
    """Least number of blocks that find `effect` (log ratio) with 90 % power; None beyond 100,000.
    Raises ValueError unless effect > 0."""
    if not effect > 0.0:
        raise ValueError(f"an effect to be found is above 0, not {effect}")
    low = least_blocks(alpha, mixture)
    high = low
    while (found := resolution(high, alpha, mixture)) is None or found * sigma_block > effect:
        low, high = high + 1, 2 * high
        if high > MOST_BLOCKS:
            return None
    while low < high:
        middle = (low + high) // 2
        found = resolution(middle, alpha, mixture)
        low, high = (low, middle) if found is not None and found * sigma_block <= effect else (middle + 1, high)
    return high


def allocate(
    noise: Noise,
    *,
    shape: Callable[[int], Shape],
    overhead_s: float,
    budget_s: float,
    effect: float,
    alpha: float,
    least_pairs: int,
    most_block_s: float,
) -> Allocation:
    """The block length and mixture that decide `effect` (log ratio) soonest; where the budget is
    too short for that, those that decide the smallest effect within it.

    `shape` says what a block of so many pairs comes to; it costs overhead_s more than it lasts.
    Long blocks average sigma_pair, only new starts average sigma_start (Kalibera & Jones 2013,
    where the number of repetitions on each level follows from its variance and cost).
    """
    tried = []
    pairs = least_pairs
    while True:
        block = shape(pairs)
        tried += [
            _tried(noise, pairs, g, block=block, overhead_s=overhead_s, budget_s=budget_s, effect=effect, alpha=alpha) for g in MIXTURES
        ]
        if block.block_s >= most_block_s:
            break
        pairs = max(pairs + 1, round(pairs * 2 ** (1 / SHARES_PER_DOUBLING)))
    in_time = [each for each in tried if each.eta_s is not None and each.eta_s <= budget_s]
    if in_time:
        return min(in_time, key=lambda each: each.eta_s or 0.0)
    deciding = [each for each in tried if each.decidable is not None]
    if deciding:
        return min(deciding, key=lambda each: each.decidable or 0.0)
    return min(tried, key=lambda each: (each.block_s + overhead_s) * least_blocks(alpha, each.mixture))


def _tried(
    noise: Noise, pairs: int, mixture: float, *, block: Shape, overhead_s: float, budget_s: float, effect: float, alpha: float
) -> Allocation:
    sigma, whole_s = noise.of_block(block.typical), block.block_s + overhead_s
    blocks = int(budget_s / whole_s) if whole_s > 0 else 0
    found = resolution(blocks, alpha, mixture) if blocks > 1 else None
    needed = blocks_for(effect, sigma, alpha, mixture)
    return Allocation(
        pairs=pairs,
        mixture=mixture,
        sigma_block=sigma,
        block_s=block.block_s,
        blocks=blocks,
        decidable=None if found is None else found * sigma,
        needed=needed,
        eta_s=None if needed is None else needed * whole_s,
    )
