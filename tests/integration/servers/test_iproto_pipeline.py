"""The pipeline of the load core against a real Tarantool."""

import socket
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from phpdyno._native import OUTCOMES, Frame, Pipeline, Samples
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.servers.tarantool.server import ServerSettings, Tarantool, TarantoolProgram
from tests.support.real.iproto import EMPTY, PING, SYNC_OFFSET, ask_number, evaluate, request, rows, select, string, uint

pytestmark = pytest.mark.integration

TUPLES = 10_000
SPACE = 555
NO_SUCH_SPACE = 36


@pytest.fixture(scope="module", params=["unix", "tcp"])
def address(request: pytest.FixtureRequest, tarantool: TarantoolProgram) -> Iterator[str]:
    with Supervisor() as supervisor, Tarantool.start(supervisor, tarantool, ServerSettings(tuples=TUPLES)) as server:
        told = server.listen_on_unix() if request.param == "unix" else server.listen_on_tcp()
        yield told.replace("://", ":")


@pytest.fixture
def asking(address: str) -> Iterator[socket.socket]:
    """A connection of its own to ask the server what it counted."""
    family, _, rest = address.partition(":")
    with socket.socket(socket.AF_UNIX if family == "unix" else socket.AF_INET) as peer:
        peer.settimeout(10)
        peer.connect(rest if family == "unix" else ("127.0.0.1", int(rest.rpartition(":")[2])))
        assert peer.recv(128, socket.MSG_WAITALL).startswith(b"Tarantool ")
        yield peer


def zeros(count: int) -> NDArray[np.uint32]:
    return np.zeros(count, np.uint32)


def names(samples: Samples) -> list[str]:
    return [OUTCOMES[code] for code in samples.outcome]


def ping() -> Frame:
    return Frame(request(PING), SYNC_OFFSET, body=EMPTY)


def item(key: int) -> Frame:
    return Frame(select(SPACE, key), SYNC_OFFSET, body=rows(b"\x92" + uint(key) + string(f"tuple_{key}")))


def test_a_select_and_a_ping(address: str, asking: socket.socket) -> None:
    pipeline = Pipeline(address, [item(42), ping()])
    before = ask_number(asking, "box.stat().SELECT.total")
    samples = pipeline.run(np.array([0, 1, 0], np.uint32))
    assert (names(samples), pipeline.failure) == (["ok"] * 3, "")
    assert samples.body_bytes.tolist() == [18, 1, 18]
    assert ask_number(asking, "box.stat().SELECT.total") - before == 2
    pipeline.close()


@pytest.mark.parametrize("window", [1, 25, 512])
def test_the_server_counted_as_many_pings_as_were_sent(address: str, window: int, asking: socket.socket) -> None:
    pipeline = Pipeline(address, [ping()])
    # A new connection counts as a request.
    pipeline.run(zeros(1))
    before = ask_number(asking, "box.stat.net().REQUESTS.total")
    assert set(names(pipeline.run(zeros(5000), window=window))) == {"ok"}
    # The question itself is a request too.
    assert ask_number(asking, "box.stat.net().REQUESTS.total") - before == 5001


def test_a_hundred_thousand_selects_each_with_its_own_row(address: str, asking: socket.socket) -> None:
    pipeline = Pipeline(address, [item(key) for key in range(1, TUPLES + 1)])
    sequence = np.random.default_rng(1).integers(0, TUPLES, 100_000, np.uint32)
    before = ask_number(asking, "box.stat().SELECT.total")
    samples = pipeline.run(sequence, window=512)
    assert (set(names(samples)), pipeline.failure) == ({"ok"}, "")
    assert ask_number(asking, "box.stat().SELECT.total") - before == 100_000
    assert np.all(samples.started_ns <= samples.sent_ns)
    assert np.all(samples.sent_ns < samples.done_ns)
    assert np.all(samples.done_ns <= samples.ended_ns)
    assert samples.connects == 1
    assert pipeline.run(sequence[:100], window=10).connects == 0


def test_another_row_is_not_the_expected_one(address: str) -> None:
    row = rows(b"\x92" + uint(1) + string("tuple_1"))
    other = Frame(select(SPACE, 2), SYNC_OFFSET, body=row)
    nothing = Frame(select(SPACE, TUPLES + 1), SYNC_OFFSET, body=row)
    samples = Pipeline(address, [other, nothing, item(1)]).run(np.array([0, 1, 2], np.uint32), window=3)
    assert names(samples) == ["wrong_body", "wrong_length", "ok"]


def test_an_error_has_its_code_and_fails_nobody_else(address: str) -> None:
    missing = Frame(select(SPACE + 1, 1), SYNC_OFFSET)
    pipeline = Pipeline(address, [item(1), missing])
    samples = pipeline.run(np.array([0, 1, 0, 1, 0], np.uint32), window=5)
    assert names(samples) == ["ok", "wrong_status", "ok", "wrong_status", "ok"]
    assert samples.status.tolist() == [0, NO_SUCH_SPACE, 0, NO_SUCH_SPACE, 0]
    assert pipeline.failure == ""


def test_answers_come_out_of_order(address: str) -> None:
    sleep = Frame(evaluate("require('fiber').sleep(0.05)"), SYNC_OFFSET)
    samples = Pipeline(address, [sleep, ping()]).run(np.array([0, 1, 1, 1], np.uint32), window=4)
    assert names(samples) == ["ok"] * 4
    assert samples.done_ns[0] > samples.done_ns[1:].max()


def test_pushes_come_before_the_answer(address: str) -> None:
    pushing = Frame(evaluate("for i = 1, 3 do box.session.push(i) end return 7"), SYNC_OFFSET, body=rows(b"\x07"))
    samples = Pipeline(address, [pushing, ping()]).run(np.array([0, 1] * 50, np.uint32), window=20)
    assert names(samples) == ["ok"] * 100


def test_answers_that_fill_every_buffer_do_not_stop_the_requests(address: str) -> None:
    large = Frame(evaluate("return string.rep('x', 200000) --" + "x" * 200), SYNC_OFFSET, min_bytes=200_000, max_bytes=200_100)
    samples = Pipeline(address, [large]).run(zeros(1000), window=500)
    assert names(samples) == ["ok"] * 1000
