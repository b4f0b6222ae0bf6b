"""What a factorial design says of each factor: every row informs every factor, whatever the
interactions of two are.

A row's log ratio in a block is level of the block + effects of what is on + the row's own draw, and
the control is one row more, whose log ratio is 0 and which has drawn, too. The difference of two
mirror rows of one block holds neither the level nor any interaction of two factors; their mean
holds the interactions and no main effect (Box and Wilson 1951; Box, Hunter and Hunter, ch. 12).
"""

import math
from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno.stats.comparison.noise import Noise
from phpdyno.stats.screening.factorial import CONTROL, Design, indicators, odd_columns, on
from phpdyno.stats.student import simultaneous

LEAST_MIXED = 0.01
"""An interaction that enters another's estimate with a smaller part of its size is not named."""
_TINY = 1e-9


class RowReading(Struct, frozen=True):
    """One row against the control within one block: its log ratio (positive: better than the
    control) from so many pairs.

    `row` is the row's index in the design. Blocks of different batches have different numbers.
    """

    row: int
    block: int
    log_ratio: float
    pairs: int


class EffectEstimate(Struct, frozen=True):
    """A log ratio with its interval; nones without one (no row was measured in two blocks)."""

    value: float
    low: float | None
    high: float | None


class LevelEffect(Struct, frozen=True):
    """What a factor at a level does against the control's, averaged over what the others are at.
    None: cannot be told."""

    factor: int
    level: int
    effect: EffectEstimate | None


class Interaction(Struct, frozen=True):
    """What two factors do together beyond the sum of what each does alone, averaged over what the
    others are at.

    `mixed_with`: other pairs whose interaction is contained in this estimate, with the factor that
    it has there (1 or -1: cannot be told apart). None: cannot be told at all.
    """

    factors: tuple[int, int]
    effect: EffectEstimate | None
    mixed_with: tuple[tuple[tuple[int, int], float], ...] = ()


class Screened(Struct, frozen=True):
    """All effects. The intervals of the main effects hold together with probability 1 - alpha,
    those of the interactions likewise.

    `sigma` is the standard deviation of a row's own draw as the replicates show it, over that of
    the calibration; `freedom` its degrees of freedom. `unused` rows had no mirror row in any block,
    so they say nothing here.
    """

    mains: tuple[LevelEffect, ...]
    interactions: tuple[Interaction, ...]
    sigma: float | None
    freedom: int
    unused: tuple[int, ...] = ()


def screen(design: Design, readings: Sequence[RowReading], noise: Noise, alpha: float) -> Screened:
    """Effects of all factors from the readings of a design's rows.

    `noise` says how precise the readings are relative to each other; how precise they are at all is
    estimated from what each row's blocks differ by. Raises ValueError: no readings, one that is not
    finite or of no row, a row twice in a block, alpha outside (0, 1), no noise.
    """
    _check(design, readings, alpha)
    if not noise.sigma_start > 0.0:
        raise ValueError("a screening needs a deviation of starts above 0")
    held = _with_control(readings, noise)
    scale, freedom = _scale(held)
    spread = None if scale is None else math.sqrt(scale)
    levels = [(factor, level) for factor, count in enumerate(design.factors) for level in range(1, count + 1)]
    solved = _mains(design, held)
    reach = _reach(alpha, len(levels), freedom, spread)
    mains = tuple(LevelEffect(factor, level, _estimate(found, reach)) for (factor, level), found in zip(levels, solved, strict=True))
    seen = {row for row, _ in _mirrored(design, held)} if design.mirrors else {each.row for each in held}
    unused = tuple(sorted({each.row for each in readings} - seen))
    return Screened(mains, _interactions(design, held, alpha, freedom, spread), spread, freedom, unused)


# ---- the readings -------------------------------------------------------------------------------


class _Held(Struct, frozen=True):
    row: int
    block: int
    value: float
    variance: float


def _with_control(readings: Sequence[RowReading], noise: Noise) -> list[_Held]:
    """The readings and, in each block, the control's own: 0, of which only the draw at its start is
    uncertain."""
    start = noise.sigma_start**2
    held = [_Held(each.row, each.block, each.log_ratio, start + noise.sigma_pair**2 / each.pairs) for each in readings]
    return held + [_Held(CONTROL, block, 0.0, start) for block in sorted({each.block for each in readings})]


def _check(design: Design, readings: Sequence[RowReading], alpha: float) -> None:
    if not readings:
        raise ValueError("a screening needs readings")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}")
    if any(not math.isfinite(each.log_ratio) or each.pairs < 1 for each in readings):
        raise ValueError("a reading needs a finite log ratio and a pair")
    if any(not 0 <= each.row < len(design.rows) for each in readings):
        raise ValueError("a reading is of no row of the design")
    if len({(each.row, each.block) for each in readings}) < len(readings):
        raise ValueError("a row was read twice in one block")


def _scale(held: Sequence[_Held]) -> tuple[float | None, int]:
    """Variance relative to the expected one, from what is left when each row and each block has its
    own level; degrees of freedom."""
    rows, blocks = sorted({each.row for each in held}), sorted({each.block for each in held})
    design = np.zeros((len(held), len(rows) + len(blocks)))
    for place, each in enumerate(held):
        design[place, rows.index(each.row)] = 1.0
        design[place, len(rows) + blocks.index(each.block)] = 1.0
    weight = np.array([1.0 / math.sqrt(each.variance) for each in held])
    values = np.array([each.value for each in held]) * weight
    solution, _, rank, _ = np.linalg.lstsq(design * weight[:, None], values, rcond=None)
    freedom = len(held) - int(rank)
    if freedom < 1:
        return None, 0
    left = values - (design * weight[:, None]) @ solution
    return float(left @ left) / freedom, freedom


# ---- main effects -------------------------------------------------------------------------------


def _mirrored(design: Design, held: Sequence[_Held]) -> dict[tuple[int, int], tuple[int, _Held, _Held]]:
    """(row, block) of every reading whose mirror row was read in the same block: number of its
    pair, the pair's first and second."""
    by = {(each.row, each.block): each for each in held}
    found = {}
    for number, (one, other) in enumerate(design.mirrors):
        for block in sorted({each.block for each in held}):
            if (one, block) in by and (other, block) in by:
                entry = (number, by[one, block], by[other, block])
                found[one, block] = found[other, block] = entry
    return found


def _pairs(design: Design, held: Sequence[_Held]) -> list[tuple[int, _Held, _Held]]:
    return [entry for (row, _), entry in _mirrored(design, held).items() if row == entry[1].row]


def _mains(design: Design, held: Sequence[_Held]) -> list[tuple[float, float] | None]:
    """Value and variance (on the scale of the calibration) of each level's effect; None where it
    cannot be told."""
    wanted = sum(design.factors)
    if design.mirrors:
        pairs = _pairs(design, held)
        odd = odd_columns(design)
        columns = np.array([odd[number] for number, _, _ in pairs]).reshape(len(pairs), wanted)
        values = np.array([one.value - other.value for _, one, other in pairs])
        return _solved(columns, values, _covariance(pairs), wanted)
    blocks = sorted({each.block for each in held})
    columns = np.array(
        [[*indicators(design.factors, design.row(each.row)), *(float(each.block == block) for block in blocks)] for each in held]
    )
    values = np.array([each.value for each in held])
    return _solved(columns, values, np.diag([each.variance for each in held]), wanted)


def _covariance(pairs: Sequence[tuple[int, _Held, _Held]]) -> NDArray[np.float64]:
    """The covariance of the pairs' differences: those of one block whose second row is the control
    share its draw."""
    made = np.diag([one.variance + other.variance for _, one, other in pairs])
    sharing = [(place, other) for place, (_, _, other) in enumerate(pairs) if other.row == CONTROL]
    for (here, one), (there, other) in permutations(sharing, 2):
        if one.block == other.block:
            made[here, there] = one.variance
    return made


def _solved(
    columns: NDArray[np.float64], values: NDArray[np.float64], covariance: NDArray[np.float64], wanted: int
) -> list[tuple[float, float] | None]:
    """Generalised least squares: value and variance of the first `wanted` coefficients; None for
    those that others can stand in for."""
    if not len(values):
        return [None] * wanted
    root = np.linalg.cholesky(covariance)
    scaled = np.linalg.solve(root, columns)
    inverse = np.linalg.pinv(scaled)
    solution = inverse @ np.linalg.solve(root, values)
    told = np.diag(inverse @ scaled)
    variance = (inverse**2).sum(axis=1)
    return [(float(solution[k]), float(variance[k])) if told[k] > 1.0 - _TINY else None for k in range(wanted)]


# ---- interactions -------------------------------------------------------------------------------


def _interactions(design: Design, held: Sequence[_Held], alpha: float, freedom: int, spread: float | None) -> tuple[Interaction, ...]:
    """Each interaction from the means of mirror rows, less the level of their block and what the
    levels of a factor differ by.

    Not weighted: with weights, interactions that a design keeps apart would leak into each other.
    """
    couples = list(combinations(range(len(design.factors)), 2))
    pairs = _pairs(design, held)
    if not pairs or not couples:
        return ()
    reach = _reach(alpha, len(couples), freedom, spread)
    signs = np.array([on(design.row(design.mirrors[number][0])) for number, _, _ in pairs], dtype=np.float64)
    products = _without(_levels(design, pairs), np.stack([signs[:, one] * signs[:, other] for one, other in couples], axis=1))
    inner = products.T @ products
    contrast = products.T @ np.array([(one.value + other.value) / 2.0 for _, one, other in pairs])
    variance = (products**2).T @ np.array([(one.variance + other.variance) / 4.0 for _, one, other in pairs])
    own = np.diag(inner)
    told = own > _TINY * max(1.0, float(own.max()))
    found = []
    for number, couple in enumerate(couples):
        if not told[number]:
            found.append(Interaction(couple, None))
            continue
        # f(1, 1) - f(1, 0) - f(0, 1) + f(0, 0) is four times the coefficient of a product of signs.
        effect = (4.0 * float(contrast[number] / own[number]), 16.0 * float(variance[number] / own[number] ** 2))
        found.append(Interaction(couple, _estimate(effect, reach), _mixed(number, couples, inner[number] / own[number])))
    return tuple(found)


def _mixed(number: int, couples: Sequence[tuple[int, int]], shares: NDArray[np.float64]) -> tuple[tuple[tuple[int, int], float], ...]:
    return tuple(
        (couple, round(float(share), 3))
        for place, (couple, share) in enumerate(zip(couples, shares, strict=True))
        if place != number and abs(share) >= LEAST_MIXED
    )


def _levels(design: Design, pairs: Sequence[tuple[int, _Held, _Held]]) -> NDArray[np.float64]:
    """What the means of mirror rows hold besides interactions: the level of each block; half of
    what a factor does, by the level it has."""
    blocks = sorted({one.block for _, one, _ in pairs})
    found = []
    for _, one, other in pairs:
        either = np.add(indicators(design.factors, design.row(one.row)), indicators(design.factors, design.row(other.row)))
        found.append([*(float(one.block == block) for block in blocks), *(float(each) for each in either)])
    return np.array(found)


def _without(nuisance: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The columns of `values` less what those of `nuisance` explain of them."""
    left: NDArray[np.float64] = values - nuisance @ (np.linalg.pinv(nuisance) @ values)
    return left


# ---- intervals ----------------------------------------------------------------------------------


def _reach(alpha: float, number: int, freedom: int, spread: float | None) -> float | None:
    return None if spread is None else simultaneous(alpha, number, freedom) * spread


def _estimate(found: tuple[float, float] | None, reach: float | None) -> EffectEstimate | None:
    if found is None:
        return None
    value, variance = found
    half = None if reach is None else reach * math.sqrt(variance)
    return EffectEstimate(value, None, None) if half is None else EffectEstimate(value, value - half, value + half)
