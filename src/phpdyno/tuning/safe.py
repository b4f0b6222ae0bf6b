"""Which of many things can be had together: the largest set that a test lets pass, found by halving."""

from collections.abc import Callable, Sequence


def safe_subset(items: Sequence[str], is_safe: Callable[[Sequence[str]], bool], most_tests: int) -> tuple[str, ...]:
    """Items that pass the test together; what could not be tested within `most_tests` tests is left out.

    k culprits among n items take about k x log2(n) tests. The answer has passed as a whole, unless it is empty.
    """
    left = most_tests

    def passing(kept: tuple[str, ...], more: Sequence[str]) -> tuple[str, ...]:
        """`kept` has passed; the longest that can be had of it and `more`."""
        nonlocal left
        if not more or left < 1:
            return kept
        left -= 1
        if is_safe((*kept, *more)):
            return (*kept, *more)
        if len(more) == 1:
            return kept
        middle = len(more) // 2
        return passing(passing(kept, more[:middle]), more[middle:])

    return passing((), tuple(items))
