import math

import numpy as np
import pytest

from phpdyno.stats.autocorrelation import lag_one


def test_agrees_with_the_definition() -> None:
    values = np.random.default_rng(1).normal(size=30)
    away = values - values.mean()
    r, _ = lag_one(values.tolist())
    assert r == pytest.approx(float((away[1:] * away[:-1]).sum() / (away**2).sum()))


def test_warns_only_beyond_the_band_and_with_enough_values() -> None:
    alternating = [1.0, -1.0] * 10
    r, warns = lag_one(alternating)
    assert r == pytest.approx(-0.95)
    assert warns
    assert lag_one(alternating[:8])[1] is False
    assert lag_one([float(each) for each in range(10)])[1] is True


@pytest.mark.parametrize("values", [[], [1.0], [0.5] * 20])
def test_nothing_to_correlate(values: list[float]) -> None:
    assert lag_one(values) == (0.0, False)


def test_refuses_what_is_not_a_number() -> None:
    with pytest.raises(ValueError, match="finite"):
        lag_one([0.0, math.nan])


def test_false_alarms_are_about_one_in_twenty() -> None:
    rng = np.random.default_rng(2)
    alarms = sum(lag_one(rng.normal(size=40).tolist())[1] for _ in range(1000))
    assert 20 <= alarms <= 70
