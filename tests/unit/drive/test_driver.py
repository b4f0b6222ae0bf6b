"""What a slot's failures are called."""

from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from phpdyno.drive.driver import GIVEN_UP, in_words


@pytest.mark.parametrize("made", [dict, Counter])
def test_failures_are_told_the_most_frequent_first_and_those_given_up_last(made: Callable[[Mapping[str, int]], Mapping[str, int]]) -> None:
    """As they were counted, and as a record has them."""
    kinds = made({GIVEN_UP: 7, "closed_early": 1, "wrong_status (502)": 3})
    assert in_words(kinds) == "3 wrong_status (502), 1 closed_early; the rest (7) not sent or not waited for"
    assert in_words(made({"closed_early": 1})) == "1 closed_early"
    assert in_words(made({})) == ""
