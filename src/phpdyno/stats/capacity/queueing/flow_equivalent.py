"""A pool as a queue whose speed was measured: flow-equivalent server (Chandy, Herzog and Woo, IBM
J. Res. Dev. 19, 1975).

The whole of nginx, php-fpm and what stands behind it is one station that answers X(k) requests per
second while k are in service; n requests in it give X(min(n, m)) with m workers. Birth-death, so:
Poisson arrivals, and exact for processor sharing with any distribution of the work where nobody
waits, or for exponential work; for other work the queue's numbers are an approximation (see
`simulation`).
"""

import math

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

MOST_STATES = 10_000_000


class Queue(Struct, frozen=True):
    """Long-run state of an open pool. `waits` and the times are of requests that were let in;
    `refused` is the share that was not.

    Counts are means over time; times in seconds. `waiting`, `in_system`, `wait_s`, `response_s` are
    infinite where it is not `stable`: more arrive than `workers` can answer and nothing is refused.
    `distribution[n]`: probability of n in the system, for n = 0 ... workers.
    """

    workers: int
    rate_per_s: float
    stable: bool
    throughput_per_s: float
    waits: float
    refused: float
    busy: float
    waiting: float
    in_system: float
    wait_s: float
    response_s: float
    distribution: tuple[float, ...]

    @property
    def utilisation(self) -> float:
        """The share of the workers that is busy, 0 to 1."""
        return self.busy / self.workers


class ClosedQueue(Struct, frozen=True):
    """Long-run state with `clients` that each send the next request `think_s` after the answer.
    `waits`: share of requests that queue."""

    clients: int
    think_s: float
    throughput_per_s: float
    waits: float
    busy: float
    waiting: float
    in_system: float
    wait_s: float
    response_s: float


def open_queue(rates_per_s: ArrayLike, rate_per_s: float, backlog: int | None = None) -> Queue:
    """Poisson arrivals at `rate_per_s` to a pool with X(1) ... X(m) `rates_per_s`, shape (m,).

    `backlog` is how many may wait beside the m in service, None for any number; an arrival beyond
    it is refused and lost. Waiting times by Little (1961). A pool whose X(m) is below `rate_per_s`
    counts as not stable even where fewer in service would be fast enough: once the queue is there
    it stays. Raises ValueError: rates that are not positive, a negative backlog, one of more than
    ten million.
    """
    rates, m = _checked(rates_per_s)
    if not (math.isfinite(rate_per_s) and rate_per_s > 0.0):
        raise ValueError(f"arrivals need a positive rate, not {rate_per_s}")
    if backlog is not None and not 0 <= backlog <= MOST_STATES:
        raise ValueError(f"a backlog lies between 0 and {MOST_STATES}, not {backlog}")
    load = rate_per_s / float(rates[-1])
    if backlog is None and load >= 1.0:
        return Queue(
            workers=m,
            rate_per_s=rate_per_s,
            stable=False,
            throughput_per_s=float(rates[-1]),
            waits=1.0,
            refused=0.0,
            busy=m,
            waiting=math.inf,
            in_system=math.inf,
            wait_s=math.inf,
            response_s=math.inf,
            distribution=(0.0,) * (m + 1),
        )

    logs = np.concatenate([[0.0], np.cumsum(math.log(rate_per_s) - np.log(rates))])
    if backlog is None:
        tail = logs[-1] + np.log(load) - math.log1p(-load)  # all states above m together: a geometric series
        largest = max(float(logs.max()), tail)
        shares, beyond = np.exp(logs - largest), math.exp(tail - largest)
        total = float(shares.sum()) + beyond
        shares, beyond = shares / total, beyond / total
        waiting, refused = beyond / (1.0 - load), 0.0  # the geometric number beyond m has mean 1 / (1 - load)
    else:
        every = np.concatenate([logs, logs[-1] + np.arange(1, backlog + 1) * math.log(load)])
        whole = np.exp(every - every.max())
        whole /= whole.sum()
        shares, above = whole[: m + 1], whole[m + 1 :]
        beyond, refused = float(above.sum()), float(whole[-1])
        waiting = float(above @ np.arange(1, backlog + 1))

    served = rate_per_s * (1.0 - refused)
    at_full = float(shares[-1]) + beyond
    busy = float(shares @ np.arange(m + 1)) + m * beyond
    return Queue(
        workers=m,
        rate_per_s=rate_per_s,
        stable=True,
        throughput_per_s=served,
        waits=min(1.0, max(0.0, at_full - refused) / (1.0 - refused)),
        refused=refused,
        busy=busy,
        waiting=waiting,
        in_system=busy + waiting,
        wait_s=waiting / served,
        response_s=(busy + waiting) / served,
        distribution=tuple(shares.tolist()),
    )


def closed_queue(rates_per_s: ArrayLike, clients: int, think_s: float = 0.0) -> ClosedQueue:
    """The same pool under `clients` with a mean think time of `think_s` seconds each: what a load
    generator with a fixed number does.

    The machine repairman with a state-dependent repairer; the think time's distribution does not
    matter. What a request meets on arrival is the state with one client fewer (arrival theorem:
    Lavenberg and Reiser, J. Appl. Prob. 17, 1980). The backlog is not looked at: nothing is refused
    while `clients` are no more than workers and backlog together. Raises ValueError: no clients, a
    negative time.
    """
    rates, m = _checked(rates_per_s)
    if clients < 1 or not (math.isfinite(think_s) and think_s >= 0.0):
        raise ValueError(f"a closed loop needs clients and a think time of at least 0, not {clients} and {think_s}")
    shares = _closed_shares(rates, clients, think_s)
    numbers = np.arange(clients + 1)
    busy = float(shares @ np.minimum(numbers, m))
    waiting = float(shares @ np.maximum(numbers - m, 0))
    throughput = float(shares[1:] @ rates[np.minimum(numbers[1:], m) - 1])
    met = _closed_shares(rates, clients - 1, think_s)
    return ClosedQueue(
        clients=clients,
        think_s=think_s,
        throughput_per_s=throughput,
        waits=float(met[m:].sum()) if clients > m else 0.0,
        busy=busy,
        waiting=waiting,
        in_system=busy + waiting,
        wait_s=waiting / throughput,
        response_s=(busy + waiting) / throughput,
    )


def _closed_shares(rates: NDArray[np.float64], clients: int, think_s: float) -> NDArray[np.float64]:
    if clients == 0:
        return np.ones(1)
    if think_s == 0.0:
        return np.concatenate([np.zeros(clients), [1.0]])
    numbers = np.arange(1, clients + 1)
    steps = np.log((clients - numbers + 1) / think_s) - np.log(rates[np.minimum(numbers, rates.size) - 1])
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


def _checked(rates_per_s: ArrayLike) -> tuple[NDArray[np.float64], int]:
    rates = np.asarray(rates_per_s, dtype=float)
    if rates.ndim != 1 or rates.size == 0 or not (np.isfinite(rates).all() and (rates > 0.0).all()):
        raise ValueError("a pool needs a positive rate for each number of requests in service, from 1 on")
    return rates, int(rates.size)
