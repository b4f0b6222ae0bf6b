import pytest

from phpdyno.access_log.clock import MOST_HOURS, LogClock
from phpdyno.access_log.times import Stamp
from phpdyno.stats.arrivals import HOUR_S


def test_gaps_of_starts_that_come_out_of_order() -> None:
    clock = LogClock()
    for seconds in (3.0, 1.0, 2.0, 5.0):
        clock.add(Stamp(seconds, fine=True))
    gaps = clock.gaps()
    assert gaps is not None
    assert gaps.count == 3
    assert gaps.mean_s == pytest.approx(4 / 3)
    assert gaps.squares_s2 == pytest.approx(2 / 3)


def test_one_that_comes_hopelessly_late_makes_no_gap() -> None:
    clock = LogClock()
    for number in range(10_000):
        clock.add(Stamp(1000.0 + number, fine=True))
    clock.add(Stamp(1.0, fine=True))
    gaps = clock.gaps()
    assert gaps is not None
    assert gaps.count == 9_999
    assert gaps.mean_s == pytest.approx(1.0)
    assert gaps.squares_s2 == pytest.approx(0.0)


def test_whole_seconds_have_no_gaps() -> None:
    clock = LogClock()
    clock.add(Stamp(1.5, fine=True))
    clock.add(Stamp(2.0))
    assert clock.gaps() is None


def test_hours_are_bounded() -> None:
    clock = LogClock()
    for hour in range(MOST_HOURS + 5):
        clock.add(Stamp(float(hour * HOUR_S)))
    clock.add(Stamp(0.0))
    clock.add(None)
    assert len(clock.hours) == MOST_HOURS
    assert clock.untimed == 6
    assert clock.hours[0][0] == 2
