"""Fake servers that tests of the contract share, and an interrupt."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from tests.contract.fake_servers import HELLO, FakeServer, always, hang


@pytest.fixture
def hello() -> Iterator[FakeServer]:
    with FakeServer(always(HELLO)) as server:
        yield server


@pytest.fixture
def hanging() -> Iterator[FakeServer]:
    with FakeServer(hang) as server:
        yield server


@pytest.fixture
def interrupted_soon() -> Iterator[list[float]]:
    """SIGINT to ourselves in 0.2 s; the list gets the time when it was sent."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.2, send)
    timer.start()
    yield sent
    timer.join()
