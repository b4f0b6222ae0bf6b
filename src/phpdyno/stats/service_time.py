"""How many answers a percentile needs, and the percentiles of the service time over the blocks of a
comparison."""

from collections.abc import Iterable
from statistics import median
from typing import Literal

from phpdyno.model.observation import Cost


def has_beyond(count: int, percent: float) -> bool:
    """Whether at least one of so many values lies beyond a percentile: 100 are needed for the 99th,
    which of fewer is the greatest.

    A hair's breadth for what 99.9 is in binary.
    """
    return count > 0 and count * (100.0 - percent) >= 100.0 - 1e-6


def service_ms(costs: Iterable[Cost], percent: Literal[50, 99]) -> float | None:
    """A percentile of the service time over blocks, milliseconds: the median of the blocks' own, of
    those that `has_beyond` allows it.

    None where those are less than half: of too few answers it would be the greatest.
    """
    blocks = [(cost.requests - cost.failed, cost.service_p50_ns if percent == 50 else cost.service_p99_ns) for cost in costs]
    known = [ns for valid, ns in blocks if has_beyond(valid, percent)]
    return median(known) / 1e6 if known and 2 * len(known) >= len(blocks) else None
