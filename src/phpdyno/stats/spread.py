"""A difference of two arms over a handful of fresh starts, and what chance alone makes of it.
Pure."""

import math
import statistics
from collections.abc import Sequence

from phpdyno.stats.student import simultaneous

CONFIDENCE = 0.95
"""Of all differences of a page together."""


def spread_of(differences: Sequence[float], together: int) -> float | None:
    """Half the width of the interval of the mean of paired differences, one for each start, such
    that `together` intervals hold at once.

    None for a single one. Differences that are all the same have no spread. Raises ValueError
    without an interval to hold.
    """
    if len(differences) < 2:
        return None
    deviation = statistics.stdev(differences)
    if not deviation:
        return 0.0
    return simultaneous(1.0 - CONFIDENCE, together, len(differences) - 1) * deviation / math.sqrt(len(differences))
