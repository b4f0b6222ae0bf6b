"""A stage that starts nothing, for unit tests of the measuring loop: instances whose requests cost
made-up CPU and take no time of ours."""

import os
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phpdyno.host.cores import Cores
from phpdyno.model.arm import Arm
from tests.support.made_up.facts import NO_OPCACHE

MS = 1_000_000
PAGE = b"<html><body>" + b"<p>some words of a page</p>" * 40 + b"</body></html>"


def fake_samples(sequence: NDArray[np.uint32], *, done_ns: NDArray[np.uint64], **named: Any) -> Any:
    """What the load core tells of requests that were all answered, but for what is `named`."""
    told = {
        "first_byte_ns": done_ns,
        "done_ns": done_ns,
        "status": np.full(sequence.size, 200, dtype=np.uint16),
        "body_bytes": np.full(sequence.size, 10, dtype=np.uint64),
        "target": sequence,
        "outcome": np.zeros(sequence.size, dtype=np.uint8),
        "started_ns": 0,
    }
    return SimpleNamespace(**(told | named))


class FakeMeter:
    """CPU time that its driver puts there."""

    def __init__(self) -> None:
        self.used_ns = 0

    def read_ns(self) -> int:
        return self.used_ns


class FakeInstance:
    """A worker that is always idle, has no opcache to warm, and answers with one page; its number
    is how many were started before it."""

    web_meter = None

    def __init__(self, arm: Arm, number: int, meanwhile: Callable[["FakeInstance", int], None]) -> None:
        self.arm = arm
        self.number = number
        self.php_meter = FakeMeter()
        self.php_pid = os.getpid()
        self.driver = FakeDriver(self, meanwhile)

    def read_facts(self, env_names: tuple[str, ...]) -> Any:
        return NO_OPCACHE

    def worker_kib(self) -> int | None:
        return None

    def await_idle(self) -> None:
        """It is."""

    def crashes(self) -> str:
        return ""

    complaint = broken = crashes


class FakeDriver:
    """One request at a time, a millisecond each by the samples, and about as much CPU; `meanwhile`
    is told of every slot's size."""

    concurrency = 1
    least_slot_ns = 0

    def __init__(self, instance: FakeInstance, meanwhile: Callable[[FakeInstance, int], None]) -> None:
        self._instance = instance
        self._meanwhile = meanwhile
        self._rng = np.random.default_rng(instance.number)

    def fetch(self, target: int) -> Any:
        return SimpleNamespace(outcome=0, status=200, headers=[(b"Content-Type", b"text/html")], body=PAGE, detail="")

    def drive(self, sequence: NDArray[np.uint32]) -> Any:
        self._meanwhile(self._instance, sequence.size)
        self._instance.php_meter.used_ns += round(sequence.size * MS * (1.0 + 0.02 * self._rng.random()))
        sent = np.arange(sequence.size, dtype=np.uint64) * np.uint64(MS)
        return fake_samples(sequence, sent_ns=sent, done_ns=sent + np.uint64(MS), ended_ns=sequence.size * MS)


class FakeStage:
    """Starts `FakeInstance`s, numbered from 0 on."""

    supervisor: Any = None
    app: Any = None
    database = None

    def __init__(self, meanwhile: Callable[[FakeInstance, int], None] = lambda instance, size: None) -> None:
        every = tuple(sorted(os.sched_getaffinity(0)))
        self.cores = Cores(every, every)
        self._meanwhile = meanwhile
        self._started = 0

    def start(self, arms: Sequence[Arm]) -> Any:
        made = [FakeInstance(arm, self._started + place, self._meanwhile) for place, arm in enumerate(arms)]
        self._started += len(made)
        return made

    def stop(self, instances: Sequence[Any]) -> None:
        """Nothing runs."""
