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


@pytest.mark.parametrize(("values", "percent"), [([], 50), ([1], 101), ([1], -1), ([math.nan], 50), ([1], math.nan)])
def test_refuses(values: list[float], percent: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile(values, percent)
