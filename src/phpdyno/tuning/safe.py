"""Which of many things can be had together: the largest set that a test lets pass, found by
halving."""

from collections.abc import Callable, Sequence

from msgspec import Struct


class Subset(Struct, frozen=True):
    """Items that have passed the test together, unless there are none, and how many could not be
    tested."""

    passed: tuple[str, ...]
    untested: int


def safe_subset(items: Sequence[str], is_safe: Callable[[Sequence[str]], bool], most_tests: int) -> Subset:
    """Items that pass the test together, found by `most_tests` tests at most.

    k culprits among n items take about k x log2(n) tests.
    """
    left = most_tests
    untested = 0

    def passing(kept: tuple[str, ...], more: Sequence[str]) -> tuple[str, ...]:
        """`kept` has passed; the longest that can be had of it and `more`."""
        nonlocal left, untested
        if not more:
            return kept
        if left < 1:
            untested += len(more)
            return kept
        left -= 1
        if is_safe((*kept, *more)):
            return (*kept, *more)
        if len(more) == 1:
            return kept
        middle = len(more) // 2
        return passing(passing(kept, more[:middle]), more[middle:])

    passed = passing((), tuple(items))
    return Subset(passed, untested)
