"""What a screening will be able to tell, before it starts."""

import math
from functools import lru_cache

import numpy as np

from phpdyno.stats.comparison.noise import Noise
from phpdyno.stats.screening.factorial import CONTROL, Design, indicators, odd_columns
from phpdyno.stats.student import found_from, simultaneous

MOST_FREEDOM = 120
"""From here on t is within 1.5 % of the normal distribution, even far out."""


def deviation(design: Design, noise: Noise, pairs: float, blocks: int) -> float:
    """Standard error of a main effect of one level that `blocks` blocks of `pairs` pairs per row
    give, the greatest of all factors'."""
    return math.sqrt((noise.sigma_start**2 + noise.sigma_pair**2 / pairs) * _part(design) / blocks)


def resolvable(design: Design, noise: Noise, pairs: float, blocks: int, alpha: float) -> float | None:
    """Smallest effect (log ratio) of a factor that a screening finds with 90 % power; None below
    two blocks."""
    freedom = len(design.rows) * (blocks - 1)
    if freedom < 1:
        return None
    reach = _reach(alpha, sum(design.factors), min(freedom, MOST_FREEDOM))
    return found_from(reach, freedom) * deviation(design, noise, pairs, blocks)


@lru_cache(maxsize=64)
def _part(design: Design) -> float:
    """Variance of the least certain main effect of one block, in variances of a row's own draw."""
    if design.mirrors:
        columns = odd_columns(design) / math.sqrt(2.0)
    else:
        rows = [indicators(design.factors, row) for row in (*design.rows, design.row(CONTROL))]
        columns = np.array([[*row, 1.0] for row in rows], dtype=np.float64)
    inverse = np.linalg.inv(columns.T @ columns)
    return float(np.diag(inverse)[: sum(design.factors)].max())


@lru_cache(maxsize=4096)
def _reach(alpha: float, number: int, freedom: int) -> float:
    return simultaneous(alpha, number, freedom)
