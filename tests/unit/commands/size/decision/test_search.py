import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.commands.size.decision.search import NEAR, knee_of, neighbours, next_pool


def search(rate: "dict[int, float] | None" = None, *, knee: int = 1, most: int = 400) -> dict[int, float]:
    """All pools that a search measures where throughput rises in proportion up to `knee`
    workers."""
    rates: dict[int, float] = {}
    while (workers := next_pool(rates, most=most)) is not None:
        assert workers not in rates, "no pool is measured twice"
        assert 1 <= workers <= most
        rates[workers] = float(min(workers, knee))
    return rates


@given(st.integers(1, 400), st.integers(1, 400))
def test_few_pools_find_the_knee_within_a_step(knee: int, most: int) -> None:
    rates = search(knee=knee, most=most)
    found = knee_of(rates)
    wanted = min(knee, most)
    assert NEAR * wanted <= found <= max(wanted + 1, 1.28 * wanted)
    assert len(rates) <= 2 * math.log2(max(2, most)) + 3


def test_full_cores_end_the_search_soon() -> None:
    assert sorted(search(knee=2)) == [1, 2, 4, 8]


def test_a_limit_ends_it() -> None:
    assert max(search(knee=300, most=20)) == 20


def test_a_pool_that_gets_slower_with_more_workers_has_its_knee_before() -> None:
    # fpm-tune #14: 403, 394, 383, 370, 311 requests/s at 2, 4, 6, 8, 12 workers of two full cores.
    assert knee_of({1: 250.0, 2: 403.0, 4: 394.0, 6: 383.0, 8: 370.0, 12: 311.0}) == 2


@pytest.mark.parametrize(
    ("workers", "most", "beside"), [(1, 400, (2,)), (2, 400, (1, 3)), (8, 400, (6, 10)), (100, 110, (80,)), (100, 400, (80, 125))]
)
def test_neighbours_are_a_step_away_and_within_the_limit(workers: int, most: int, beside: tuple[int, ...]) -> None:
    assert neighbours(workers, most=most) == beside


def test_nothing_measured_has_no_knee() -> None:
    with pytest.raises(ValueError, match="empty"):
        knee_of({})
