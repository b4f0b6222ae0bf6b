import numpy as np
import pytest
from numpy.typing import NDArray

from phpdyno.stats.arrivals import HOUR_S, GapMoments, arrival_of, gap_cv2, peak_second


def hours_of(counts: NDArray[np.int64], start: int = 0) -> dict[int, NDArray[np.int64]]:
    padded = np.zeros(-(-(start + counts.size) // HOUR_S) * HOUR_S, dtype=np.int64)
    padded[start : start + counts.size] = counts
    return {hour: padded[hour * HOUR_S : (hour + 1) * HOUR_S] for hour in range(padded.size // HOUR_S)}


def test_the_formula_on_plain_counts() -> None:
    counts = np.random.default_rng(3).negative_binomial(2, 0.3, size=5000).astype(np.int64) + 1
    inner = counts[1:-1]
    arrival = arrival_of(hours_of(counts, start=1234))
    assert arrival.span_s == counts.size
    assert arrival.rate_per_s == pytest.approx(counts.mean())
    assert arrival.peak_per_s == counts.max()
    assert arrival.dispersion == pytest.approx(inner.var(ddof=1) / inner.mean())


def test_poisson_is_1_in_both() -> None:
    counts = np.random.default_rng(4).poisson(20, size=20_000).astype(np.int64)
    arrival = arrival_of(hours_of(counts))
    assert arrival.dispersion == pytest.approx(1.0, abs=0.05)  # standard error 0.01
    assert arrival.minute_dispersion == pytest.approx(1.0, abs=0.05)


def test_a_days_rise_and_fall_is_no_burst_within_minutes() -> None:
    rate = 50 * (1 + np.sin(np.arange(6 * HOUR_S) / HOUR_S * np.pi / 3))
    counts = np.random.default_rng(5).poisson(rate + 1).astype(np.int64)
    arrival = arrival_of(hours_of(counts))
    assert arrival.dispersion is not None
    assert arrival.dispersion > 10
    assert arrival.minute_dispersion == pytest.approx(1.0, abs=0.05)


def test_a_steady_beat_is_0() -> None:
    arrival = arrival_of(hours_of(np.full(600, 3, dtype=np.int64)))
    assert arrival.dispersion == pytest.approx(0.0)
    assert arrival.minute_dispersion == pytest.approx(0.0)


def test_seconds_cut_at_the_ends_are_left_out() -> None:
    counts = np.full(602, 300, dtype=np.int64)
    counts[[0, -1]] = 1
    assert arrival_of(hours_of(counts)).dispersion == pytest.approx(0.0)


def test_too_short_a_log_has_a_rate_only() -> None:
    arrival = arrival_of(hours_of(np.array([5], dtype=np.int64), start=100))
    assert (arrival.rate_per_s, arrival.span_s, arrival.peak_per_s) == (5.0, 1, 5)
    assert (arrival.dispersion, arrival.minute_dispersion, arrival.gap_cv2) == (None, None, None)


def test_nothing_between_the_ends() -> None:
    counts = np.zeros(100, dtype=np.int64)
    counts[[0, -1]] = 2
    arrival = arrival_of(hours_of(counts))
    assert (arrival.dispersion, arrival.minute_dispersion) == (None, None)


def test_hours_without_traffic_count_and_need_not_be_there() -> None:
    one = np.zeros(HOUR_S, dtype=np.int64)
    one[0] = 1
    assert arrival_of({0: one, 1000: one}) == arrival_of({0: one, 7: np.zeros(HOUR_S), 1000: one})
    assert arrival_of({0: one, 1000: one}).span_s == 1000 * HOUR_S + 1


def test_the_busiest_second_is_the_first_of_equals() -> None:
    counts = np.zeros(2 * HOUR_S, dtype=np.int64)
    counts[[10, 20, HOUR_S + 5]] = 4
    assert peak_second(hours_of(counts)) == 10


@pytest.mark.parametrize("hours", [{}, {0: np.zeros(HOUR_S)}, {0: [1, 2]}, {0: np.full(HOUR_S, -1)}])
def test_what_is_no_count(hours: dict[int, object]) -> None:
    with pytest.raises(ValueError, match=r"no arrival|3600 counts"):
        arrival_of(hours)  # type: ignore[arg-type]


@pytest.mark.parametrize(("shape", "expected"), [(1.0, 1.0), (4.0, 0.25), (0.25, 4.0)])
def test_gaps_of_known_variation(shape: float, expected: float) -> None:
    gaps = np.random.default_rng(6).gamma(shape, 1 / shape, size=200_000)
    moments = GapMoments(gaps.size, float(gaps.mean()), float(((gaps - gaps.mean()) ** 2).sum()))
    assert gap_cv2(moments) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("moments", [GapMoments(), GapMoments(99, 1.0, 99.0), GapMoments(500, 0.0, 0.0)])
def test_too_few_gaps_or_none_at_all(moments: GapMoments) -> None:
    assert gap_cv2(moments) is None


def test_the_busiest_minute_of_the_clock() -> None:
    counts = np.zeros(3600, dtype=np.int64)
    counts[600:660] = 2  # a whole minute of the clock
    counts[30:90] = 3  # as many seconds, on two of them
    assert arrival_of({5: counts}).busiest_minute_per_s == pytest.approx(2.0)
    short = np.zeros(3600, dtype=np.int64)
    short[:20] = 3
    assert arrival_of({5: short}).busiest_minute_per_s is None
