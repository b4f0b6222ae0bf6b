"""What `_native.pyi` promises of runs on several threads, held against the built module."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from phpdyno._native import Engine
from tests.contract.fake_servers import HELLO, FakeServer, always, get
from tests.contract.test_native_contract import DTYPES, MS, names, zeros


def test_rows_keep_their_order_and_columns_their_types(hello: FakeServer) -> None:
    sequence = np.tile(np.array([0, 1, 1], np.uint32), 100)
    samples = Engine(hello.address, [get("/a"), get("/b", status=404)]).run(sequence, concurrency=5, threads=2)
    assert samples.target.tolist() == sequence.tolist()
    assert names(samples) == [("ok", "wrong_status")[target] for target in sequence]
    for name, dtype in DTYPES.items():
        column = getattr(samples, name)
        assert (column.dtype, column.shape) == (dtype, (300,)), name
        assert not column.flags.owndata, name
    assert samples.connects == 5
    assert samples.other_threads_cpu_ns > 0
    assert samples.started_ns <= samples.sent_ns.min()
    assert samples.done_ns.max() <= samples.ended_ns


def test_one_schedule_on_several_threads(hello: FakeServer) -> None:
    offsets = np.arange(100, dtype=np.uint64) * MS
    samples = Engine(hello.address, [get()]).run_open(zeros(100), offsets, connections=4, threads=2)
    assert names(samples) == ["ok"] * 100
    assert np.array_equal(samples.intended_ns, samples.started_ns + offsets)
    assert np.all((samples.intended_ns <= samples.ready_ns) & (samples.ready_ns <= samples.sent_ns))


def test_connections_are_kept_by_the_threads(tmp_path: Path) -> None:
    with FakeServer(always(HELLO), tmp_path / "fake.sock") as server:
        engine = Engine(server.address, [get()])
        assert [engine.run(zeros(20), concurrency=4, threads=2).connects for _ in range(2)] == [4, 0]
        engine.close()
        assert engine.run(zeros(20), concurrency=4, threads=2).connects == 4


@pytest.mark.parametrize(
    ("concurrency", "threads", "complaint"), [(4, 0, "threads must be at least 1"), (1, 2, "2 threads for 1 connections")]
)
def test_bad_widths(concurrency: int, threads: int, complaint: str, hello: FakeServer) -> None:
    engine = Engine(hello.address, [get()])
    with pytest.raises(ValueError, match=complaint):
        engine.run(zeros(1), concurrency=concurrency, threads=threads)
    with pytest.raises(ValueError, match=complaint):
        engine.run_open(zeros(1), np.zeros(1, np.uint64), connections=concurrency, threads=threads)


@pytest.mark.parametrize(
    "call",
    [
        lambda engine: engine.run(zeros(10), concurrency=4, threads=4),
        lambda engine: engine.run_open(zeros(2), np.array([0, 3600_000 * MS], np.uint64), connections=4, threads=2),
    ],
)
def test_an_interrupt_ends_all_threads(call: Callable[[Engine], object], hanging: FakeServer, interrupted_soon: list[float]) -> None:
    engine = Engine(hanging.address, [get()])
    with pytest.raises(KeyboardInterrupt):
        call(engine)
    assert time.monotonic() - interrupted_soon[0] < 5
    with FakeServer(always(HELLO)) as server:
        assert names(Engine(server.address, [get()]).run(zeros(1))) == ["ok"]


def test_a_server_that_hangs_costs_one_time_out(hanging: FakeServer) -> None:
    samples = Engine(hanging.address, [get()], response_timeout_ns=100 * MS).run(zeros(1000), concurrency=4, threads=2)
    # One after the other they would take 25 s.
    assert 100 * MS <= samples.ended_ns - samples.started_ns < 5000 * MS
    assert names(samples).count("timed_out") == 4
    assert names(samples).count("abandoned") == 996
