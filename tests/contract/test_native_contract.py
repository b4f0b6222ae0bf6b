"""What `_native.pyi` promises, held against the built module."""

import ast
import errno
import gc
import os
import resource
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import phpdyno._native as native
from phpdyno._native import OUTCOMES, Engine, Response, Samples, Target
from phpdyno.drive.driver import failures
from tests.contract.fake_servers import DEADLINE_S, HELLO, FakeServer, Held, always, get

MS = 1_000_000
DTYPES = {
    "sent_ns": np.uint64,
    "first_byte_ns": np.uint64,
    "done_ns": np.uint64,
    "status": np.uint16,
    "body_bytes": np.uint64,
    "target": np.uint32,
    "outcome": np.uint8,
}


def zeros(rows: int) -> NDArray[np.uint32]:
    return np.zeros(rows, np.uint32)


def names(samples: Samples) -> list[str]:
    return [OUTCOMES[code] for code in samples.outcome]


def test_every_name_of_the_stub_exists() -> None:
    stub = ast.parse((Path(native.__file__).parent / "_native.pyi").read_text())
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            known = getattr(native, node.name)
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    assert callable(getattr(known, item.name)), item.name
                elif isinstance(item, ast.AnnAssign):
                    assert isinstance(item.target, ast.Name)
                    assert hasattr(known, item.target.id), item.target.id
    assert OUTCOMES == (
        "ok", "wrong_status", "wrong_length", "connect_failed", "closed_early", "timed_out", "malformed", "abandoned",
        "wrong_body",
    )  # fmt: skip


def test_columns_have_their_types_and_one_row_per_request(hello: FakeServer) -> None:
    before = time.monotonic_ns()
    samples = Engine(hello.address, [get()]).run(zeros(100), concurrency=3)
    after = time.monotonic_ns()
    for name, dtype in DTYPES.items():
        column = getattr(samples, name)
        assert (column.dtype, column.shape) == (dtype, (100,)), name
    assert names(samples) == ["ok"] * 100
    assert np.all(samples.status == 200)
    assert np.all(samples.body_bytes == 5)
    assert before <= samples.started_ns <= samples.sent_ns.min()
    assert samples.done_ns.max() <= samples.ended_ns <= after
    assert np.all((samples.sent_ns < samples.first_byte_ns) & (samples.first_byte_ns <= samples.done_ns))
    assert (samples.connects, samples.stderr_bytes) == (3, 0)


def test_columns_are_moved_not_copied_and_outlive_the_run(hello: FakeServer) -> None:
    samples = Engine(hello.address, [get()]).run(zeros(10))
    columns = {name: getattr(samples, name) for name in DTYPES}
    for name, column in columns.items():
        # The memory is the vector of the run: numpy holds it through a base object instead of
        # owning a copy.
        assert not column.flags.owndata, name
        assert column.base is not None, name
        assert not isinstance(column.base, np.ndarray), name
        assert column.flags.writeable, name
        assert column.flags.c_contiguous, name
        assert getattr(samples, name) is column, name
    kept = columns["body_bytes"]
    del samples, columns
    gc.collect()
    assert np.all(kept == 5)


def test_the_sequence_is_copied_and_may_have_gaps(hello: FakeServer) -> None:
    sequence = np.array([0, 1, 1, 1, 0, 1], np.uint32)
    samples = Engine(hello.address, [get("/a"), get("/b", status=404)]).run(sequence[::2])
    sequence[:] = 7
    assert samples.target.tolist() == [0, 1, 0]
    assert names(samples) == ["ok", "wrong_status", "ok"]


def test_an_empty_sequence(hello: FakeServer) -> None:
    samples = Engine(hello.address, [get()]).run(zeros(0), concurrency=5)
    assert samples.outcome.shape == (0,)
    assert samples.connects == 0


def test_lengths_are_judged_by_run_and_not_by_fetch(hello: FakeServer) -> None:
    engine = Engine(hello.address, [get(min_bytes=6), get(max_bytes=4), get(min_bytes=5, max_bytes=5)])
    samples = engine.run(np.array([0, 1, 2], np.uint32))
    assert names(samples) == ["wrong_length", "wrong_length", "ok"]
    assert np.all(samples.done_ns > 0)
    assert OUTCOMES[engine.fetch(0).outcome] == "ok"


def test_a_fetch_is_the_whole_answer(hello: FakeServer) -> None:
    response = Engine(hello.address, [get()]).fetch(0)
    assert isinstance(response, Response)
    assert (response.outcome, response.status, response.detail) == (0, 200, "")
    assert response.headers == [(b"Content-Length", b"5"), (b"X-Fake", b"yes")]
    assert (response.body, response.stderr) == (b"hello", b"")


def test_a_fetch_says_what_went_wrong(hello: FakeServer, tmp_path: Path) -> None:
    engine = Engine(hello.address, [get(), get(status=201)])
    too_large = engine.fetch(0, max_bytes=4)
    assert (OUTCOMES[too_large.outcome], too_large.detail) == ("malformed", "the body is larger than the limit of this fetch")
    other = engine.fetch(1)
    assert (OUTCOMES[other.outcome], other.detail) == ("wrong_status", "status 200, expected 201")
    nobody = Engine(f"unix:{tmp_path}/nobody.sock", [get()]).fetch(0)
    assert (OUTCOMES[nobody.outcome], nobody.status, nobody.detail) == ("connect_failed", 0, "no such socket")


def test_connections_are_kept_over_runs_until_closed(tmp_path: Path) -> None:
    with FakeServer(always(HELLO), tmp_path / "fake.sock") as server:
        engine = Engine(server.address, [get()])
        assert [engine.run(zeros(20), concurrency=2).connects for _ in range(2)] == [2, 0]
        engine.close()
        engine.close()
        assert engine.run(zeros(2)).connects == 1
        assert Engine(server.address, [get()], keep_alive=False).run(zeros(20), concurrency=2).connects == 20


def test_the_outcomes_of_bad_servers() -> None:
    for answer, outcome in [
        (b"SSH-2.0-OpenSSH\r\n", "malformed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", "malformed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "timed_out"),
    ]:
        with FakeServer(always(answer)) as server:
            samples = Engine(server.address, [get()], response_timeout_ns=100 * MS).run(zeros(2), concurrency=2)
            assert names(samples) == [outcome] * 2
            assert np.all(samples.done_ns == 0)


def test_after_max_failures_the_rest_is_abandoned(hello: FakeServer) -> None:
    samples = Engine(hello.address, [get(status=404)]).run(zeros(5), max_failures=2)
    assert names(samples) == ["wrong_status", "wrong_status", "abandoned", "abandoned", "abandoned"]
    assert samples.sent_ns[2:].tolist() == [0, 0, 0]
    assert samples.target.tolist() == [0] * 5


def test_a_server_that_hangs_costs_one_time_out_and_is_said_in_words(hanging: FakeServer) -> None:
    samples = Engine(hanging.address, [get()], response_timeout_ns=100 * MS).run(zeros(1000), concurrency=4)
    # One after the other they would take 25 s.
    assert 100 * MS <= samples.ended_ns - samples.started_ns < 5000 * MS
    assert failures(samples) == "4 timed_out; the rest (996) not sent or not waited for"


def test_a_bad_engine_is_a_value_error() -> None:
    fastcgi = Target.fastcgi([(b"A", b"b")], status=200)
    for address, targets in [
        ("localhost:80", [get()]),
        ("tcp:localhost:80", [get()]),
        ("unix:relative.sock", [get()]),
        ("unix:/" + "x" * 200, [get()]),
        ("tcp:127.0.0.1:80", []),
        ("tcp:127.0.0.1:80", [get(), fastcgi]),
    ]:
        with pytest.raises(ValueError, match=r"address|target"):
            Engine(address, targets)


def test_a_bad_target_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="blank line"):
        Target.http(b"GET / HTTP/1.1\r\n", status=200)
    for status in (0, 99, 1000):
        with pytest.raises(ValueError, match="status"):
            get(status=status)
    with pytest.raises(ValueError, match="min_bytes"):
        get(min_bytes=2, max_bytes=1)


def test_bad_runs(hello: FakeServer) -> None:
    engine = Engine(hello.address, [get()])
    with pytest.raises(IndexError, match="target 1 does not exist"):
        engine.run(np.array([0, 1], np.uint32))
    for target in (1, -1):
        with pytest.raises(IndexError, match="does not exist"):
            engine.fetch(target)
    with pytest.raises(ValueError, match="concurrency"):
        engine.run(zeros(1), concurrency=0)
    with pytest.raises(ValueError, match="max_failures"):
        engine.run(zeros(1), max_failures=0)
    wrong: Any
    for wrong in (np.zeros(1, np.int64), np.zeros((1, 1), np.uint32), [0]):
        with pytest.raises(TypeError):
            engine.run(wrong)
    assert names(engine.run(zeros(1))) == ["ok"]


def test_no_more_file_descriptors_is_an_os_error(hanging: FakeServer, hello: FakeServer) -> None:
    engine = Engine(hanging.address, [get()])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free + 1, hard))
    try:
        with pytest.raises(OSError, match="file") as caught:
            engine.run(zeros(10), concurrency=10)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert caught.value.errno == errno.EMFILE
    assert names(Engine(hello.address, [get()]).run(zeros(1))) == ["ok"]


@pytest.mark.parametrize(
    "call",
    [
        lambda engine: engine.run(zeros(10), concurrency=3),
        lambda engine: engine.run_open(zeros(2), np.array([0, 3600_000 * MS], np.uint64), connections=3),
        lambda engine: engine.fetch(0),
    ],
)
def test_an_interrupt_ends_a_hanging_call(call: Callable[[Engine], object], hanging: FakeServer, interrupted_soon: list[float]) -> None:
    engine = Engine(hanging.address, [get()])
    with pytest.raises(KeyboardInterrupt):
        call(engine)
    assert time.monotonic() - interrupted_soon[0] < 5
    with FakeServer(always(HELLO)) as server:
        assert names(Engine(server.address, [get()]).run(zeros(1))) == ["ok"]


def test_a_handler_that_does_not_raise_does_not_end_the_run(hanging: FakeServer) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: seen.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        samples = Engine(hanging.address, [get()], response_timeout_ns=300 * MS).run(zeros(1))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert names(samples) == ["timed_out"]
    assert seen == [signal.SIGALRM]


def test_other_threads_go_on_while_it_runs() -> None:
    held = Held()

    def go_on() -> None:
        held.asked.wait(DEADLINE_S)
        held.free.set()

    thread = threading.Thread(target=go_on)
    with FakeServer(held.serve) as server:
        thread.start()
        samples = Engine(server.address, [get()]).run(zeros(1))
    thread.join()
    assert names(samples) == ["ok"]


def test_one_engine_is_for_one_thread_at_a_time() -> None:
    held = Held()
    with FakeServer(held.serve) as server:
        engine = Engine(server.address, [get()])
        thread = threading.Thread(target=engine.run, args=(zeros(1),))
        thread.start()
        assert held.asked.wait(DEADLINE_S)
        with pytest.raises(RuntimeError, match="borrowed"):
            engine.close()
        held.free.set()
        thread.join()
        engine.close()


def test_a_body_is_held_against_its_pattern() -> None:
    """A gap of one to three digits; what differs is kept with its row, and ends no run."""
    pattern = native.BodyPattern([b"at ", b" end"], [(1, 3, b"0123456789")])
    assert pattern.fits(b"at 12 end")
    assert not pattern.fits(b"at 1234 end")
    body = b"at x end"
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with FakeServer(always(answer)) as server:
        engine = Engine(server.address, [Target.http(b"GET / HTTP/1.1\r\nHost: fake\r\n\r\n", status=200, body=pattern)])
        samples = engine.run(zeros(20), max_failures=1)
        assert names(samples) == ["wrong_body"] * 20
        assert samples.different == [(row, body) for row in range(8)]
        assert engine.fetch(0).body == body
    for literals, gaps in (([], []), ([b"a", b"b"], []), ([b"a", b"b"], [(3, 2, b"")])):
        with pytest.raises(ValueError, match="gap"):
            native.BodyPattern(literals, gaps)
