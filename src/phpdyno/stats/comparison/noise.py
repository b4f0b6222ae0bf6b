"""What identical arms differ by, from A/A blocks: between pairs, and between starts."""

import math
from collections.abc import Sequence

from msgspec import Struct

from phpdyno.model.observation import Observation

PRIOR_START = 0.005
"""Standard deviation of the start effect on the VM where the protocol was worked out."""

PRIOR_WEIGHT = 4.0
"""A few A/A blocks say little about a variance: the prior counts like this many of them."""

LEAST_AA_BLOCKS = 2
"""As many as the shortest calibration makes: one alone shows no scatter."""


class Noise(Struct, frozen=True):
    """`sigma_pair`: standard deviation of one pair's log ratio within a block. `sigma_start`: of
    what one instance draws at its start."""

    sigma_pair: float
    sigma_start: float

    def of_block(self, pairs: float) -> float:
        """Standard deviation of a block's log ratio: sqrt(sigma_pair^2 / pairs + 2 sigma_start^2),
        two instances having started."""
        return math.sqrt(self.sigma_pair**2 / pairs + 2.0 * self.sigma_start**2)


def telling(aa: Sequence[Observation]) -> Sequence[Observation]:
    """The A/A blocks that say what the noise is: those that count; all of them where fewer than two
    do."""
    counted = [each for each in aa if not each.excluded]
    return counted if len(counted) >= LEAST_AA_BLOCKS else aa


def estimate_noise(log_ratios: Sequence[float], pair_sigmas: Sequence[float], pairs: Sequence[int]) -> Noise:
    """From A/A blocks: their log ratios, the standard deviation of the pairs in each, and the
    number of pairs in each.

    sigma_pair is pooled over the blocks. The expected log ratio of A/A is 0, so each block's square
    less sigma_pair^2 / pairs estimates 2 sigma_start^2; the mean of these is shrunk towards the
    prior (0.5 %, worth 4 blocks) and is never below a quarter of its variance. Raises ValueError:
    no blocks, different lengths, a block without pairs.
    """
    if not log_ratios or not len(log_ratios) == len(pair_sigmas) == len(pairs):
        raise ValueError("noise needs one log ratio, one pair sigma and one number of pairs per A/A block")
    if min(pairs) < 1:
        raise ValueError("an A/A block needs at least one pair")
    weights = [max(0, count - 1) for count in pairs]
    total = sum(weights)
    within = math.fsum(weight * sigma**2 for weight, sigma in zip(weights, pair_sigmas, strict=True)) / total if total else 0.0
    start = [0.5 * (ratio**2 - within / count) for ratio, count in zip(log_ratios, pairs, strict=True)]
    shrunk = (PRIOR_WEIGHT * PRIOR_START**2 + math.fsum(start)) / (PRIOR_WEIGHT + len(start))
    return Noise(math.sqrt(within), math.sqrt(max(shrunk, 0.25 * PRIOR_START**2)))
