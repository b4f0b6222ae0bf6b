"""What `_native.pyi` promises of the open loop and of histograms, held against the built module."""

import numpy as np
import pytest

from phpdyno._native import Engine, Histogram
from phpdyno.stats.percentile import percentile
from tests.contract.fake_servers import FakeServer, get
from tests.contract.test_native_contract import DTYPES, MS, names, zeros


def test_an_open_loop_sends_at_intended_times_and_tells_waiting_from_lag(hello: FakeServer) -> None:
    offsets = np.arange(100, dtype=np.uint64) * MS
    samples = Engine(hello.address, [get()]).run_open(zeros(200)[::2], offsets, connections=20)
    assert names(samples) == ["ok"] * 100
    for name, dtype in DTYPES.items() | {("intended_ns", np.uint64), ("ready_ns", np.uint64)}:
        column = getattr(samples, name)
        assert (column.dtype, column.shape) == (dtype, (100,)), name
        assert not column.flags.owndata, name
    assert np.array_equal(samples.intended_ns, samples.started_ns + offsets)
    assert np.all((samples.intended_ns <= samples.ready_ns) & (samples.ready_ns <= samples.sent_ns) & (samples.sent_ns < samples.done_ns))


def test_a_closed_loop_intends_no_times(hello: FakeServer) -> None:
    samples = Engine(hello.address, [get()]).run(zeros(3))
    assert samples.intended_ns.shape == samples.ready_ns.shape == (0,)


def test_bad_open_runs(hello: FakeServer) -> None:
    engine = Engine(hello.address, [get()])
    for offsets, options, complaint in [
        ([0], {"connections": 0}, "connections must be at least 1"),
        ([0], {"connections": 1, "max_failures": 0}, "max_failures"),
        ([0, 1], {"connections": 1}, "2 offsets for 1 requests"),
        ([2**63], {"connections": 1}, "is over"),
    ]:
        with pytest.raises(ValueError, match=complaint):
            engine.run_open(zeros(1), np.array(offsets, np.uint64), **options)
    with pytest.raises(ValueError, match="descend"):
        engine.run_open(zeros(2), np.array([1, 0], np.uint64), connections=1)
    with pytest.raises(TypeError):
        engine.run_open(zeros(1), np.zeros(1, np.float64), connections=1)
    with pytest.raises(IndexError):
        engine.run_open(zeros(1) + np.uint32(1), np.zeros(1, np.uint64), connections=1)


def test_a_histogram_keeps_percentiles_to_three_digits_and_can_be_written_down() -> None:
    rng = np.random.default_rng(1)
    times = (rng.lognormal(14.0, 1.0, 20_000)).astype(np.uint64)
    histogram, rest = Histogram(), Histogram()
    histogram.record(times[:15_000])
    rest.record(times[15_000:])
    histogram.add(rest)
    again = Histogram.from_counts(*histogram.counts())
    assert histogram.count == again.count == 20_000
    for percent in (0.1, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0):
        exact = percentile(times, percent)
        assert exact <= histogram.percentile(percent) <= exact * 1.001
        assert again.percentile(percent) == histogram.percentile(percent)


def test_bad_histograms() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        Histogram().percentile(50.0)
    with pytest.raises(ValueError, match="between 0 and 100, not 101"):
        Histogram.from_counts(np.ones(1, np.uint64), np.ones(1, np.uint64)).percentile(101.0)
    with pytest.raises(ValueError, match="2 counts for 1 times"):
        Histogram.from_counts(np.ones(1, np.uint64), np.ones(2, np.uint64))
    with pytest.raises(TypeError):
        Histogram().record(np.ones(1))  # type: ignore[arg-type]
