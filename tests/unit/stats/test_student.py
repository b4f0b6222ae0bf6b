import math

import pytest
from scipy.stats import nct
from scipy.stats import t as student

from phpdyno.stats.student import found_from, quantile, simultaneous


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 10, 31, 100, 999])
@pytest.mark.parametrize("probability", [0.51, 0.9, 0.95, 0.975, 0.995, 0.9999])
def test_it_is_what_scipy_says(probability: float, freedom: int) -> None:
    assert quantile(probability, freedom) == pytest.approx(student.ppf(probability, freedom), rel=1e-9)


def test_it_is_symmetric_about_zero() -> None:
    assert quantile(0.5, 7) == pytest.approx(0.0, abs=1e-12)
    assert quantile(0.025, 2) == -quantile(0.975, 2)


def test_the_tables_of_student() -> None:
    assert round(quantile(0.975, 2), 4) == 4.3027
    assert round(quantile(0.975, 1), 4) == 12.7062


def test_several_intervals_hold_together() -> None:
    assert simultaneous(0.05, 1, 7) == pytest.approx(quantile(0.975, 7))
    # Sidak: a little narrower than Bonferroni.
    assert quantile(1 - 0.025 / 2, 7) < simultaneous(0.05, 10, 7) < quantile(1 - 0.025 / 10, 7)
    with pytest.raises(ValueError, match="interval"):
        simultaneous(0.05, 0, 7)


@pytest.mark.parametrize(("probability", "freedom"), [(0.0, 3), (1.0, 3), (math.nan, 3), (0.9, 0)])
def test_refuses(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="quantile"):
        quantile(probability, freedom)


@pytest.mark.parametrize("freedom", [2, 3, 5, 8, 30, 200])
@pytest.mark.parametrize("reach", [2.0, 4.0, 7.0, 20.0])
def test_an_effect_of_the_size_that_is_named_is_found_in_nine_of_ten(reach: float, freedom: int) -> None:
    """Scipy's noncentral t as a second opinion."""
    assert nct.sf(reach, freedom, found_from(reach, freedom)) == pytest.approx(0.9, abs=0.015)
    assert found_from(reach, 10**9) == pytest.approx(reach + 1.2816)
    with pytest.raises(ValueError, match="freedom"):
        found_from(reach, 0)
