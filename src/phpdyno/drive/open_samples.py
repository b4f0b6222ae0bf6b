"""What the columns of an open loop say: response times from the intended times, waits for a
connection, and the generator's own lag."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from phpdyno.stats.percentile import percentile

MAX_LAG_SHARE = 0.05
"""A lag above this share of the response time, both at their 99th percentile, says more of the
generator than of the server."""


class OpenSamples(Protocol):
    """The columns of `phpdyno._native.Samples` after an open loop that are used here."""

    intended_ns: NDArray[np.uint64]
    ready_ns: NDArray[np.uint64]
    sent_ns: NDArray[np.uint64]
    done_ns: NDArray[np.uint64]
    outcome: NDArray[np.uint8]


def response_ns(samples: OpenSamples) -> NDArray[np.uint64]:
    """Response time of each request with a valid answer: done - intended, nanoseconds."""
    valid = samples.outcome == 0
    response: NDArray[np.uint64] = samples.done_ns[valid] - samples.intended_ns[valid]
    return response


def lag_ns(samples: OpenSamples) -> NDArray[np.uint64]:
    """The generator's own lag for each request that was sent and came to an end: sent - ready,
    nanoseconds.

    A run that is given up leaves requests under way, of which it is not written down when they were
    sent.
    """
    sent = (samples.ready_ns > 0) & (samples.sent_ns > 0)
    lag: NDArray[np.uint64] = samples.sent_ns[sent] - samples.ready_ns[sent]
    return lag


def queued(samples: OpenSamples) -> int:
    """Requests that had to wait because all connections were busy when they were due."""
    return int((samples.ready_ns > samples.intended_ns).sum())


def is_late(samples: OpenSamples) -> bool:
    """Whether the generator was too late for its response times to count; also when there are
    none."""
    responses = response_ns(samples)
    return not responses.size or percentile(lag_ns(samples), 99.0) > MAX_LAG_SHARE * percentile(responses, 99.0)
