"""Figures, intervals, and when a target counts as reached."""

import math
from itertools import product

import pytest
from tools.bench.figures import ALPHA, Figure, Target, measured_text, median_figure, median_interval, ratio_figure, reached, share_figure
from tools.bench.load.load_core import ALPHA_ASIDE, ALPHA_EACH, WITH_TARGET, WITHOUT_TARGET
from tools.bench.results import Sizes

AT_MOST_ONE = Target("≤ 1.0×", at_most=1.0)
CLOSE = Target("within 3 %", at_least=1 / 1.03, at_most=1.03)


def figure(low: float | None, high: float | None, target: Target | None = AT_MOST_ONE) -> Figure:
    return Figure("a", "×", 0.9, low, high, "24 pairs", target)


@pytest.mark.parametrize(
    ("low", "high", "target", "word"),
    [
        (0.5, 0.6, AT_MOST_ONE, "yes"),
        (0.5, 1.0, AT_MOST_ONE, "yes"),
        (1.01, 1.2, AT_MOST_ONE, "no"),
        (0.99, 1.01, AT_MOST_ONE, "open"),
        (None, None, AT_MOST_ONE, "open"),
        (0.98, 1.02, CLOSE, "yes"),
        (0.9, 0.95, CLOSE, "no"),
        (1.05, 1.1, CLOSE, "no"),
        (0.9, 1.1, CLOSE, "open"),
        (0.9, 1.1, None, "–"),
    ],
)
def test_a_target_is_judged_on_the_interval(low: float | None, high: float | None, target: Target | None, word: str) -> None:
    assert reached(figure(low, high, target)) == word


def test_without_an_interval_there_is_no_number() -> None:
    assert measured_text(figure(None, None)) == "no interval yet (24 pairs)"
    assert measured_text(figure(0.88, 0.92)) == "0.900× (0.880 to 0.920; 24 pairs)"


def test_a_share_is_printed_in_percent_and_a_time_in_seconds() -> None:
    assert measured_text(Figure("a", "%", 0.0123, 0.01, 0.0145, "13 blocks")) == "1.23 % (1.00 to 1.45; 13 blocks)"
    assert measured_text(Figure("a", "s", 0.2345, 0.2, 3.456, "median of 20", None, "so")) == "0.234 s (0.2 to 3.46; median of 20; so)"


def test_microseconds_have_one_decimal() -> None:
    assert measured_text(median_figure("a", [1234.56] * 6, unit="µs")) == "1234.6 µs (1234.6 to 1234.6; median of 6)"


def test_all_ratios_of_the_load_core_share_what_may_go_wrong() -> None:
    assert pytest.approx(ALPHA) == WITH_TARGET * ALPHA_EACH + WITHOUT_TARGET * ALPHA_ASIDE


def test_a_ratio_is_the_geometric_mean_with_an_interval_symmetric_in_logs() -> None:
    seen = ratio_figure("a", [math.log(2.0) + shift for shift in (-0.01, 0.0, 0.01) * 4], alpha=0.05, target=AT_MOST_ONE)
    assert seen.estimate == pytest.approx(2.0)
    assert seen.low is not None
    assert seen.high is not None
    assert seen.low * seen.high == pytest.approx(4.0)
    assert seen.basis == "12 pairs"


def test_a_share_is_never_below_nothing() -> None:
    assert share_figure("a", [0.0, 0.1] * 6, of="blocks", target=AT_MOST_ONE).low == 0.0


def test_the_interval_of_a_median_holds_it_with_at_least_95_percent() -> None:
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) == (None, None)
    assert median_interval([6.0, 1.0, 2.0, 5.0, 3.0, 4.0]) == (1.0, 6.0)
    assert median_interval(list(map(float, range(1, 21)))) == (6.0, 15.0)  # the tables' ranks for n = 20
    # Every way in which ten values can fall on either side of the true median, all equally likely.
    low, high = median_interval(list(map(float, range(10))))
    assert low is not None
    assert high is not None
    missed = [sides for sides in product((0, 1), repeat=10) if not low < sum(sides) <= high]
    assert len(missed) / 2**10 <= 0.05
    assert median_figure("a", [1.0, 3.0, 2.0]).estimate == 2.0


def test_the_official_sizes_are_enough_for_every_interval() -> None:
    sizes = Sizes()
    for count in (sizes.pairs, sizes.rounds):
        for alpha in (ALPHA_EACH, ALPHA_ASIDE):
            assert ratio_figure("a", [0.0, 0.1] * (count // 2), alpha=alpha, target=CLOSE).low is not None
    for count in (sizes.help_runs, sizes.setup_runs, sizes.arm_starts, sizes.database_starts, sizes.open_slots):
        assert median_figure("a", [1.0] * count).low is not None


def test_large_figures_are_written_out() -> None:
    figure = Figure("make test", "s", 1038.1, 999.6, 12_345.0, "once")
    assert measured_text(figure) == "1,038 s (1,000 to 12,345; once)"
