"""The native core (crates/dyno-load and crates/dyno-queue, bound by crates/dyno-py). All times of
the load generator are CLOCK_MONOTONIC nanoseconds."""

from collections.abc import Sequence
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

OUTCOMES: Final[tuple[str, ...]]
"""Names of the outcome codes, by index: what `Samples.outcome` and `Response.outcome` refer to.

ok                valid: status and length as expected
wrong_status      a complete response with another status
wrong_length      a complete response whose body is outside [min_bytes, max_bytes]
connect_failed    no connection (refused, missing socket, unix backlog full: not retried, as a
                  web server would not)
closed_early      the peer closed or reset before the response was complete (a partial or no
                  answer)
timed_out         no complete response within response_timeout_ns of the send, or no connection in
                  connect_timeout_ns
malformed         bytes that are not the protocol (bad status line, bad chunk, FastCGI record out
                  of place, headers over 64 KiB or 128 lines), or a FastCGI server that refused
                  the request (overloaded, unknown role)
abandoned         never sent, because max_failures was reached or the run was interrupted; or the
                  server hangs (see `Engine.run`), then also what was in flight
wrong_body        a complete response of the expected length, but another body than a `Target`'s
                  pattern or a `Frame` asks for
"""

def pool_passage(
    arrivals_s: NDArray[np.float64], works_s: NDArray[np.float64], apart_s: NDArray[np.float64], speeds: NDArray[np.float64], backlog: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Runs requests through an empty pool of workers; gives when each was answered, when a worker
    took it (infinite: refused), and whether it waited in the queue.

    Arrivals (ascending), work and seconds in service before the work begins have shape (n,).
    `speeds[k - 1]` is the work in seconds that each of k requests in service gets done per second;
    `backlog` is how many may wait. Raises ValueError for columns of different lengths.
    """

@final
class BodyPattern:
    """What the body of a valid answer is like: literals with a volatile gap between each two."""

    def __init__(self, literals: Sequence[bytes], gaps: Sequence[tuple[int, int, bytes]] = ()) -> None:
        """A gap: its least and greatest length in bytes, and the bytes that may stand in it.

        Raises ValueError: not one literal more than gaps, a least length over the greatest.
        """

    def fits(self, body: bytes) -> bool:
        """Whether a whole body is like this."""

@final
class Target:
    """One request template, rendered once for one transport, with what a valid answer looks like.

    `status` is the expected status; the body length must lie in [min_bytes, max_bytes]. With `body`
    every body (decoded from its transfer coding) is compared whole, as it arrives; up to 8 MiB of
    what follows the first literal, or what differs, are held for it.
    """

    @staticmethod
    def http(
        request: bytes,
        *,
        status: int,
        min_bytes: int = 0,
        max_bytes: int = 2**62,
        head: bool = False,
        body: BodyPattern | None = None,
    ) -> Target:
        """A complete HTTP/1.1 request (request line, headers, blank line, body). `head`: the answer
        has no body.

        Raises ValueError: no blank line, a status outside 100..999, min_bytes over max_bytes.
        """

    @staticmethod
    def fastcgi(
        params: Sequence[tuple[bytes, bytes]],
        stdin: bytes = b"",
        *,
        status: int,
        min_bytes: int = 0,
        max_bytes: int = 2**62,
        body: BodyPattern | None = None,
    ) -> Target:
        """A FastCGI responder request; records are encoded here, once.

        Raises ValueError: a name or value over 2**31 - 1 bytes, a status outside 100..999,
        min_bytes over max_bytes.
        """

@final
class Samples:
    """The columns of one run of an `Engine` or a `Pipeline`: one row per requested index, in the
    order of the sequence; owned by numpy.

    A row that never got so far has 0 in its later times. `status` is 0 where no status line came.
    """

    intended_ns: NDArray[np.uint64]
    """When the request was to be sent, also of rows that never were; response time is done -
    intended. Empty after `run`: a closed loop intends no times."""
    ready_ns: NDArray[np.uint64]
    """The earliest that the request could be sent: the intended time, or, when all connections were
    busy then, when there was one for it. ready - intended is the wait for a connection; sent -
    ready is the generator's own lag, as far as it can tell (an answer that it reads late lengthens
    the wait instead). 0 where a request was never sent; empty after `run`."""
    sent_ns: NDArray[np.uint64]
    """Just before the first byte was handed to the kernel; before `connect` when the request needed
    a connection of its own, so the service time done - sent holds the connection's set-up (and a
    lost keep-alive race)."""
    first_byte_ns: NDArray[np.uint64]
    """When the first byte of the answer had been read."""
    done_ns: NDArray[np.uint64]
    """When the response was complete, as expected or not (ok, wrong_status, wrong_length,
    wrong_body); 0 otherwise."""
    status: NDArray[np.uint16]
    body_bytes: NDArray[np.uint64]
    """Decoded bytes of the body (of chunks: the data), or of the part of it that came."""
    target: NDArray[np.uint32]
    outcome: NDArray[np.uint8]
    different: list[tuple[int, bytes]]
    """Row and body of the first answers that were `wrong_body`, eight of each thread; none after
    `Pipeline.run`."""
    started_ns: int
    """Before the first request; of `run_open` the zero of its schedule."""
    ended_ns: int
    connects: int
    """Connections opened during the run."""
    stderr_bytes: int
    """Bytes of FastCGI STDERR records seen."""
    other_threads_cpu_ns: int
    """CPU time of the run's threads besides the calling one, 0 without any."""

@final
class Histogram:
    """How often which time (nanoseconds) was measured, to three significant digits; for what many
    visits share. Below half a MiB."""

    count: int
    """How many times were counted."""

    def __init__(self) -> None:
        """Without times yet."""

    @staticmethod
    def from_counts(times_ns: NDArray[np.uint64], counts: NDArray[np.uint64]) -> Histogram:
        """The histogram that `counts` told of. Raises ValueError: not as many counts as times."""

    def record(self, times_ns: NDArray[np.uint64]) -> None:
        """Count each of these times once."""

    def add(self, other: Histogram) -> None:
        """Count what another one counted."""

    def percentile(self, percent: float) -> int:
        """A time that `percent` % of all are not above, and 0.1 % above the least such at most.

        Raises ValueError: no times, percent outside 0..100.
        """

    def counts(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The times that were counted, ascending, and how often: `from_counts` makes the same
        histogram of them."""

@final
class Response:
    """One whole answer, as fetched by `Engine.fetch`."""

    outcome: int
    status: int
    headers: list[tuple[bytes, bytes]]
    """As sent, in order; without trailers and without the CGI header Status."""
    body: bytes
    stderr: bytes
    detail: str
    """What went wrong in words, empty when ok (for example 'connection refused')."""

@final
class Engine:
    """A generator for one address, in a closed loop (`run`) or an open one (`run_open`); epoll, one
    thread unless a run asks for more, connections kept over runs when `keep_alive`.

    `address` is `unix:/path` or `tcp:HOST:PORT` (a numeric address). All targets are of one
    transport; for FastCGI `keep_alive` sets FCGI_KEEP_CONN, for HTTP it reuses connections (a
    server's `Connection: close` is honoured). The GIL is released while it runs. A reused
    connection that the peer closed before any byte of the answer is opened again once and the
    request sent again (a keep-alive race, not a failure); `connects` shows it. A kept FastCGI
    connection occupies its php-fpm worker until `close`, also between runs. Time-outs are noticed
    up to 80 ms late. One thread at a time (RuntimeError otherwise); not to be used after a fork.
    """

    def __init__(
        self,
        address: str,
        targets: Sequence[Target],
        *,
        keep_alive: bool = True,
        connect_timeout_ns: int = 2_000_000_000,
        response_timeout_ns: int = 30_000_000_000,
    ) -> None:
        """Raises ValueError: bad address, no targets, mixed transports. Opens no connection yet."""

    def run(self, sequence: NDArray[np.uint32], *, concurrency: int = 1, max_failures: int = 2**62, threads: int = 1) -> Samples:
        """Send `targets[i]` for every i of `sequence`, `concurrency` at a time, and return when
        each has an outcome.

        Connections are dealt in turn to `threads` threads, the calling one and further ones, and
        rows in turn to the connections: which thread sends which row is known before. Each has its
        own connections; what a thread has left over, no other takes.

        Raises IndexError (an index outside the targets), KeyboardInterrupt (checked at least every
        100 ms), OSError (epoll, out of file descriptors or threads), ValueError (concurrency,
        max_failures or threads of 0, more threads than connections), TypeError (not a
        one-dimensional uint32 array). Never raises for what a server does: that is in `outcome`.
        After `max_failures` outcomes other than ok and wrong_body, what was not sent yet is
        `abandoned`; what is in flight still ends. After as many time-outs in a row, without a
        complete answer in between, as requests may be in flight (on all threads) the server hangs:
        it is asked no more, and what is in flight is `abandoned` too.
        """

    def run_open(
        self,
        sequence: NDArray[np.uint32],
        offsets_ns: NDArray[np.uint64],
        *,
        connections: int,
        max_failures: int = 2**62,
        threads: int = 1,
    ) -> Samples:
        """Send `targets[sequence[i]]` `offsets_ns[i]` after the zero of the schedule
        (`started_ns`), whatever became of earlier requests.

        Requests go out in order, on at most `connections` connections, opened as they are needed; a
        request for which there is none waits for one, of several `threads` for one of its own
        thread's. Spins for 0.25 ms before a request is due: each thread wants a core of its own.
        Raises and ends as `run`; ValueError also for connections of 0, and for offsets that
        descend, are over 2**62 or not as many as requests.
        """

    def fetch(self, target: int, *, max_bytes: int = 64 * 2**20) -> Response:
        """One request, the whole answer kept (a body over max_bytes: outcome malformed). Does not
        check the expected length.

        Raises IndexError, KeyboardInterrupt and OSError as `run`. STDERR is cut at max_bytes.
        """

    def close(self) -> None:
        """Close the kept connections. Idempotent; the engine may be run again."""

@final
class Frame:
    """One whole IPROTO request (Tarantool), built once, with what a valid answer looks like.

    Each time that it is sent, only its sync is written anew: the eight bytes at `sync_offset`, the
    digits of an MP_UINT64, so the byte before is 0xcf. An answer is ok when its type is 0 and the
    length of its body lies in [min_bytes, max_bytes]; with `body` it must be these very bytes, and
    min_bytes and max_bytes do not count. An error of the server's is `wrong_status`, its code in
    `status`.
    """

    def __init__(self, request: bytes, sync_offset: int, *, min_bytes: int = 0, max_bytes: int = 2**62, body: bytes | None = None) -> None:
        """Raises ValueError: not exactly one request, its sync not at `sync_offset`, min_bytes over
        max_bytes."""

@final
class Pipeline:
    """A generator that keeps many prebuilt requests in flight on one connection to a Tarantool
    server, to find what that server can do at most; epoll, one thread, the connection kept over
    runs.

    `address` as of `Engine`. Requests go out as many in one write as the window lets, and answers,
    matched by their sync, may come in any order; pushes are skipped. It reads between writes, so a
    server that stops reading until its answers are read cannot block it. By default types and
    lengths of answers are checked, never their MessagePack; for more see `Frame`. The GIL is
    released while it runs. Time-outs are noticed up to 80 ms late. One thread at a time
    (RuntimeError otherwise); not to be used after a fork.
    """

    failure: str
    """Why the last run ended early, in words (for example 'connection refused'); empty when it did
    not, or was interrupted."""

    def __init__(
        self,
        address: str,
        frames: Sequence[Frame],
        *,
        connect_timeout_ns: int = 2_000_000_000,
        response_timeout_ns: int = 30_000_000_000,
    ) -> None:
        """`connect_timeout_ns` is to the end of the server's greeting. Raises ValueError: bad
        address, no frames. Connects not yet."""

    def run(self, sequence: NDArray[np.uint32], *, window: int = 1, max_failures: int = 2**62) -> Samples:
        """Send `frames[i]` for every i of `sequence`, `window` of them in flight, and return when
        each has an outcome.

        All requests of one write have the same `sent_ns`, all answers of one read the same
        `first_byte_ns` (when their header was there) and `done_ns`. Making the connection is no
        part of any request, nor of started to ended.

        What breaks the connection ends the run: a close, a time-out, bytes that are not IPROTO, an
        answer to nobody's sync or to sync 0 (what the server says when it cannot read a request).
        Requests in flight get it as their outcome (of a time-out only those that are overdue),
        without a connection the first `window` of them; the others are `abandoned`, and `failure`
        says why. After `max_failures` outcomes other than ok nothing more is sent; what is in
        flight still ends.

        Raises as `Engine.run`: IndexError, KeyboardInterrupt, OSError, TypeError, ValueError
        (window or max_failures of 0).
        """

    def close(self) -> None:
        """Close the kept connection. Idempotent; the pipeline may be run again."""
