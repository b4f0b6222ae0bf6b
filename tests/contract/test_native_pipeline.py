"""What `_native.pyi` promises of `Frame` and `Pipeline`, held against the built module and a fake
Tarantool."""

import socket
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from phpdyno._native import OUTCOMES, Frame, Pipeline, Samples
from tests.contract.fake_servers import FakeServer, hang
from tests.support.real.iproto import EMPTY, GREETING, OK, PING, SYNC_OFFSET, answer, read_packet, request

MS = 1_000_000


def zeros(rows: int) -> NDArray[np.uint32]:
    return np.zeros(rows, np.uint32)


def names(samples: Samples) -> list[str]:
    return [OUTCOMES[code] for code in samples.outcome]


def ping(**expected: Any) -> Frame:
    return Frame(request(PING), SYNC_OFFSET, **expected)


def pong(peer: socket.socket) -> None:
    peer.sendall(GREETING)
    while content := read_packet(peer):
        peer.sendall(answer(OK, int.from_bytes(content[5:13])))


def greet_and_hang(peer: socket.socket) -> None:
    peer.sendall(GREETING)
    hang(peer)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(pong) as server:
        yield server


def test_one_row_per_request(server: FakeServer) -> None:
    pipeline = Pipeline(server.address, [ping(body=EMPTY), ping(min_bytes=2), ping(body=b"\x90")])
    samples = pipeline.run(np.array([0, 1, 2, 0, 0], np.uint32), window=2)
    assert names(samples) == ["ok", "wrong_length", "wrong_body", "ok", "ok"]
    assert (samples.target.tolist(), samples.body_bytes.tolist()) == ([0, 1, 2, 0, 0], [1] * 5)
    assert np.all(samples.started_ns <= samples.sent_ns)
    assert np.all(samples.first_byte_ns <= samples.done_ns)
    assert (samples.intended_ns.size, samples.connects, pipeline.failure) == (0, 1, "")
    assert pipeline.run(zeros(1)).connects == 0
    pipeline.close()
    pipeline.close()
    assert pipeline.run(zeros(1)).connects == 1


def test_after_max_failures_the_rest_is_abandoned(server: FakeServer) -> None:
    samples = Pipeline(server.address, [ping(max_bytes=0)]).run(zeros(4), max_failures=2)
    assert names(samples) == ["wrong_length", "wrong_length", "abandoned", "abandoned"]


def test_what_breaks_the_connection_is_said_in_words() -> None:
    with FakeServer(greet_and_hang) as server:
        pipeline = Pipeline(server.address, [ping()], response_timeout_ns=100 * MS)
        assert names(pipeline.run(zeros(3), window=2)) == ["timed_out", "timed_out", "abandoned"]
        assert pipeline.failure == "no complete response within the response time-out"
    pipeline = Pipeline(server.address, [ping()])
    assert names(pipeline.run(zeros(3), window=2)) == ["connect_failed", "connect_failed", "abandoned"]
    assert pipeline.failure == "connection refused"


def test_mistakes_are_exceptions(server: FakeServer) -> None:
    with pytest.raises(ValueError, match="0xcf"):
        Frame(request(PING), SYNC_OFFSET + 1)
    with pytest.raises(ValueError, match="not an IPROTO request"):
        Frame(request(PING) + EMPTY, SYNC_OFFSET)
    with pytest.raises(ValueError, match="min_bytes"):
        ping(min_bytes=2, max_bytes=1)
    with pytest.raises(ValueError, match="frame"):
        Pipeline(server.address, [])
    with pytest.raises(ValueError, match="bad address"):
        Pipeline("localhost:3301", [ping()])
    pipeline = Pipeline(server.address, [ping()])
    with pytest.raises(IndexError, match="frame 1 does not exist"):
        pipeline.run(np.array([0, 1], np.uint32))
    for wrong in ({"window": 0}, {"max_failures": 0}):
        with pytest.raises(ValueError, match="must be at least 1"):
            pipeline.run(zeros(1), **wrong)
    wrong_type: Any = [0]
    with pytest.raises(TypeError):
        pipeline.run(wrong_type)
    assert names(pipeline.run(zeros(1))) == ["ok"]


def test_an_interrupt_ends_a_hanging_run(interrupted_soon: list[float]) -> None:
    with FakeServer(greet_and_hang) as server:
        pipeline = Pipeline(server.address, [ping()])
        with pytest.raises(KeyboardInterrupt):
            pipeline.run(zeros(10), window=3)
    assert time.monotonic() - interrupted_soon[0] < 5
