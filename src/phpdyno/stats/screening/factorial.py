"""Two-level fractional factorial designs of few rows: a Hadamard matrix folded over, so that no
main effect is mixed with an interaction.

2n rows hold n factors at resolution IV, and fewer rows cannot (Webb 1968). The matrices are Paley's
(1933), as in Plackett and Burman (1946), and Sylvester's by doubling.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

ORDERS = (1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48)
CONTROL = -1
"""Stands for the control where a row's number does: a row whose factors are all off is the control
of every comparison and no arm."""

Levels = tuple[int, ...]
"""One row: the level of each factor, 0 being the control's."""


class Design(Struct, frozen=True):
    """Rows to measure against the control, and what they can tell apart.

    `factors[k]` is the number of factor k's levels besides the control's. `mirrors` pairs rows (by
    their index, -1 is the control) of which one has on what the other has off; empty at resolution
    III. `resolution` 3: main effects are mixed with two-way interactions; 4: they are not, but
    interactions are mixed with each other; 5: interactions are apart, too, where every factor has
    one level.
    """

    factors: tuple[int, ...]
    rows: tuple[Levels, ...]
    mirrors: tuple[tuple[int, int], ...]
    resolution: int

    def row(self, index: int) -> Levels:
        """The levels of a row; those of the control for -1."""
        return (0,) * len(self.factors) if index == CONTROL else self.rows[index]


def design_for(factors: Sequence[int], most_rows: int) -> Design:
    """The design of the highest resolution with `most_rows` rows or fewer; of several, that with
    fewest rows.

    A factor with several levels is on with each of them in turn, in every combination that the
    others are in, as nearly as can be. Raises ValueError: no factor, a factor without a level, more
    than can be told apart in `most_rows` rows.
    """
    made = designs(factors)
    fitting = [each for each in made if len(each.rows) <= most_rows]
    if not fitting:
        enough = min(len(each.rows) for each in made)
        raise ValueError(f"{len(factors)} factors cannot be told apart in {most_rows} rows: it takes {enough}")
    return max(fitting, key=lambda each: (each.resolution, -len(each.rows)))


def least_rows(factors: Sequence[int], resolution: int = 3) -> int:
    """The fewest rows that a design of this resolution or a higher one has. Raises ValueError: as
    `design_for`, or no such design."""
    fitting = [len(each.rows) for each in designs(factors) if each.resolution >= resolution]
    if not fitting:
        raise ValueError(f"there is no design of resolution {resolution} for {len(factors)} factors")
    return min(fitting)


def designs(factors: Sequence[int]) -> tuple[Design, ...]:
    """All designs for these factors. Raises ValueError: no factor, a factor without a level, too
    many."""
    if not factors or min(factors) < 1:
        raise ValueError("a design needs factors, each with a level besides the control's")
    return _made(tuple(factors))


def hadamard(order: int) -> NDArray[np.int64]:
    """A matrix of 1 and -1 with orthogonal columns, its first row and column all 1. Raises
    ValueError: an order that is not made here."""
    if order not in ORDERS:
        raise ValueError(f"no Hadamard matrix of order {order} is made here")
    if order == 1:
        return np.ones((1, 1), dtype=np.int64)
    if order & (order - 1) and order - 1 in (11, 19, 23):
        return _paley(order - 1)
    half = hadamard(order // 2)
    return np.block([[half, half], [half, -half]])


def on(levels: Levels) -> tuple[int, ...]:
    """Each factor's level as a sign: 1 when it is on, -1 when it is as in the control."""
    return tuple(1 if level else -1 for level in levels)


# ---- how a design is made -----------------------------------------------------------------------


@lru_cache(maxsize=64)
def _made(factors: tuple[int, ...]) -> tuple[Design, ...]:
    made = [make(factors, order) for order in ORDERS for make in (_folded, _plain)]
    found = tuple(each for each in made if each is not None)
    if not found:
        raise ValueError(f"factors with {sum(factors)} levels are more than a design holds: the largest has {ORDERS[-1]}")
    return found


def _paley(prime: int) -> NDArray[np.int64]:
    """Paley's first construction, for a prime that leaves 3 when divided by 4."""
    squares = {each * each % prime for each in range(1, prime)}
    sign = np.array([0] + [1 if each in squares else -1 for each in range(1, prime)])
    made = np.eye(prime + 1, dtype=np.int64)
    made[0, 1:] += 1
    made[1:, 0] -= 1
    made[1:, 1:] += np.array([[sign[(i - j) % prime] for j in range(prime)] for i in range(prime)])
    made = made * made[:, :1]
    return made * made[:1, :]


def _apart(order: int) -> list[int]:
    """Columns of a doubled matrix of which no two pairs have the same product, so that their
    interactions are apart.

    Column i times column j is column i xor j: the greedy choice, which is the largest there is up
    to order 32.
    """
    if order & (order - 1):
        return []
    found: list[int] = []
    products: set[int] = set()
    for column in range(order):
        new = {column ^ other for other in found}
        if not new & products:
            found.append(column)
            products |= new
    return found


def _folded(factors: tuple[int, ...], order: int) -> Design | None:
    """Every row of the matrix and its mirror image; None when the matrix is too small."""
    wanted = sum(factors)
    if wanted > order:
        return None
    apart = _apart(order)
    clear = wanted <= len(apart)
    columns = apart if clear else list(range(order))
    matrix = hadamard(order)[:, columns[:wanted]]
    upper, lower = _rows(matrix, factors), _rows(-matrix, factors)
    # The first row is all on; its mirror image is the control, as others' are where few factors
    # have many levels.
    rows: list[Levels] = []
    mirrors = []
    for pair in zip(upper, lower, strict=True):
        places = []
        for row in pair:
            places.append(len(rows) if any(row) else CONTROL)
            rows += [row] if any(row) else []
        mirrors.append((places[0], places[1]))
    made = Design(factors, tuple(rows), tuple(mirrors), 5 if clear and max(factors) == 1 else 4)
    return made if _full_rank(odd_columns(made)) else None


def _plain(factors: tuple[int, ...], order: int) -> Design | None:
    """The matrix without its mirror image; its first column, which is constant, holds no factor."""
    wanted = sum(factors)
    if wanted > order - 1:
        return None
    rows = [row for row in _rows(-hadamard(order)[:, 1 : wanted + 1], factors) if any(row)]
    made = Design(factors, tuple(rows), (), 3)
    shown = np.array([indicators(factors, row) for row in (*rows, made.row(CONTROL))])
    return made if _full_rank(np.hstack([shown, np.ones((len(shown), 1))])) else None


def _rows(matrix: NDArray[np.int64], factors: tuple[int, ...]) -> list[Levels]:
    """Signs to levels. A factor's first column says whether it is on, the products of that one with
    its others which level it has then."""
    starts = np.cumsum((0, *factors))
    made: list[Levels] = []
    for signs in matrix:
        row = []
        for start, levels in zip(starts, factors, strict=False):
            choosers = signs[start + 1 : start + 1 + (levels - 1).bit_length()] * signs[start]
            choice = sum(int(sign < 0) << place for place, sign in enumerate(choosers))
            row.append(1 + choice % levels if signs[start] > 0 else 0)
        made.append(tuple(row))
    return made


def indicators(factors: Sequence[int], levels: Levels) -> list[int]:
    """One number for each level of each factor besides the control's: 1 where the row has it, else
    0."""
    return [int(level == each) for level, count in zip(levels, factors, strict=True) for each in range(1, count + 1)]


def odd_columns(design: Design) -> NDArray[np.float64]:
    """One row per mirror pair: the indicators of its first less those of its second; what their
    difference is regressed on."""
    pairs = [[indicators(design.factors, design.row(index)) for index in pair] for pair in design.mirrors]
    return np.array([np.subtract(one, other) for one, other in pairs], dtype=np.float64)


def _full_rank(matrix: NDArray[np.float64]) -> bool:
    return bool(np.linalg.matrix_rank(matrix) == matrix.shape[1])
