"""One run of a pool, request by request: a queue first come first served, before workers that share
one speed (crates/dyno-queue says how)."""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno._native import pool_passage

Floats = NDArray[np.float64]


class QueueOutcome(Struct, frozen=True):
    """What became of each request, in the order of arrival, shape (n,): seconds until it was
    answered and until it was taken by a worker.

    Both are infinite for one that was refused. `waited` tells who found all workers busy and was
    let into the queue.
    """

    response_s: Floats
    wait_s: Floats
    waited: NDArray[np.bool_]


def passage(
    arrivals_s: Floats, works_s: Floats, speeds: Floats, backlog: int | None = None, *, apart_s: Floats | None = None
) -> QueueOutcome:
    """Runs all requests through an empty pool: `arrivals_s` ascending and `works_s` of shape (n,),
    `speeds` of shape (m,).

    `speeds[k - 1]` is the work in seconds that each of k requests in service gets done per second.
    `backlog`: how many may wait. `apart_s`, shape (n,): seconds that a request is in service before
    its work begins, unslowed (None: 0).
    """
    apart = np.zeros_like(arrivals_s) if apart_s is None else apart_s
    ended, started, waited = pool_passage(arrivals_s, works_s, apart, speeds, arrivals_s.size if backlog is None else backlog)
    return QueueOutcome(ended - arrivals_s, started - arrivals_s, waited)
