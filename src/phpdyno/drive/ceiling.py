"""Drives prebuilt requests, pipelined by the native load core, which decodes nothing: the most that
a server can do."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from phpdyno._native import OUTCOMES, Pipeline
from phpdyno._native import Samples as NativeSamples
from phpdyno.drive.script import LEAST_SLOT_NS, ScriptReply
from phpdyno.errors import DynoError
from phpdyno.host.cores import on_cores

_OK, _WRONG = OUTCOMES.index("ok"), OUTCOMES.index("wrong_status")


class CeilingDriver:
    """Keeps `in_flight` of a pipeline's `frames` on its one connection, from the cores that clients
    are measured on; `fetch_one` gives one answer as all connectors show it, or raises DynoError."""

    def __init__(self, pipeline: Pipeline, frames: int, *, in_flight: int, cores: tuple[int, ...], fetch_one: Callable[[], bytes]) -> None:
        self.concurrency = 1
        """For the loop, as of any connector."""
        self.least_slot_ns = LEAST_SLOT_NS
        self._pipeline = pipeline
        self._frames = frames
        self._in_flight = in_flight
        self._cores = cores
        self._fetch_one = fetch_one
        self._next = 0

    def drive(self, sequence: NDArray[np.uint32]) -> NativeSamples:
        """One slot of as many operations as the sequence has, each frame in its turn."""
        at = (self._next + np.arange(sequence.size, dtype=np.uint64)) % self._frames
        self._next = (self._next + int(sequence.size)) % self._frames
        with on_cores(self._cores):
            return self._pipeline.run(at.astype(np.uint32), window=self._in_flight)

    def fetch(self, target: int) -> ScriptReply:
        """One operation, its answer kept. Raises IndexError for another than the first, since a
        slot holds one."""
        if target != 0:
            raise IndexError(f"operation {target} of 1")
        try:
            return ScriptReply(_OK, 0, self._fetch_one(), [], "")
        except DynoError as error:
            return ScriptReply(_WRONG, 1, str(error).encode(), [], "")

    def close(self) -> None:
        """Nothing: the connection is the instance's."""
