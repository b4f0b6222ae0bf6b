import math

import numpy as np
import pytest

from phpdyno.stats.comparison.autocorrelation import lag_one


def test_agrees_with_the_definition() -> None:
    values = np.random.default_rng(1).normal(size=30)
    away = values - values.mean()
    r, _ = lag_one(values.tolist())
    assert r == pytest.approx(float((away[1:] * away[:-1]).sum() / (away**2).sum()))


def test_warns_only_beyond_the_band_and_with_enough_values() -> None:
    rising = [float(each) for each in range(10)]
    assert lag_one(rising)[1] is True
    assert lag_one(rising[:9])[1] is False


def test_neighbours_that_differ_more_than_others_make_no_interval_too_narrow() -> None:
    r, warns = lag_one([1.0, -1.0] * 10)
    assert r == pytest.approx(-0.95)
    assert not warns
    # The claim itself: the mean of such series scatters less than its estimated standard error
    # says.
    noise = np.random.default_rng(3).normal(size=(2000, 21))
    series = noise[:, 1:] - 0.8 * noise[:, :-1]
    assert np.median([lag_one(each.tolist())[0] for each in series[:100]]) < -0.3
    assert series.mean(axis=1).std() < 0.5 * np.median(series.std(axis=1, ddof=1)) / np.sqrt(20)


@pytest.mark.parametrize("values", [[], [1.0], [0.5] * 20])
def test_nothing_to_correlate(values: list[float]) -> None:
    assert lag_one(values) == (0.0, False)


def test_refuses_what_is_not_a_number() -> None:
    with pytest.raises(ValueError, match="finite"):
        lag_one([0.0, math.nan])


def test_false_alarms_are_about_one_in_eighty() -> None:
    """One side of the band, and a short series' r lies 1 / n below its expectation."""
    rng = np.random.default_rng(2)
    alarms = sum(lag_one(rng.normal(size=40).tolist())[1] for _ in range(2000))
    assert 10 <= alarms <= 45
