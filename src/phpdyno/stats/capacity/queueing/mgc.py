"""M/G/c: the textbook's queue for c workers that do not disturb each other, drawn beside the
simulation as a check."""

import math

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from phpdyno.stats.capacity.queueing.work import Work

_BISECTIONS = 100


class Mgc(Struct, frozen=True):
    """c workers, each `service_s` for a request (c over the full pool's rate): `waits` by Erlang C,
    mean wait, p99, mean response.

    Infinite times and `waits` 1 where more arrives than they answer. Too pessimistic where few in
    service are answered faster than many.
    """

    workers: int
    service_s: float
    load: float
    waits: float
    wait_s: float
    response_s: float
    p99_s: float


def erlang_c(workers: int, offered: float) -> float:
    """Probability that all of `workers` are busy, `offered` being rate x service time; 1 from
    saturation on.

    By Erlang B's recursion, which neither overflows nor cancels. Raises ValueError: no workers, a
    negative load or one that is not finite.
    """
    if workers < 1 or not (math.isfinite(offered) and offered >= 0.0):
        raise ValueError(f"Erlang C needs workers and a load that is not negative, not {workers} and {offered}")
    if offered >= workers:
        return 1.0
    blocked = 1.0
    for number in range(1, workers + 1):
        blocked = offered * blocked / (number + offered * blocked)
    return workers * blocked / (workers - offered * (1.0 - blocked))


def mgc(rates_per_s: ArrayLike, work: Work, rate_per_s: float) -> Mgc:
    """Mean wait: that of M/M/c times (1 + cv^2) / 2 (Lee and Longton, Operational Research
    Quarterly 10, 1959).

    For p99 the wait, where there is one, is taken as exponential (exact for M/M/c; for others see
    Whitt, Production and Operations Management 2, 1993), and independent of the request's own
    measured time. `rates_per_s`: X(1) ... X(c), of which only the last is used. Raises ValueError:
    no rates or some that are not positive, arrivals without a positive rate.
    """
    rates = np.asarray(rates_per_s, dtype=float)
    if rates.ndim != 1 or rates.size == 0 or not (np.isfinite(rates).all() and (rates > 0.0).all()):
        raise ValueError("a pool needs a positive rate for each number of requests in service, from 1 on")
    if not (math.isfinite(rate_per_s) and rate_per_s > 0.0):
        raise ValueError(f"arrivals need a positive rate, not {rate_per_s}")
    workers, full = int(rates.size), float(rates[-1])
    service_s, load = workers / full, rate_per_s / full
    waits = erlang_c(workers, rate_per_s * service_s)
    if load >= 1.0:
        return Mgc(workers=workers, service_s=service_s, load=load, waits=1.0, wait_s=math.inf, response_s=math.inf, p99_s=math.inf)
    mean_if = (1.0 + work.cv2) / 2.0 / (full - rate_per_s)
    times = np.asarray(work.times_s) * (service_s / work.mean_s)
    p99_s = _quantile(times, np.asarray(work.shares), waits, mean_if)
    return Mgc(
        workers=workers,
        service_s=service_s,
        load=load,
        waits=waits,
        wait_s=waits * mean_if,
        response_s=waits * mean_if + service_s,
        p99_s=p99_s,
    )


def _quantile(times: np.ndarray, shares: np.ndarray, waits: float, mean_if: float) -> float:
    """Where service + wait is exceeded by 1 %: the wait is 0 with 1 - `waits`, else exponential
    with mean `mean_if`."""

    def exceeds(t: float) -> float:
        rest = t - times
        return float(shares @ np.where(rest < 0.0, 1.0, waits * np.exp(-np.maximum(rest, 0.0) / mean_if)))

    low, high = 0.0, float(times[-1]) + mean_if * math.log(100.0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if exceeds(middle) > 0.01 + 1e-12 else (low, middle)
    return high
