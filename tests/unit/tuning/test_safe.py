from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.tuning.safe import Subset, safe_subset

Asked = list[tuple[str, ...]]


def without(culprits: set[str]) -> tuple[Asked, Callable[[Sequence[str]], bool]]:
    """What was asked so far, and a test that culprits fail."""
    asked: Asked = []

    def is_safe(items: Sequence[str]) -> bool:
        asked.append(tuple(items))
        return not culprits & set(items)

    return asked, is_safe


@pytest.mark.parametrize("culprits", [set(), {"3"}, {"0", "9"}, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}])
def test_only_culprits_are_left_out(culprits: set[str]) -> None:
    items = [str(number) for number in range(10)]
    _, is_safe = without(culprits)
    assert safe_subset(items, is_safe, 100) == Subset(tuple(each for each in items if each not in culprits), 0)


def test_what_was_not_tested_is_left_out_and_counted() -> None:
    asked, is_safe = without({"5"})
    found = safe_subset([str(number) for number in range(8)], is_safe, 2)
    assert (found, len(asked)) == (Subset(("0", "1", "2", "3"), 4), 2)


@given(st.sets(st.integers(0, 30)), st.integers(0, 40))
def test_the_answer_has_passed_as_a_whole(culprits: set[int], most: int) -> None:
    names = {str(each) for each in culprits}
    asked, is_safe = without(names)
    found = safe_subset([str(number) for number in range(31)], is_safe, most)
    assert len(asked) <= most
    assert not found.passed or (found.passed in asked and not names & set(found.passed))
    # What was left out by a test of its own is a culprit, all else that is missing was not tested.
    alone = {items[-1] for items in asked if names & set(items)}
    assert 31 - len(found.passed) - len(names & alone) <= found.untested <= 31 - len(found.passed)
