from collections import Counter
from random import Random

from phpdyno.access_log.frequent import Answered, Frequent


def test_exact_until_it_is_full() -> None:
    frequent = Frequent(capacity=4)
    for key in "aabbbcd" + "efgh":
        frequent.add(key, 200)
    assert frequent.undercount == 0
    assert frequent.ranked()[:3] == [("b", 3), ("a", 2), ("c", 1)]


def test_bounds_hold_when_it_overflows() -> None:
    rng, frequent, real = Random(7), Frequent(capacity=20), Counter[str]()
    for _ in range(20_000):
        key = str(int(rng.paretovariate(0.5)))
        real[key] += 1
        frequent.add(key, 200)
    held = dict(frequent.ranked())
    assert 0 < frequent.undercount <= real.total() / 21
    assert len(held) <= 40
    for key, count in real.items():
        assert count - frequent.undercount <= held.get(key, 0) <= count
    assert [key for key, _ in frequent.ranked()[:3]] == [key for key, _ in real.most_common(3)]


def test_status_is_the_mode_and_the_smaller_of_equals() -> None:
    frequent = Frequent()
    for status in (302, 200, 200, 302):
        frequent.add("a", status)
    assert frequent.answered("a", 4) == Answered(200, 4)
    frequent.note("a", 302)
    frequent.note("never held", 500)
    assert frequent.answered("a", 4) == Answered(302, 4)
    assert len(frequent.ranked()) == 1


def test_a_200_beats_redirects_for_good_and_they_are_counted_apart() -> None:
    frequent = Frequent()
    for status in (301, 301, 308, 200, 302, 404):
        (frequent.note if status == 404 else frequent.add)("a", status)
    assert frequent.answered_whole("a")
    assert frequent.answered("a", 5) == Answered(200, 2, moved=3)


def test_what_is_always_redirected_stays_so() -> None:
    frequent = Frequent()
    for _ in range(3):
        frequent.add("old", 301)
    assert not frequent.answered_whole("old")
    assert frequent.answered("old", 3) == Answered(301, 3)
