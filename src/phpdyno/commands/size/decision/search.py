"""Which pool is measured next, so that few measurements find the smallest one near the best
throughput. Pure."""

import math
from collections.abc import Mapping

NEAR = 0.97
"""Of the best throughput: a pool with less is too small."""
BEYOND = 4
"""Pools are doubled until one has so many times the workers of the smallest that is near the
best."""
STEP = 1.25
"""Neighbours that are closer than this are not told apart by a search; the confirmation holds the
answer against both."""


def knee_of(rates: Mapping[int, float]) -> int:
    """The fewest workers whose throughput is near the best. Raises ValueError without a
    measurement."""
    best = max(rates.values())
    return min(workers for workers, rate in rates.items() if rate >= NEAR * best)


def next_pool(rates: Mapping[int, float], *, most: int) -> int | None:
    """The next number of workers to measure, None when enough is known.

    `rates` are requests per second by workers, `most` is the largest pool that may be tried. First
    pools are doubled, from one worker on, until two doublings bring nothing; then the gap below the
    knee is halved (on a logarithmic scale) until it is narrow.
    """
    if not rates:
        return 1
    largest, knee = max(rates), knee_of(rates)
    if largest < most and largest < BEYOND * knee:
        return min(2 * largest, most)
    below = max((workers for workers in rates if workers < knee), default=None)
    if below is None or knee - below == 1 or knee <= STEP * below:
        return None
    between = round(math.sqrt(below * knee))
    return min(max(between, below + 1), knee - 1)


def neighbours(workers: int, *, most: int) -> tuple[int, ...]:
    """A smaller and a larger pool to hold an answer against, a fifth or a quarter away and at least
    one worker."""
    below, above = min(workers - 1, round(workers / STEP)), max(workers + 1, round(workers * STEP))
    return tuple(each for each in (below, above) if 1 <= each <= most)
