"""The scale that all effects of a run share, so that the terminal and the page draw the same
picture. Pure."""

import math
from collections.abc import Iterable

_GAP = 4.0
"""A row that reaches this many times further than the next one would squeeze the others to nothing:
it is drawn beyond the edge."""

_ALWAYS_SHOWN = math.log(1.5)
"""Effects that people hope for stay on the scale, however narrow the others are."""

_LEAST = 1e-4
_NICE = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.025, 0.05, 0.1, 0.2, 0.25, 0.5)
_COARSE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.33, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, 50.0, 100.0)


Ends = tuple[float | None, float | None, float]
"""Low and high end (ratios, None without an interval) and margin of a row."""


def reach(spans: Iterable[Ends], beside: Iterable[Ends] = ()) -> float:
    """Half-width of the scale in log ratios: the furthest end of any interval, margins included,
    outliers (see `_GAP`) left out.

    `beside` are A/A comparisons: always on the scale, but however narrow, they make no outlier of
    an effect.
    """
    held, aa = list(spans), list(beside)
    bound = max([_LEAST, *(math.log1p(margin) for _, _, margin in (*held, *aa))])
    extents = sorted(_extents(held))
    while len(extents) > 1 and extents[-1] > max(_ALWAYS_SHOWN, _GAP * max(extents[-2], bound)):
        extents.pop()
    return 1.08 * max([bound, *extents, *_extents(aa)])


def _extents(spans: Iterable[Ends]) -> list[float]:
    return [max(abs(math.log(low)), abs(math.log(high))) for low, high, _ in spans if low is not None and high is not None]


def ticks(low: float, high: float, most: int = 7) -> list[float]:
    """At most `most` round ratios whose logarithms lie in [low, high], 1 among them when it
    fits."""
    inside = [ratio for ratio in _COARSE if low <= math.log(ratio) <= high]
    if high - low > 0.7:
        step = math.ceil(len(inside) / most)
        at = inside.index(1.0) % step if 1.0 in inside else 0
        return inside[at::step]
    for nice in _NICE:
        first, last = math.ceil((math.exp(low) - 1) / nice), math.floor((math.exp(high) - 1) / nice)
        if last - first < most:
            return [round(1 + count * nice, 6) for count in range(first, last + 1)]
    return inside
