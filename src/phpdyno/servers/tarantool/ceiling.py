"""The row of the lab that is no client: our own load core, which sends what was built before and
looks at little of what comes back."""

import json
import os
import random
import time
from pathlib import Path

import numpy as np

from phpdyno._native import Pipeline
from phpdyno.errors import DynoError
from phpdyno.model.arm import Arm
from phpdyno.model.facts import WorkerFacts
from phpdyno.servers.facts.meter import Meter
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.tarantool.iproto_requests import FETCHED, frames_of, request_of, restoring, shown
from phpdyno.servers.tarantool.server import SharedSpace

TIMEOUT_NS = 30_000_000_000
SEED = 1
PROOF = 1_000
"""So many requests are sent at the start, and the server is asked how many it has carried out
since."""
NO_PROCESS = (1 << 22) + 1
"""Linux gives out none above 1 << 22."""


class ThreadMeter:
    """CPU time of the thread that asks: the load core runs in it."""

    def read_ns(self) -> int:
        """Since the thread began."""
        return time.thread_time_ns()

    def close(self) -> None:
        """Nothing is kept open."""


class CeilingInstance:
    """A connection of the load core, which is made at once, where the server listens now."""

    def __init__(self, arm: Arm, number: int, space: SharedSpace, address: str, operation: str, *, in_flight: int) -> None:
        """Raises ArmFailed for an operation that cannot be built beforehand, or where the server
        does not answer it."""
        self.arm = arm
        self.number = number
        self.in_flight = in_flight
        self.php_meter: Meter = ThreadMeter()
        self.web_meter: Meter | None = None
        self.space = space
        self._server = space.server
        self._operation = operation
        keys = [*range(1, space.server.settings.tuples + 1)]
        random.Random(SEED).shuffle(keys)  # noqa: S311 (an order, no secret)
        self.frames = len(keys)
        try:
            self.pipeline = Pipeline(address, frames_of(operation, tuple(keys)), response_timeout_ns=TIMEOUT_NS)
        except DynoError as error:
            raise ArmFailed(arm, error.what) from error
        try:
            self._prove(arm)
        except BaseException:
            self.pipeline.close()
            raise

    def _prove(self, arm: Arm) -> None:
        """Prove that what the load core counts is carried out. (Other clients may connect
        meanwhile, so the server may count more.)"""
        before = self._server.requests()
        self.pipeline.run(np.arange(PROOF, dtype=np.uint32), window=self.in_flight)
        if self.pipeline.failure:
            raise ArmFailed(arm, f"the load core is not served: {self.pipeline.failure}")
        counted = self._server.requests() - before
        if counted < PROOF:
            raise ArmFailed(arm, f"the load core sent {PROOF} requests, and the server carried out {counted}")

    @property
    def php_pid(self) -> int:
        """A number that no process has: it is our own, which nobody is to move from its cores."""
        return NO_PROCESS

    def fetch_one(self) -> bytes:
        """One answer, as all connectors show it. Raises DynoError."""
        answer = self._server.perform(*request_of(self._operation, FETCHED))
        self._server.perform(*restoring(FETCHED))
        return json.dumps(shown(self._operation, answer), separators=(",", ":")).encode()

    def read_facts(self, env_names: tuple[str, ...]) -> WorkerFacts:
        """Facts that say there is no PHP in it."""
        return WorkerFacts(
            pid=os.getpid(),
            php_version="",
            exe=str(Path("/proc/self/exe").readlink()),
            build_id="",
            opcache_so="",
            socket_family="unix",
            workers=1,
            ini={},
            env={},
            extensions=(),
            realpath_cache_bytes=0,
            anon_huge_kib=0,
            hugetlb_kib=0,
        )

    def worker_kib(self) -> int | None:
        """Not told: it is a part of our own process."""
        return None

    def await_idle(self) -> None:
        """It is, when it has returned."""

    def crashes(self) -> str:
        """Nothing of it can."""
        return ""

    def complaint(self) -> str:
        """Why its last run ended early."""
        return self.pipeline.failure

    def broken(self) -> str:
        """Nothing of it can end by itself."""
        return ""

    def ask_to_end(self) -> None:
        """Nothing runs."""

    def stop(self) -> None:
        """Close the connection."""
        self.pipeline.close()
