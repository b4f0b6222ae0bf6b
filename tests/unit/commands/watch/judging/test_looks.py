"""Looks within an interval, requests that are stuck, and what is kept of all intervals."""

import pytest

from phpdyno.commands.watch.found import Limit, StuckWorker
from phpdyno.commands.watch.judging.history import History
from phpdyno.commands.watch.judging.keeping import Keeper
from phpdyno.commands.watch.judging.stuck import Running, Usual
from phpdyno.commands.watch.reading.levels import Levels
from phpdyno.model.runs.readings import QueueLevel
from tests.support.made_up.moments import host, pool


def test_means_maxima_and_shares_of_an_interval() -> None:
    levels = Levels()
    for busy, waiting in ((1, 0), (4, 3), (4, 6), (3, 0)):
        levels.add(busy, 4, QueueLevel(waiting, 5))
    seen = levels.take((9, 9))
    assert (seen.active, seen.most_active, seen.all_busy) == (3.0, 4, 0.5)
    assert (seen.queue, seen.most_queue, seen.queue_limit, seen.full) == (2.25, 6, 5, 1), "the kernel takes one more than the limit"
    later = levels.take(None)
    assert (later.active, later.queue, later.full) == (None, None, None)


def test_where_nothing_is_quick_to_look_at_the_last_reading_counts() -> None:
    levels = Levels()
    levels.add(None, None, None)
    seen = levels.take((2, 2))
    assert (seen.active, seen.most_active, seen.all_busy, seen.queue) == (2.0, 2, 1.0, None)
    assert levels.take(None).active is None


def test_what_is_usual_is_learnt_from_requests_that_ended_each_once() -> None:
    usual = Usual()
    assert usual.threshold_s() == 60.0
    for turn in range(1, 31):
        usual.add([(7, turn, 2.0), (8, 1, 500.0), (9, 0, 0.0)])
    assert usual.threshold_s() == pytest.approx(20.0), "one request of 500 s is not what 95 % take"
    assert usual.stuck([Running(7, 19.0), Running(8, 21.0), Running(9, 100.0)]) == [Running(9, 100.0), Running(8, 21.0)]


def test_ten_seconds_are_the_least_that_is_called_stuck() -> None:
    usual = Usual()
    for turn in range(1, 31):
        usual.add([(7, turn, 0.002)])
    assert usual.stuck([Running(7, 9.9)]) == []
    assert usual.stuck([Running(7, 10.1)]) == [Running(7, 10.1)]


def test_a_history_sums_up_what_it_is_given() -> None:
    history = History()
    for second in range(120):
        busy = 4.0 if second < 60 else 2.0
        history.add(pool(active=busy, most_active=5, queue=0.5, most_queue=2, run_queue_cores=0.5, blocked_cores=busy - 0.9), host())
    seen = history.seen()
    assert (seen.watched_s, seen.requests, seen.max_children, seen.cores) == (120.0, 4800, 5, 2)
    assert seen.busiest == pytest.approx(4.0), "busy, without waiting for a core, and the queue"
    assert seen.quietest == pytest.approx(2.0)
    assert seen.peak == 7
    assert seen.cpu_per_busy == pytest.approx(0.4 / 2.5)
    assert seen.blocked == pytest.approx((3.1 + 1.1) / 6)
    assert seen.private_kib == 20 << 10
    assert seen.room_kib == (12 << 20) + (130 << 10)
    assert seen.room_is == "this host's RAM"
    assert seen.limits == {"nothing": 1.0}
    assert (seen.full, seen.saturated, seen.stuck) == (0.0, 0.0, 0.0)


def test_stuck_workers_are_no_demand() -> None:
    history = History()
    held = tuple(StuckWorker(pid=pid, age_s=900.0) for pid in range(3))
    for _ in range(30):
        history.add(pool(active=5.0, most_active=5, all_busy=1.0, stuck=held, run_queue_cores=0.0, limit=Limit(kind="stuck")), host())
    seen = history.seen()
    assert seen.busiest == pytest.approx(2.0)
    assert seen.stuck == pytest.approx(3.0)
    assert (seen.peak, seen.saturated) == (2, 1.0)


def test_the_tightest_room_counts_and_full_cores_are_told_apart_by_whose_they_are() -> None:
    history = History()
    history.add(pool(memory_limit_kib=1 << 20, memory_used_kib=900 << 10), host(busy_cores=2.0))
    seen = history.seen()
    assert seen.room_kib == (1 << 20) - (900 << 10) + (130 << 10)
    assert seen.room_is == "its cgroup's memory limit"
    assert (seen.full, seen.full_by_others) == (1.0, True)
    own = History()
    own.add(pool(cpu_cores=1.9), host(busy_cores=2.0))
    assert own.seen().full_by_others is False


def test_an_empty_history_says_nothing() -> None:
    seen = History().seen()
    assert (seen.busiest, seen.peak, seen.requests, seen.cpu_per_busy) == (None, None, None, None)


def test_a_pool_of_every_master_is_kept_by_itself() -> None:
    keeper = Keeper()
    keeper.files(100, "www", {"pm": "dynamic"}, 3)
    keeper.add(host(), (pool(active=3.0), pool(master=200, active=None, most_active=None)))
    first, other = keeper.advice()
    assert (first.master, first.high, other.master, other.high) == (100, 3, 200, None)
    assert any("pm = dynamic, static is in effect" in warning for warning in first.warnings)
    assert keeper.together() == ""
