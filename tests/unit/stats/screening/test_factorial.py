from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phpdyno.stats.screening.factorial import CONTROL, ORDERS, Design, design_for, hadamard, indicators, least_rows, odd_columns, on

MOST = 2 * ORDERS[-1] - 1


def signs(design: Design) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """All rows and the control, as 1 and -1."""
    return np.array([on(row) for row in (*design.rows, design.row(CONTROL))], dtype=np.float64)


@pytest.mark.parametrize("order", ORDERS)
def test_a_hadamard_matrix_has_orthogonal_columns(order: int) -> None:
    matrix = hadamard(order)
    assert set(np.unique(matrix)) <= {-1, 1}
    assert np.array_equal(matrix.T @ matrix, order * np.eye(order))
    assert (matrix[0] == 1).all()
    assert (matrix[:, 0] == 1).all()


@pytest.mark.parametrize("order", [0, 3, 28, 64])
def test_an_order_that_is_not_made(order: int) -> None:
    with pytest.raises(ValueError, match="order"):
        hadamard(order)


@pytest.mark.parametrize("knobs", range(2, 25))
def test_main_effects_are_free_of_interactions_at_resolution_four(knobs: int) -> None:
    design = design_for([1] * knobs, least_rows([1] * knobs, 4))
    seen = signs(design)
    assert design.resolution >= 4
    assert np.array_equal(seen.T @ seen, len(seen) * np.eye(knobs))
    assert not seen.sum(axis=0).any()
    for one, other in combinations(range(knobs), 2):
        assert not (seen.T @ (seen[:, one] * seen[:, other])).any()


@pytest.mark.parametrize(("knobs", "rows"), [(2, 3), (3, 7), (4, 7), (8, 15), (9, 23), (12, 23), (16, 31), (20, 39), (24, 47)])
def test_resolution_four_takes_twice_the_factors(knobs: int, rows: int) -> None:
    assert least_rows([1] * knobs, 4) == rows


@pytest.mark.parametrize("knobs", range(2, 8))
def test_interactions_are_apart_where_the_rows_allow(knobs: int) -> None:
    design = design_for([1] * knobs, MOST)
    seen = signs(design)
    assert design.resolution == 5
    for one, other in combinations(combinations(range(knobs), 2), 2):
        assert not (seen[:, one[0]] * seen[:, one[1]]) @ (seen[:, other[0]] * seen[:, other[1]])


@pytest.mark.parametrize("knobs", range(2, 25))
def test_fewer_rows_mix_main_effects_with_interactions_and_say_so(knobs: int) -> None:
    design = design_for([1] * knobs, least_rows([1] * knobs))
    # Three and four knobs need as many rows at resolution 4 as at 3 or are a full factorial.
    assert (design.resolution, design.mirrors) == (3, ()) or knobs in {2, 3, 4}
    seen = signs(design)
    assert np.array_equal(seen.T @ seen, len(seen) * np.eye(knobs))


def test_too_few_rows_are_refused_with_enough() -> None:
    with pytest.raises(ValueError, match="11"):
        design_for([1] * 10, 10)
    assert design_for([1] * 10, 11).resolution == 3


@pytest.mark.parametrize("factors", [[], [0], [1, -1], [1] * 60])
def test_refuses_what_is_no_design(factors: list[int]) -> None:
    with pytest.raises(ValueError, match=r"factor|levels"):
        design_for(factors, MOST)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=8), st.integers(1, MOST))
def test_whatever_the_levels(factors: list[int], most: int) -> None:
    if most < least_rows(factors):
        with pytest.raises(ValueError, match="it takes"):
            design_for(factors, most)
        return
    design = design_for(factors, most)
    assert len(design.rows) <= most
    assert (0,) * len(factors) not in design.rows
    for factor, count in enumerate(factors):
        seen = {row[factor] for row in design.rows}
        assert seen <= set(range(count + 1))
        assert seen >= set(range(1, count + 1))
    if design.mirrors:
        named = [index for pair in design.mirrors for index in pair]
        assert CONTROL in named
        assert sorted(index for index in named if index != CONTROL) == list(range(len(design.rows)))
        for one, other in design.mirrors:
            assert all((a == 0) != (b == 0) for a, b in zip(design.row(one), design.row(other), strict=True))
        assert np.linalg.matrix_rank(odd_columns(design)) == sum(factors)


def test_levels_share_the_rows_in_which_a_factor_is_on() -> None:
    design = design_for([3, 1, 1, 1, 1], 23)
    counts = [sum(row[0] == level for row in design.rows) for level in (1, 2, 3)]
    assert sum(counts) in {8, 12}
    assert min(counts) >= 2


def test_indicators() -> None:
    assert indicators((2, 1, 3), (2, 0, 1)) == [0, 1, 0, 1, 0, 0]
