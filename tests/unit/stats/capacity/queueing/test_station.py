import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.stats.capacity.queueing.station import QueueOutcome, passage


def run(arrivals: list[float], works: list[float], speeds: list[float], backlog: int | None = None) -> QueueOutcome:
    return passage(np.array(arrivals, dtype=float), np.array(works, dtype=float), np.array(speeds, dtype=float), backlog)


def test_one_worker_is_a_queue() -> None:
    found = run([0, 1, 2, 20], [5, 2, 1, 3], [1.0])
    assert found.response_s.tolist() == [5, 6, 6, 3]
    assert found.wait_s.tolist() == [0, 4, 5, 0]
    assert found.waited.tolist() == [False, True, True, False]


def test_two_workers_on_one_core_share_it() -> None:
    """The first is alone for 1 s, then each gets half: the second (2 s of work) ends after 4 s,
    then the first has 1 s left."""
    found = run([0, 1], [4, 2], [1.0, 0.5])
    assert found.response_s.tolist() == [6, 4]
    assert not found.waited.any()


def test_two_sleeping_workers_do_not_disturb_each_other() -> None:
    assert run([0, 1, 1.5], [4, 2, 1], [1.0, 1.0]).response_s.tolist() == [4, 2, 2.5]


def test_what_waits_by_itself_is_not_slowed_down() -> None:
    """Two requests that sleep for 3 s and then compute for 1 s on one core, the second a second
    later."""
    arrivals, works, speeds = np.array([0.0, 1.0, 10.0]), np.array([1.0, 1.0, 2.0]), np.array([1.0, 0.5])
    found = passage(arrivals, works, speeds, apart_s=np.array([3.0, 3.0, 0.0]))
    # The first works alone from 3 on, at half speed (two are in service): until 5. The second from
    # 4 on: half a second done, then alone.
    assert found.response_s.tolist() == [5.0, 4.5, 2.0]


def test_who_finds_no_room_is_refused() -> None:
    found = run([0, 1, 2, 3, 11], [10, 1, 1, 1, 1], [1.0], backlog=1)
    assert found.response_s.tolist() == [10, 10, np.inf, np.inf, 1]
    assert found.wait_s.tolist() == [0, 9, np.inf, np.inf, 0]
    assert found.waited.tolist() == [False, True, False, False, False]


def test_what_ends_as_another_arrives_makes_room_first() -> None:
    assert not run([0, 5], [5, 1], [1.0], backlog=0).waited.any()
    assert run([0, 5], [5, 1], [1.0], backlog=0).response_s.tolist() == [5, 1]


gaps = st.lists(st.floats(0.0, 3.0), min_size=1, max_size=60)


def by_steps(arrivals: list[float], works: list[float], speeds: list[float]) -> list[float]:
    """Another way to the same: who is in service, how much each has left, from event to event."""
    left: dict[int, float] = {}
    queue: list[int] = []
    ended = [0.0] * len(arrivals)
    now, following = 0.0, 0
    while left or queue or following < len(arrivals):
        end = now + min(left.values()) / speeds[len(left) - 1] if left else np.inf
        arrival = arrivals[following] if following < len(arrivals) else np.inf
        step = min(end, arrival) - now
        if left:
            speed = speeds[len(left) - 1]
            left = {who: rest - step * speed for who, rest in left.items()}
        now = min(end, arrival)
        if end <= arrival:
            who = min(left, key=lambda each: left[each])
            del left[who]
            ended[who] = now
            if queue:
                first = queue.pop(0)
                left[first] = works[first]
        else:
            if len(left) < len(speeds):
                left[following] = works[following]
            else:
                queue.append(following)
            following += 1
    return [end - arrival for end, arrival in zip(ended, arrivals, strict=True)]


@given(gaps, st.integers(0, 2**32), st.lists(st.floats(0.1, 2.0), min_size=1, max_size=5))
def test_it_is_what_a_count_from_event_to_event_gives(between: list[float], seed: int, speeds: list[float]) -> None:
    arrivals = np.cumsum(between).tolist()
    works = np.random.default_rng(seed).exponential(1.0, len(arrivals)).tolist()
    assert run(arrivals, works, speeds).response_s.tolist() == pytest.approx(by_steps(arrivals, works, speeds), rel=1e-6, abs=1e-6)


@given(gaps, st.integers(0, 2**32), st.integers(1, 6))
def test_another_worker_of_equal_speed_never_makes_a_request_wait_longer(between: list[float], seed: int, workers: int) -> None:
    arrivals = np.cumsum(between).tolist()
    works = np.random.default_rng(seed).exponential(1.0, len(arrivals)).tolist()
    fewer, more = run(arrivals, works, [1.0] * workers), run(arrivals, works, [1.0] * (workers + 1))
    assert (more.wait_s <= fewer.wait_s + 1e-9).all()
