"""Independent runs of a pool at one load, and percentiles of all of them with what the runs differ
by."""

import math

import numpy as np
from msgspec import Struct
from numpy.random import SeedSequence, default_rng
from numpy.typing import NDArray

from phpdyno.stats.capacity.queueing.offered import Offered
from phpdyno.stats.capacity.queueing.station import QueueOutcome, passage
from phpdyno.stats.capacity.queueing.work import Work
from phpdyno.stats.student import quantile

REPLICATIONS = 20
QUICK = 4
"""Replications of a quick look."""
ENOUGH = 0.03
"""Replications are doubled until the standard error of ln p99 is at most this, or the requests are
too many."""
MOST_IN_ALL = 2_000_000
"""Requests of all replications: a few seconds."""
LEAST_WARM_UP = 2_000
LEAST_COUNTED = 8_000
MOST_REQUESTS = 100_000
"""Of one replication, warm-up included."""
MOST_SPEED = 20.0
"""So many times as fast as alone a request is in company at most: less time than it waits is
measured by mistake only."""
ALPHA = 0.05
_HAIR = 1e-12


class Length(Struct, frozen=True):
    """Requests of one replication: `warm_up` are thrown away, `counted` are not. `settled` is False
    where it should be longer.

    The rule: 3 relaxation times of the queue are thrown away (at least 2,000 requests), 10 are
    counted (at least 8,000), 100,000 at most.
    """

    warm_up: int
    counted: int
    settled: bool

    @property
    def requests(self) -> int:
        """All of them."""
        return self.warm_up + self.counted


class Percentile(Struct, frozen=True):
    """A percentile in seconds, its 95 % interval over replications and the standard error of its
    logarithm that follows from it.

    Infinite where that many requests get no answer; `high_s` also where the replications differ too
    much to tell.
    """

    value_s: float
    low_s: float
    high_s: float
    sigma: float


class Setting(Struct, frozen=True):
    """What all replications have in common, whatever the rates: `backlog` places to wait, None for
    any number."""

    work: Work
    offered: Offered
    length: Length
    backlog: int | None

    def replicate(self, speeds: NDArray[np.float64], seed: SeedSequence) -> QueueOutcome:
        """One replication of a pool with these `speeds` of 1 ... m in service, shape (m,), without
        its warm-up. The same seed: the same arrivals and work."""
        random, begin, size = default_rng(seed), self.length.warm_up, self.length.requests
        arrivals, times = self.offered.draw(random, size), self.work.draw(random, size)
        slowed = np.minimum(times, self.work.slowed_s)
        whole = passage(arrivals, slowed, speeds, self.backlog, apart_s=times - slowed)
        return QueueOutcome(whole.response_s[begin:], whole.wait_s[begin:], whole.waited[begin:])

    def speeds(self, rates_per_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Work per second of each of 1 ... m in service with X(1) ... X(m), shape (m,), so that a
        request takes n / X(n) seconds on average with n of them.

        Its slowed part takes what its other part leaves; never less than a twentieth of what it
        takes alone.
        """
        mean, slowed = self.work.mean_s, self.work.mean_slowed_s
        left = np.arange(1, rates_per_s.size + 1) / rates_per_s - (mean - slowed)
        return np.asarray(slowed / np.maximum(left, slowed / MOST_SPEED))


class Replications(Struct, frozen=True):
    """Response times in seconds, shape (replications, requests), the share that waited, the
    seeds."""

    response_s: NDArray[np.float64]
    waits: float
    seeds: tuple[SeedSequence, ...]

    @property
    def refused(self) -> float:
        """The share of the requests that got no answer."""
        return 1.0 - float(np.isfinite(self.response_s).mean())

    @property
    def mean_s(self) -> float:
        """Mean response time of those that got one; infinite where none did."""
        answered = self.response_s[np.isfinite(self.response_s)]
        return float(answered.mean()) if answered.size else math.inf

    def percentile(self, percent: float) -> Percentile:
        """Nearest rank over all replications; the interval by the share of each that exceeds it
        (Woodruff, JASA 47, 1952).

        The shares' mean has an interval by Student's t; the percentiles at its ends are those of
        the percentile.
        """
        together = np.sort(self.response_s, axis=None)
        value = at_rank(together, percent)
        exceed = (self.response_s > value).mean(axis=1) * 100.0
        count = exceed.size
        reach = quantile(1.0 - ALPHA / 2.0, count - 1) * float(exceed.std(ddof=1)) / math.sqrt(count)
        low = at_rank(together, max(0.0, percent - reach))
        high = at_rank(together, percent + reach) if percent + reach < 100.0 else math.inf
        if not (math.isfinite(high) and low > 0.0):
            return Percentile(value, low, math.inf, math.inf)
        return Percentile(value, low, high, math.log(high / low) / (2.0 * quantile(1.0 - ALPHA / 2.0, count - 1)))


def replications(setting: Setting, rates_per_s: NDArray[np.float64], seed: int, *, quick: bool = False) -> Replications:
    """20 replications, or as many more as the error of the 99th percentile wants (see `ENOUGH`);
    four of them for a quick look."""
    root, wanted, speeds = SeedSequence(seed), QUICK if quick else REPLICATIONS, setting.speeds(rates_per_s)
    seeds: list[SeedSequence] = []
    runs: list[QueueOutcome] = []
    while True:
        fresh = root.spawn(wanted - len(runs))
        seeds += fresh
        runs += [setting.replicate(speeds, one) for one in fresh]
        waits = float(np.mean([one.waited.mean() for one in runs]))
        found = Replications(np.stack([one.response_s for one in runs]), waits, tuple(seeds))
        more = min(2 * wanted, MOST_IN_ALL // setting.length.requests)
        p99 = found.percentile(99.0)
        if quick or more <= wanted or p99.sigma <= ENOUGH or math.isinf(p99.value_s):
            return found
        wanted = more


def length_of(load: float, cv2: float) -> Length:
    """How long a replication is at this load (arrivals over the full pool's rate) and squared
    variation of the work.

    The relaxation time of M/M/1 is 1 / (mu (1 - sqrt(load))^2) (Cohen, The Single Server Queue,
    II.2), here counted in arrivals and times (1 + cv^2) / 2 for work that scatters more or less
    than an exponential.
    """
    longest = Length(MOST_REQUESTS // 4, MOST_REQUESTS - MOST_REQUESTS // 4, settled=False)
    if load >= 1.0:
        return longest
    relaxation = load / (1.0 - math.sqrt(load)) ** 2 * (1.0 + cv2) / 2.0
    if not 13.0 * relaxation < MOST_REQUESTS - 2.0:
        return longest
    return Length(max(LEAST_WARM_UP, math.ceil(3.0 * relaxation)), max(LEAST_COUNTED, math.ceil(10.0 * relaxation)), settled=True)


def at_rank(ascending: NDArray[np.float64], percent: float) -> float:
    """The smallest of ascending values that `percent` % of them do not exceed."""
    return float(ascending[max(1, math.ceil(ascending.size * percent / 100.0 * (1.0 - _HAIR))) - 1])
