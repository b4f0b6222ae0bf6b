"""Drives one instance: one slot at a time, and single fetches whose whole answer is kept."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from phpdyno._native import OUTCOMES, Engine
from phpdyno._native import Response as NativeResponse
from phpdyno._native import Samples as NativeSamples
from phpdyno._native import Target as NativeTarget
from phpdyno.drive.open_samples import OpenSamples

MAX_FAILURES_PER_SLOT = 3
RESPONSE_TIMEOUT_NS = 30_000_000_000
GIVEN_UP = "abandoned"
"""The kind of failure of requests after which the slot was stopped: too many failed, or the server
hangs."""


class Samples(Protocol):
    """What one slot yields: a row per request, in the order of the sequence; see
    `phpdyno._native.Samples`."""

    sent_ns: NDArray[np.uint64]
    first_byte_ns: NDArray[np.uint64]
    done_ns: NDArray[np.uint64]
    status: NDArray[np.uint16]
    body_bytes: NDArray[np.uint64]
    target: NDArray[np.uint32]
    outcome: NDArray[np.uint8]
    started_ns: int
    ended_ns: int


class OpenRun(Samples, OpenSamples, Protocol):
    """What an open loop yields: the columns of a slot, and when each request was to be sent and
    could be."""


class Response(Protocol):
    """One whole answer; `outcome` and `detail` as of `phpdyno._native.Response`."""

    outcome: int
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    detail: str


class Driver(Protocol):
    """The generator's side of one instance: whole slots, and single fetches whose answer is
    kept."""

    concurrency: int
    least_slot_ns: int
    """In shorter slots, the command to perform it would weigh in what is measured."""

    def drive(self, sequence: NDArray[np.uint32]) -> Samples:
        """One slot: ask for the targets of `sequence`, closed loop, and return when each has an
        outcome."""

    def fetch(self, target: int) -> Response:
        """One request, the whole answer kept."""

    def close(self) -> None:
        """Give up its connections."""


class LoopDriver(Driver, Protocol):
    """A driver of closed and open loops, on so many threads."""

    threads: int

    def drive_open(self, sequence: NDArray[np.uint32], offsets_ns: NDArray[np.uint64]) -> OpenRun:
        """Ask for the targets of `sequence` at these times from the start, whatever became of
        earlier ones; `concurrency` connections at most."""


class NativeDriver:
    """HTTP and FastCGI through the native load core. `address` is `unix:/path` or
    `tcp:HOST:PORT`."""

    def __init__(
        self,
        address: str,
        targets: Sequence[NativeTarget],
        *,
        keep_alive: bool,
        concurrency: int = 1,
        max_failures: int = MAX_FAILURES_PER_SLOT,
        threads: int = 1,
        release: bool = False,
        response_timeout_ns: int = RESPONSE_TIMEOUT_NS,
    ) -> None:
        """`threads` share the requests in flight, at most one for each of them. `release`: after
        every slot and every fetch all connections are given up, as a kept one of FastCGI holds its
        worker, from our own questions too.
        """
        self._engine = Engine(address, targets, keep_alive=keep_alive, response_timeout_ns=response_timeout_ns)
        self.concurrency = concurrency
        self.least_slot_ns = 0
        self._max_failures = max_failures
        self.threads = min(threads, concurrency)
        self._release = release

    def drive(self, sequence: NDArray[np.uint32]) -> NativeSamples:
        """One slot: send the targets of `sequence`, closed loop."""
        try:
            return self._engine.run(sequence, concurrency=self.concurrency, max_failures=self._max_failures, threads=self.threads)
        finally:
            self._rest()

    def drive_open(self, sequence: NDArray[np.uint32], offsets_ns: NDArray[np.uint64]) -> NativeSamples:
        """Send each target of `sequence` so many nanoseconds after the start, on `concurrency`
        connections at most."""
        try:
            return self._engine.run_open(
                sequence, offsets_ns, connections=self.concurrency, max_failures=self._max_failures, threads=self.threads
            )
        finally:
            self._rest()

    def fetch(self, target: int) -> NativeResponse:
        """One request, the whole answer kept."""
        try:
            return self._engine.fetch(target)
        finally:
            self._rest()

    def close(self) -> None:
        """Close its connections."""
        self._engine.close()

    def _rest(self) -> None:
        if self._release:
            self._engine.close()


def failure_kinds(samples: Samples) -> Counter[str]:
    """Requests without a valid answer, by kind (`closed_early`, `wrong_status (502)`)."""
    kinds: Counter[str] = Counter()
    if samples.outcome.any():
        for outcome, status in zip(samples.outcome.tolist(), samples.status.tolist(), strict=True):
            if outcome:
                kinds[OUTCOMES[outcome] + (f" ({status})" if OUTCOMES[outcome] == "wrong_status" else "")] += 1
    return kinds


def failures(samples: Samples) -> str:
    """The failed requests of a slot in words; '' when there are none."""
    return in_words(failure_kinds(samples))


def in_words(kinds: Mapping[str, int]) -> str:
    """Failures in words (`2 closed_early, 1 wrong_status (502)`), those never waited for last; ''
    when there are none."""
    said = ", ".join(f"{count} {kind}" for kind, count in Counter(kinds).most_common() if kind != GIVEN_UP)
    rest = f"the rest ({kinds[GIVEN_UP]}) not sent or not waited for" if kinds.get(GIVEN_UP) else ""
    return "; ".join(part for part in (said, rest) if part)
