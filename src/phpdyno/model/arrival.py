"""How requests follow each other in time: in real traffic, and in an open loop."""

from typing import Literal

from msgspec import Struct

Arrivals = Literal["poisson", "constant", "ramp", "burst"]
"""Independent arrivals (poisson) at a steady rate, at one that rises (ramp) or jumps (burst); or a
steady beat (constant)."""


class Arrival(Struct, frozen=True):
    """Requests per second over `span_s` seconds, and how bursty they are. Independent (Poisson)
    arrivals have 1 in all three measures.

    `peak_per_s` is the busiest second's count. `dispersion` is variance over mean of the counts per
    second, `minute_dispersion` the same within minutes, so that a day's rise and fall is no burst.
    `gap_cv2` is the squared coefficient of variation of the gaps, known where the log has fractions
    of a second. `busiest_minute_per_s` is the mean rate of the busiest minute of the clock. None is
    what the log is too short or too coarse for.
    """

    rate_per_s: float
    span_s: int
    peak_per_s: int
    dispersion: float | None = None
    minute_dispersion: float | None = None
    gap_cv2: float | None = None
    busiest_minute_per_s: float | None = None
