"""Burstiness of arrivals: index of dispersion of the counts per second, squared coefficient of
variation of the gaps."""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from phpdyno.model.arrival import Arrival

HOUR_S = 3600
MINUTE_S = 60
LEAST_SECONDS = 60
"""Of fewer counts the variance says little: its relative standard error is sqrt(2 / (n - 1)), 18 %
here, for Poisson arrivals."""
LEAST_GAPS = 100


class GapMoments(Struct, frozen=True):
    """Gaps between arrivals that follow each other: how many, their mean in seconds, the sum of
    their squared deviations from it."""

    count: int = 0
    mean_s: float = 0.0
    squares_s2: float = 0.0


def arrival_of(hours: Mapping[int, ArrayLike], gaps: GapMoments | None = None) -> Arrival:
    """Rate and burstiness of counts per second: `hours` maps an hour's number to its 3600 counts;
    an hour that is not there was empty.

    The span goes from the first second with an arrival to the last one. Index of dispersion: Cox
    and Lewis, The Statistical Analysis of Series of Events (1966); Gusella, Characterizing the
    Variability of Arrival Processes with Indexes of Dispersion (1991). Raises ValueError: no
    arrival, counts that are negative or not 3600.
    """
    counts = {hour: _checked(each) for hour, each in sorted(hours.items())}
    counts = {hour: each for hour, each in counts.items() if each.any()}
    if not counts:
        raise ValueError("there is no arrival")
    ends = [hour * HOUR_S + int(np.flatnonzero(each)[index]) for hour, each in counts.items() for index in (0, -1)]
    first, last = min(ends), max(ends)
    span = last - first + 1
    total = sum(int(each.sum()) for each in counts.values())
    enough = span >= LEAST_SECONDS
    return Arrival(
        rate_per_s=total / span,
        span_s=span,
        peak_per_s=max(int(each.max()) for each in counts.values()),
        dispersion=_dispersion(counts, first, last) if enough else None,
        minute_dispersion=_within_minutes(counts, first, last) if enough else None,
        gap_cv2=gap_cv2(gaps) if gaps else None,
        busiest_minute_per_s=max(_per_minute(each) for each in counts.values()) / MINUTE_S if enough else None,
    )


def peak_second(hours: Mapping[int, ArrayLike]) -> int:
    """The first second with the greatest count. Raises ValueError: no hours."""
    if not hours:
        raise ValueError("there is no hour")
    best = {hour: _checked(each) for hour, each in hours.items()}
    hour = min(best, key=lambda number: (-int(best[number].max()), number))
    return hour * HOUR_S + int(best[hour].argmax())


def _per_minute(counts: NDArray[np.int64]) -> int:
    """The greatest count of a minute of this hour."""
    return int(counts.reshape(-1, MINUTE_S).sum(axis=1).max())


def gap_cv2(gaps: GapMoments) -> float | None:
    """Variance of the gaps over their squared mean (0 for a steady beat, 1 for Poisson arrivals);
    None below 100 gaps or at mean 0."""
    if gaps.count < LEAST_GAPS or gaps.mean_s <= 0.0:
        return None
    return gaps.squares_s2 / (gaps.count - 1) / gaps.mean_s**2


def _checked(values: ArrayLike) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = np.asarray(values, dtype=np.int64)
    if counts.shape != (HOUR_S,) or counts.min() < 0:
        raise ValueError(f"an hour needs {HOUR_S} counts of which none is negative")
    return counts


def _dispersion(counts: Mapping[int, NDArray[np.int64]], first: int, last: int) -> float | None:
    """Variance over mean of the seconds between two, None when nothing came in them.

    The two themselves are cut short where the log begins and ends; one nearly empty second among
    1,800 of 300/s adds 0.17.
    """
    edges = [int(counts[second // HOUR_S][second % HOUR_S]) for second in (first, last)]
    number = last - first - 1
    total = sum(int(each.sum()) for each in counts.values()) - sum(edges)
    squares = sum(int((each**2).sum()) for each in counts.values()) - sum(edge**2 for edge in edges)
    return max(0.0, squares - total**2 / number) / (number - 1) / (total / number) if total else None


def _within_minutes(counts: Mapping[int, NDArray[np.int64]], first: int, last: int) -> float | None:
    """Pooled variance within the whole minutes between two seconds, over the mean; an empty minute
    adds to neither."""
    squares, total = 0.0, 0
    for hour, each in counts.items():
        starts = hour * HOUR_S + np.arange(0, HOUR_S, MINUTE_S)
        whole = each.reshape(-1, MINUTE_S)[(starts > first) & (starts + MINUTE_S - 1 < last)]
        squares += float(((whole - whole.mean(axis=1, keepdims=True)) ** 2).sum()) if whole.size else 0.0
        total += int(whole.sum())
    return (squares / (MINUTE_S - 1)) / (total / MINUTE_S) if total else None
