import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.stats.change import Percent, change_of, said, signed, within


@pytest.mark.parametrize(
    ("ratio", "less_is_better", "words"),
    [
        ((1.080, 1.065, 1.095), True, "−7.4 % (−8.7 to −6.1)"),
        ((1.0143, 1.0002, 1.0286), True, "−1.41 % (−2.78 to −0.02)"),
        ((0.988, 0.964, 1.014), True, "+1.2 % (−1.4 to +3.7)"),
        ((0.7, 0.65, 0.75), True, "+43 % (+33 to +54)"),
        ((5.9, 5.7, 6.1), False, "+490 % (+470 to +510)"),
        ((1.0002, 1.0001, 1.0003), False, "+0.020 % (+0.010 to +0.030)"),
        ((1.0, 1.0, 1.0), False, "0.0 % (0.0 to 0.0)"),
    ],
)
def test_a_ratio_as_percent(ratio: tuple[float, float, float], less_is_better: bool, words: str) -> None:
    assert signed(change_of(*ratio, less_is_better=less_is_better)) == words


def test_without_an_interval_there_is_no_number() -> None:
    assert signed(change_of(1.2, None, None, less_is_better=True)) == "no interval yet"
    assert signed(None) == "–"
    assert said(Percent(-0.1, None, None), "less", "more", "95 %") == "no interval yet (less or more)"


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        ((1.080, 1.027, 1.137), "7.4 % less CPU (95 % CI 2.6 to 12.0 %)"),
        ((1.02, 0.99, 1.05), "2.0 % less CPU (95 % CI 1.0 % more to 4.8 % less)"),
        ((0.95, 0.93, 0.97), "5.3 % more CPU (95 % CI 3.1 to 7.5 %)"),
    ],
)
def test_a_change_in_words(ratio: tuple[float, float, float], words: str) -> None:
    assert said(change_of(*ratio, less_is_better=True), "less CPU", "more CPU", "95 %") == words


def test_the_bound_of_several_is_that_of_the_widest() -> None:
    assert within([Percent(0.0, -0.01, 0.021), Percent(0.0, -0.005, 0.004)]) == "±2.1 %"
    assert within([Percent(0.0, -0.01, 0.021), Percent(0.0, None, None)]) == ""
    assert within([]) == ""


@given(st.floats(0.2, 5.0), st.floats(1.0001, 1.5), st.booleans())
def test_the_ends_stand_on_both_sides_of_the_figure(ratio: float, width: float, less_is_better: bool) -> None:
    seen = change_of(ratio, ratio / width, ratio * width, less_is_better=less_is_better)
    assert seen.low is not None
    assert seen.high is not None
    assert seen.low <= seen.value <= seen.high
    assert seen.decided == (not ratio / width <= 1.0 <= ratio * width)
