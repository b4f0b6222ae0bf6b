import math

import pytest
from msgspec import structs

from phpdyno.model.runs.tune import Goal
from phpdyno.tuning.goals import RAILS, GoalReadings, Rails, breaches, gain, spent_elsewhere

PLAIN = GoalReadings(requests=1000, failed=0, cpu_ns=30_000_000_000, drive_ns=40_000_000_000, p99_ns=50_000_000, memory_kib=20_000)


def changed(**fields: int | None) -> GoalReadings:
    return structs.replace(PLAIN, **fields)


def rails(treated: GoalReadings, blocks: int = 12, allowed: Rails = RAILS) -> list[str]:
    return [each.rail for each in breaches([PLAIN] * blocks, [treated] * blocks, allowed)]


@pytest.mark.parametrize(
    ("goal", "field", "half"),
    [
        ("cpu", "cpu_ns", 15_000_000_000),
        ("throughput", "drive_ns", 20_000_000_000),
        ("p99", "p99_ns", 25_000_000),
        ("memory", "memory_kib", 10_000),
    ],
)
def test_half_of_it_is_twice_as_good(goal: Goal, field: str, half: int) -> None:
    assert gain(goal, PLAIN, changed(**{field: half})) == pytest.approx(math.log(2.0))
    assert gain(goal, changed(**{field: half}), PLAIN) == pytest.approx(-math.log(2.0))
    assert gain(goal, PLAIN, changed(**{field: 0})) is None


@pytest.mark.parametrize(("goal", "field"), [("p99", "p99_ns"), ("memory", "memory_kib")])
def test_what_was_not_read_is_no_gain(goal: Goal, field: str) -> None:
    assert gain(goal, PLAIN, changed(**{field: None})) is None


def test_failed_requests_are_no_completions_and_make_cpu_incomparable() -> None:
    assert gain("throughput", PLAIN, changed(failed=500)) == pytest.approx(-math.log(2.0))
    assert gain("cpu", PLAIN, changed(failed=1)) is None
    assert gain("throughput", PLAIN, changed(failed=1000)) is None


def test_the_same_breaks_nothing() -> None:
    assert rails(PLAIN) == []


def test_memory_beyond_what_is_allowed_is_told_in_words() -> None:
    assert rails(changed(memory_kib=21_900)) == []
    (found,) = breaches([PLAIN] * 3, [changed(memory_kib=25_000)] * 3)
    assert found.words == "each worker holds 4.9 MiB (25%) more, 10% is allowed"
    assert rails(changed(memory_kib=25_000), allowed=Rails(memory=0.3)) == []
    assert rails(changed(memory_kib=None)) == []


def test_the_percentile_breaks_its_rail_when_that_is_certain() -> None:
    assert rails(changed(p99_ns=60_000_000)) == ["p99"]
    assert rails(changed(p99_ns=54_000_000)) == []
    # Too few blocks to be certain of anything.
    assert rails(changed(p99_ns=60_000_000), blocks=3) == []
    scattered = [changed(p99_ns=value) for value in (20_000_000, 200_000_000) * 6]
    assert breaches([PLAIN] * 12, scattered) == ()


def test_of_few_answers_it_is_the_slowest_and_called_that() -> None:
    few, slow = changed(requests=40), changed(requests=40, p99_ns=60_000_000)
    (found,) = breaches([few] * 12, [slow] * 12)
    assert (found.rail, found.words.partition(" is ")[0]) == ("p99", "the slowest answer of a block")
    (found,) = breaches([PLAIN] * 12, [changed(p99_ns=60_000_000)] * 12)
    assert found.words.startswith("the 99th percentile is 20% higher")


def test_errors_count_when_they_are_more_than_the_controls() -> None:
    assert rails(changed(failed=1), blocks=1) == []
    assert rails(changed(failed=20)) == ["errors"]
    failing = changed(failed=20)
    assert breaches([failing] * 4, [failing] * 4) == ()


def test_words_of_failed_requests() -> None:
    (found,) = breaches([PLAIN], [changed(failed=30)])
    assert found.words == "30 of 1000 requests failed, of the control's 0 of 1000"


@pytest.mark.parametrize("numbers", [(0, 0), (2, 1)])
def test_rails_need_the_same_blocks(numbers: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="blocks"):
        breaches([PLAIN] * numbers[0], [PLAIN] * numbers[1])


def test_a_few_hundred_kib_are_no_matter_whatever_their_share() -> None:
    small, larger = changed(memory_kib=700), changed(memory_kib=1_400)
    assert breaches([small], [larger]) == ()
    assert [each.rail for each in breaches([small], [changed(memory_kib=1_900)])] == ["memory"]


def test_a_saving_that_the_rest_of_the_stack_pays_for_is_told() -> None:
    before = changed(stack_ns=60_000_000_000)
    assert spent_elsewhere([before] * 6, [changed(stack_ns=57_000_000_000)] * 6) == ""
    assert "together cost no less" in spent_elsewhere([before] * 6, [changed(stack_ns=60_500_000_000)] * 6)
    # By request: half of them were valid, at the same total.
    assert spent_elsewhere([changed(stack_ns=60_000_000_000, failed=500)], [before]) == ""
    assert spent_elsewhere([PLAIN], [PLAIN]) == ""
