import math

import numpy as np
import pytest

from phpdyno.stats.percentile import percentile


def test_nearest_rank() -> None:
    values = np.arange(1, 101, dtype=np.uint64)
    assert percentile(values, 50) == 50
    assert percentile(values, 99) == 99
    assert percentile(values, 0) == 1
    assert percentile(values, 100) == 100
    assert percentile([7], 99) == 7
    assert percentile([10, 30, 20], 50) == 20


@pytest.mark.parametrize("thousands", [1, 2, 7, 20, 41])
def test_a_share_that_is_a_whole_number_of_values_is_that_many(thousands: int) -> None:
    values = np.repeat(np.array([1, 5], dtype=np.uint64), [999 * thousands, thousands])
    assert percentile(values, 99.9) == 1
    assert percentile(values, 99.91) == 5
    many = np.repeat(np.array([1, 5], dtype=np.uint64), [9999 * thousands, thousands])
    assert percentile(many, 99.99) == 1
    assert percentile(many, 99.991) == 5


@pytest.mark.parametrize(("values", "percent"), [([], 50), ([1], 101), ([1], -1), ([math.nan], 50), ([1], math.nan)])
def test_refuses(values: list[float], percent: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile(values, percent)
