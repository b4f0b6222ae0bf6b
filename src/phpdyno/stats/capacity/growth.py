"""Whether workers' private memory grows without end, or rose to a high-water mark once."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from phpdyno.stats.student import quantile

LEAST_SAMPLES = 16
"""Of a worker, over all its requests."""
MOST_SAMPLES = 400
"""Of a worker; of more, every so many are taken, as all pairs are looked at."""
BEGINNING = 0.25
"""The first quarter of a worker's requests, where all caches fill, counts for nothing."""
RELEVANT = 0.01
"""A rise by less than this share is none: pages of a heap come and go."""
STRAIGHT = 0.95
"""A straight line must leave over less than this part of what one step leaves, or the rise is taken
for one step."""
LASTING = 1.5
"""The second half must rise by this many times what the quarter before it did: steady growth makes
2, growth by the logarithm 1."""
LEAST_WORKERS = 3
_NORMAL = 1.959963984540054
Floats = NDArray[np.float64]
Worker = tuple[Floats, Floats]
GrowthKind = Literal["leaks", "settling", "once", "steady", "unclear"]


class Growth(Struct, frozen=True):
    """Private memory of workers over the requests that each has served, without the first quarter
    of them.

    `kib_per_request` with its 95 % interval. leaks: it rises, and goes on as it did. settling: it
    rises, but ever more slowly. once: one step explains it better than a line (a heap that grows in
    large chunks looks so until some of them were seen). steady: not even the interval's upper end
    makes 1 %. unclear: none of these, look longer. `base_kib` is the level where the second quarter
    begins, `requests` how many a worker served from there on.
    """

    kind: GrowthKind
    kib_per_request: float
    low: float
    high: float
    base_kib: float
    requests: float
    workers: int

    def max_requests(self, part: float) -> int | None:
        """After how many requests a leaking worker should end so that it grows by at most `part` of
        its base; None where none leaks.

        By the upper end of the interval; 1 at least. Raises ValueError: a part that is not
        positive.
        """
        if not part > 0.0:
            raise ValueError(f"a part of growth is positive, not {part}")
        return max(1, math.floor(part * self.base_kib / self.high)) if self.kind == "leaks" else None


def growth(requests: ArrayLike, private_kib: ArrayLike) -> Growth:
    """Growth of one worker: both arrays of shape (n,), requests ascending. As `growth_of`."""
    return growth_of([(requests, private_kib)])


def growth_of(workers: Sequence[tuple[ArrayLike, ArrayLike]]) -> Growth:
    """Growth of the workers of a pool: of each, requests served (ascending) and private KiB, 16
    samples at least.

    A worker's slope is the median of the slopes between any two samples (Theil 1950; Sen, JASA 63,
    1968). With three workers or more the interval is Student's over workers, as they are
    independent; below, it is Sen's, which takes samples as independent: memory that wanders by
    itself makes that one too narrow. Raises ValueError: too few samples, requests that do not
    ascend, memory that is not positive.
    """
    seen = [_later(np.asarray(x, dtype=float), np.asarray(y, dtype=float)) for x, y in workers]
    if not seen:
        raise ValueError("growth needs a worker")
    middle, low, high = _over_workers(seen) if len(seen) >= LEAST_WORKERS else _by_sen(seen)
    span = float(np.mean([x[-1] - x[0] for x, _ in seen]))
    levels = np.mean([_levels(x, y) for x, y in seen], axis=0)
    return Growth(
        kind=_kind(seen, low * span, high * span, levels),
        kib_per_request=middle,
        low=low,
        high=high,
        base_kib=float(levels[0]),
        requests=span,
        workers=len(seen),
    )


def _kind(seen: Sequence[Worker], least_kib: float, most_kib: float, levels: Floats) -> GrowthKind:
    """`levels`: where the second quarter, the second half and the end are."""
    least = RELEVANT * float(levels[0])
    quarter, half = float(levels[1] - levels[0]), float(levels[2] - levels[1])
    if max(most_kib, quarter + half) < least:
        return "steady"
    if least_kib <= 0.0 or quarter + half < least:
        return "unclear"
    if sum(_line_leaves(x, y) for x, y in seen) >= STRAIGHT * sum(_step_leaves(y) for _, y in seen):
        return "once"
    return "leaks" if half > 0.0 and half >= LASTING * quarter else "settling"


def _later(x: Floats, y: Floats) -> Worker:
    if x.ndim != 1 or x.shape != y.shape or x.size < LEAST_SAMPLES:
        raise ValueError(f"growth of a worker needs {LEAST_SAMPLES} samples at least, each with its requests, not {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()) or (y <= 0.0).any():
        raise ValueError("requests and private memory must be finite, and memory positive")
    if (np.diff(x) < 0.0).any() or x[-1] <= x[0]:
        raise ValueError("requests served must ascend: a worker that ended is another worker")
    kept = x >= x[0] + BEGINNING * (x[-1] - x[0])
    step = max(1, math.ceil(int(kept.sum()) / MOST_SAMPLES))
    later_x, later_y = x[kept][::-step][::-1], y[kept][::-step][::-1]
    if later_x.size < LEAST_SAMPLES // 2 or later_x[-1] <= later_x[0]:
        raise ValueError(f"growth needs {LEAST_SAMPLES // 2} samples after a worker's first quarter, not {later_x.size}")
    return later_x, later_y


def _slopes(x: Floats, y: Floats) -> Floats:
    first, second = np.triu_indices(x.size, 1)
    apart = x[second] > x[first]
    return np.asarray((y[second] - y[first])[apart] / (x[second] - x[first])[apart])


def _over_workers(seen: Sequence[Worker]) -> tuple[float, float, float]:
    slopes = np.array([np.median(_slopes(x, y)) for x, y in seen])
    reach = quantile(0.975, slopes.size - 1) * float(slopes.std(ddof=1)) / math.sqrt(slopes.size)
    return float(slopes.mean()), float(slopes.mean()) - reach, float(slopes.mean()) + reach


def _by_sen(seen: Sequence[Worker]) -> tuple[float, float, float]:
    slopes = np.sort(np.concatenate([_slopes(x, y) for x, y in seen]))
    reach = _NORMAL * math.sqrt(sum(x.size * (x.size - 1) * (2 * x.size + 5) / 18.0 for x, _ in seen))
    low = slopes[max(0, math.floor((slopes.size - reach) / 2.0))]
    high = slopes[min(slopes.size - 1, math.ceil((slopes.size + reach) / 2.0))]
    return float(np.median(slopes)), float(low), float(high)


def _levels(x: Floats, y: Floats) -> Floats:
    """Median memory about a third, and about both ends, of what is left: a twelfth of it to either
    side."""
    places = x[0] + (x[-1] - x[0]) * np.array([0.0, 1.0 / 3.0, 1.0])
    near = [np.abs(x - place) <= (x[-1] - x[0]) / 12.0 for place in places]
    return np.array([np.median(y[each]) if each.any() else np.interp(place, x, y) for each, place in zip(near, places, strict=True)])


def _line_leaves(x: Floats, y: Floats) -> float:
    """Sum of the absolute distances from the line with the median slope."""
    rest = y - float(np.median(_slopes(x, y))) * x
    return float(np.abs(rest - np.median(rest)).sum())


def _step_leaves(y: Floats) -> float:
    """The same for the best of all single steps: one level before, one after."""
    return min(float(np.abs(part - np.median(part)).sum() + np.abs(rest - np.median(rest)).sum()) for part, rest in _splits(y))


def _splits(y: Floats) -> list[tuple[Floats, Floats]]:
    return [(y[:place], y[place:]) for place in range(1, y.size)]
