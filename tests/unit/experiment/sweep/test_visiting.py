"""What is read around a visit. `FakeInstance` and `FakeDriver` stand for a pool and the load core:
no server runs."""

import os
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from phpdyno.errors import DynoError
from phpdyno.experiment.common.slot import SharedMeters
from phpdyno.experiment.sweep import visiting
from phpdyno.experiment.sweep.visiting import EVERY, Guest, Visitor, VisitOrder, excluded_for
from phpdyno.host.clock import HostCpu
from phpdyno.host.cores import split_cores
from phpdyno.model.runs.readings import PoolMemory, PoolStatus, QueueLevel
from phpdyno.model.runs.sweep import Point, Visit
from phpdyno.stats.visits import throughput_of
from tests.support.fakes.fake_stage import fake_samples
from tests.support.made_up.sweeps.sweeps import MS, arm, plan_of

STATUS = PoolStatus(10, 0, 0, 0, idle=2, active=3, total=5, max_active=4, max_children_reached=1, slow_requests=0)
MEMORY = PoolMemory(5, 100_000, 20_000.0, 9_000.0, 40_000, 15_000)
CLOSED = VisitOrder(Point(2), np.array([0, 1, 0, 1], dtype=np.uint32))
OPEN = VisitOrder(Point(2, 0.7), CLOSED.sequence, np.array([0, MS, 2 * MS, 3 * MS], dtype=np.uint64), 1000.0)


@pytest.fixture(autouse=True)
def nothing_is_stolen(monkeypatch: pytest.MonkeyPatch) -> None:
    """One stolen tick would be all of a visit that takes a millisecond."""
    monkeypatch.setattr(visiting, "read_host_cpu", lambda cores: HostCpu(0, 0, 0))
    monkeypatch.setattr(visiting, "read_each", lambda cores: (HostCpu(0, 0, 0),))


def noting(log: list[str], answer: Any) -> Any:
    """Something that is asked: notes of whom, and gives the answer."""

    def ask(whom: object) -> Any:
        log.append(str(whom))
        return answer

    return ask


class FakeMeter:
    """Two milliseconds more at every reading."""

    def __init__(self) -> None:
        self.total = 0

    def read_ns(self) -> int:
        self.total += 2 * MS
        return self.total

    def close(self) -> None:
        """Nothing is open."""


class FakeInstance:
    """A pool that nobody listens for."""

    def __init__(self) -> None:
        self.arm = arm()
        self.number = 1
        self.php_meter = FakeMeter()
        self.web_meter = None
        self.fastcgi = "unix:/nonexistent/fake.sock"
        self.status = "unix:/nonexistent/status.sock"
        self.php_pid = os.getpid()

    def await_idle(self) -> None:
        """It is."""


class FakeDriver:
    """Answers in 5 ms (target 0) or 9 ms (target 1); the last `failing` requests get no answer."""

    def __init__(self, concurrency: int, failing: int = 0, late_ns: int = 0) -> None:
        self.concurrency = concurrency
        self.least_slot_ns = 0
        self.threads = 1
        self.failing = failing
        self.late_ns = late_ns
        self.driven: list[int] = []
        self.closed = False

    def drive(self, sequence: NDArray[np.uint32]) -> Any:
        self.driven.append(int(sequence.size))
        return self._run(sequence, np.zeros(sequence.size, dtype=np.uint64), 0)

    def drive_open(self, sequence: NDArray[np.uint32], offsets_ns: NDArray[np.uint64]) -> Any:
        self.driven.append(int(sequence.size))
        return self._run(sequence, offsets_ns, self.late_ns)

    def close(self) -> None:
        self.closed = True

    def _run(self, sequence: NDArray[np.uint32], intended: NDArray[np.uint64], late_ns: int) -> Any:
        sent = intended + np.uint64(late_ns)
        done = sent + np.where(sequence == 0, 5 * MS, 9 * MS).astype(np.uint64)
        outcome = np.zeros(sequence.size, dtype=np.uint8)
        if self.failing:
            outcome[-self.failing :] = 4
            done[-self.failing :] = 0
        return fake_samples(
            sequence, intended_ns=intended, ready_ns=intended, sent_ns=sent, done_ns=done, outcome=outcome, ended_ns=20 * MS
        )


def visited(order: VisitOrder, driver: FakeDriver, *, remember: bool = False, instance: FakeInstance | None = None) -> Visit:
    visitor = Visitor(
        plan_of(points=(order.point,)),
        split_cores(),
        SharedMeters(None, FakeMeter()),
        driver=lambda *_: cast(Any, driver),
        network_apart=False,
    )
    with Guest(cast(Any, instance or FakeInstance())) as guest:
        return visitor.visit(guest, order, 3, remember=remember)


def test_the_cpu_of_the_generators_other_threads_counts() -> None:
    class FakeThreads(FakeDriver):
        def drive(self, sequence: NDArray[np.uint32]) -> Any:
            samples = super().drive(sequence)
            samples.other_threads_cpu_ns = 7000 * MS
            return samples

    driver = FakeThreads(2)
    driver.threads = 2
    seen = visited(CLOSED, driver)
    assert seen.threads == 2
    assert seen.cpu.generator_ns >= 7000 * MS


def test_a_closed_visit_counts_answers_times_and_cpu() -> None:
    driver = FakeDriver(2)
    seen = visited(CLOSED, driver)
    assert driver.driven == [2, 4]  # as many as are in flight are discarded
    assert driver.closed
    assert (seen.arm, seen.point, seen.round, seen.requests, seen.valid) == ("control", Point(2), 3, 4, 4)
    assert throughput_of(seen) == pytest.approx(200.0)
    assert [(each.target, each.counts) for each in seen.times] == [(0, (2,)), (1, (2,))]
    assert seen.times[0].times_ns[0] == pytest.approx(5 * MS, rel=0.002)
    assert (seen.cpu.php_ns, seen.cpu.web_ns, seen.cpu.database_ns, seen.cpu.network_apart) == (2 * MS, None, None, False)
    assert seen.cpu.generator_ns >= 0
    assert seen.cpu.wall_ns > 0
    assert (seen.excluded, seen.kinds, seen.lag_p99_ns, seen.queued, seen.rate_per_s, seen.threads) == ("", {}, 0, 0, 0.0, 1)
    # Nobody listens there, and nothing was asked.
    assert (seen.queue, seen.memory, seen.status, seen.busy_workers) == (None, None, None, None)


def test_failed_requests_are_counted_by_kind_and_exclude_nothing() -> None:
    seen = visited(CLOSED, FakeDriver(2, failing=3))
    assert (seen.requests, seen.valid, seen.kinds, seen.excluded) == (4, 1, {"closed_early": 3}, "")
    assert [(each.target, each.counts) for each in seen.times] == [(0, (1,))]


def test_a_visit_in_which_everything_fails_is_a_visit() -> None:
    for order in (CLOSED, OPEN):
        seen = visited(order, FakeDriver(2, failing=4))
        assert (seen.valid, seen.times, seen.excluded) == (0, (), "")


def test_an_open_visit_has_response_times_from_the_intended_ones() -> None:
    driver = FakeDriver(2, late_ns=40_000)
    seen = visited(OPEN, driver)
    assert seen.times[0].times_ns[0] == pytest.approx(5.04 * MS, rel=0.002)
    assert (seen.lag_p99_ns, seen.queued, seen.rate_per_s, seen.lag_fraction) == (40_000, 0, 1000.0, 0.0)
    assert seen.excluded == ""


def test_an_open_visit_whose_generator_was_late_does_not_count() -> None:
    assert visited(OPEN, FakeDriver(2, late_ns=3 * MS)).excluded == "generator late"


def test_covariates_exclude_in_the_order_in_which_they_were_declared() -> None:
    plan = plan_of()
    assert excluded_for(plan, 0.25, 0.25, None) == ""
    assert excluded_for(plan, 0.27, 0.30, None) == "steal 27.0%"
    assert excluded_for(plan, 0.0, 0.30, None) == "generator late for 30.0%"


def test_memory_is_read_before_the_status_page_is_first_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(visiting, "read_pool_memory", noting(order, MEMORY))
    monkeypatch.setattr(visiting, "read_pool_status", noting(order, STATUS))
    before = visited(CLOSED, FakeDriver(2))
    assert (before.memory, before.status, order) == (None, None, [])
    largest = visited(CLOSED, FakeDriver(2), remember=True)
    assert (largest.memory, largest.status, order) == (MEMORY, STATUS, [str(os.getpid()), "unix:/nonexistent/status.sock"])


class FakeQueue:
    """A queue with three in it."""

    def read(self) -> QueueLevel:
        return QueueLevel(3, 511)


def watched(instance: FakeInstance, *, asking: bool, samples: int) -> Guest:
    guest = Guest(cast(Any, instance))
    guest.asking = asking
    guest._queue = cast(Any, FakeQueue())
    guest.sampler((), 1)
    assert [guest.read().waiting for _ in range(samples)] == [3] * samples
    return guest


def test_workers_are_counted_with_every_second_sample_once_that_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(visiting, "read_pool_status", noting(asked, STATUS))
    assert watched(FakeInstance(), asking=False, samples=6).busy_workers() is None
    assert asked == []
    guest = watched(FakeInstance(), asking=True, samples=6)
    assert (guest.busy_workers(), len(asked)) == (3.0, 6 // EVERY)
    guest.sampler((), 2)  # the next visit begins anew
    assert guest.busy_workers() is None


def test_a_page_at_the_pools_own_socket_takes_a_worker_and_is_not_asked_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visiting, "read_pool_status", lambda _: STATUS)
    instance = FakeInstance()
    instance.status = instance.fastcgi
    guest = watched(instance, asking=True, samples=6)
    assert guest.busy_workers() is None
    assert guest.status() == STATUS


def test_a_page_that_does_not_answer_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(_: str) -> PoolStatus:
        raise DynoError("php-fpm's status page does not answer")

    monkeypatch.setattr(visiting, "read_pool_status", silent)
    guest = watched(FakeInstance(), asking=True, samples=4)
    assert (guest.busy_workers(), guest.status()) == (None, None)


def test_what_driving_costs_is_that_of_the_driving_thread() -> None:
    class Busy(FakeDriver):
        """Turns for a while."""

        def drive(self, sequence: NDArray[np.uint32]) -> Any:
            for _ in range(200_000):
                pass
            return super().drive(sequence)

    assert visited(CLOSED, Busy(2)).cpu.generator_ns > 500_000
