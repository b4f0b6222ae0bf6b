"""When the requests of an open loop are to be sent: offsets from the start, computed beforehand, so
that the server cannot change them.

A profile is a row of phases in which the rate moves in a straight line; constant load, ramps and
bursts are profiles. Arrivals are laid on it evenly or at random by its integral: the i-th arrival
is where so many requests have been offered.
"""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

MOST_ARRIVALS = 100_000_000
"""More rows than that no memory of a test machine holds."""


class Phase(Struct, frozen=True):
    """A stretch of so many seconds in which the rate (requests per second) goes from `start_rate`
    to `end_rate` in a straight line."""

    seconds: float
    start_rate: float
    end_rate: float

    def __post_init__(self) -> None:
        """Raise ValueError where a value is not finite or below 0, or a phase takes no time."""
        values = (self.seconds, self.start_rate, self.end_rate)
        if not all(math.isfinite(value) and value >= 0.0 for value in values) or self.seconds == 0.0:
            raise ValueError(f"a phase needs a time above 0 and rates that are not negative, not {values}")

    @property
    def offered(self) -> float:
        """Requests offered in this phase."""
        return self.seconds * (self.start_rate + self.end_rate) / 2.0


Profile = Sequence[Phase]


def constant(rate: float, seconds: float) -> tuple[Phase, ...]:
    """The same rate all the time."""
    return (Phase(seconds, rate, rate),)


def ramp(start_rate: float, end_rate: float, seconds: float) -> tuple[Phase, ...]:
    """From one rate to another in a straight line."""
    return (Phase(seconds, start_rate, end_rate),)


def bursts(rate: float, burst_rate: float, *, quiet_s: float, burst_s: float, count: int) -> tuple[Phase, ...]:
    """`count` times so long at `rate` and then so long at `burst_rate`, and once more at `rate`."""
    quiet = Phase(quiet_s, rate, rate)
    return (quiet, Phase(burst_s, burst_rate, burst_rate)) * count + (quiet,)


def seconds_of(profile: Profile) -> float:
    """How long a profile lasts, seconds."""
    return math.fsum(phase.seconds for phase in profile)


def arrivals_of(profile: Profile) -> int:
    """How many requests a profile offers, to the nearest whole one. Raises ValueError when they are
    over `MOST_ARRIVALS`."""
    offered = math.fsum(phase.offered for phase in profile)
    if offered > MOST_ARRIVALS:
        raise ValueError(f"{offered:.3g} arrivals are over {MOST_ARRIVALS}")
    return math.floor(offered + 0.5)


def evenly(profile: Profile) -> NDArray[np.uint64]:
    """Offsets in nanoseconds, evenly over what is offered: at a constant rate r every 1/r seconds,
    the first after half of that."""
    return _offsets(profile, np.arange(arrivals_of(profile), dtype=np.float64) + 0.5)


def poisson(profile: Profile, rng: np.random.Generator) -> NDArray[np.uint64]:
    """Offsets in nanoseconds of a Poisson process with this profile, given that as many arrive as
    are offered.

    Given their number, the arrivals of a Poisson process are independent draws, uniform over what
    is offered. Their number is given so that all arms and slots get the same offered rate.
    """
    offered = math.fsum(phase.offered for phase in profile)
    return _offsets(profile, np.sort(rng.random(arrivals_of(profile))) * offered)


def _offsets(profile: Profile, offered: NDArray[np.float64]) -> NDArray[np.uint64]:
    """When as many requests as `offered` (ascending) have been offered, in nanoseconds from the
    start."""
    if not offered.size:
        return np.zeros(0, dtype=np.uint64)
    phases = [phase for phase in profile if phase.offered > 0.0]
    begins = np.array([seconds_of(profile[:index]) for index, phase in enumerate(profile) if phase.offered > 0.0])
    before = np.concatenate(([0.0], np.cumsum([phase.offered for phase in phases])))[:-1]
    index = np.searchsorted(before, offered, side="right") - 1
    seconds, start, end = (np.array(values)[index] for values in zip(*((p.seconds, p.start_rate, p.end_rate) for p in phases), strict=True))
    rest = offered - before[index]
    # The root of start·t + slope·t²/2 = rest in the form that neither a slope of 0 nor a fall to a
    # rate of 0 upsets.
    root = np.sqrt(np.maximum(0.0, start**2 + 2.0 * (end - start) / seconds * rest))
    within = np.divide(2.0 * rest, start + root, out=np.zeros_like(rest), where=start + root > 0.0)
    times = np.minimum(begins[index] + np.minimum(within, seconds), seconds_of(profile))
    # Rounding may turn two arrivals round by a nanosecond where phases meet.
    return np.maximum.accumulate(np.rint(times * 1e9)).astype(np.uint64)
