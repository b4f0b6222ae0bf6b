"""Where an instance may run while it answers its first requests: real processes that sleep stand
for its own."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from phpdyno._native import OUTCOMES
from phpdyno.experiment.common import first_requests as waking
from phpdyno.host.cores import Cores, near
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.instance import ArmFailed

CORES = sorted(os.sched_getaffinity(0))
POOL = 100
several_cores = pytest.mark.skipif(len(CORES) < 2, reason="one core only")


@pytest.fixture
def family() -> Iterator[tuple[int, int]]:
    """A process on the last core with one child; their numbers."""
    command = ["taskset", "-c", str(CORES[-1]), "sh", "-c", "sleep 30 & wait"]
    with subprocess.Popen(command, start_new_session=True) as parent:
        while not children_of(parent.pid):
            time.sleep(0.001)
        yield parent.pid, children_of(parent.pid)[0]
        os.killpg(parent.pid, 9)


class FakeAnswer(str):
    """A whole answer; `hangs` stands for none."""

    __slots__ = ()

    @property
    def outcome(self) -> int:
        return OUTCOMES.index("timed_out" if self == "hangs" else "ok")


def fake_lane(pid: int, fetch: Any) -> Any:
    arm = Arm("control", PhpBuild("/usr/sbin/php-fpm8.2", "8.2.36"))
    driver = SimpleNamespace(fetch=lambda target: FakeAnswer(fetch(target)))
    return SimpleNamespace(instance=SimpleNamespace(php_pid=pid, arm=arm), driver=driver)


def wake(driven_instances: list[Any], targets: int, cores: Cores, *, at_once: bool = True) -> Any:
    return waking.make_first_requests(driven_instances, targets, cores, at_once=at_once)


def affinities(family: tuple[int, int]) -> list[set[int]]:
    return [set(os.sched_getaffinity(pid)) for pid in family]


@several_cores
def test_the_whole_instance_may_use_all_cores_meanwhile_and_is_back_afterwards(family: tuple[int, int]) -> None:
    cores = Cores((CORES[-1],), tuple(CORES[:-1]))
    meanwhile: list[list[set[int]]] = []

    def fetch(target: int) -> str:
        meanwhile.append(affinities(family))
        return f"answer {target}"

    assert wake([fake_lane(family[0], fetch)], 2, cores) == [["answer 0", "answer 1"]]
    assert meanwhile == [[set(near(cores))] * 2] * 2
    assert affinities(family) == [{CORES[-1]}] * 2


@several_cores
def test_it_is_back_after_a_failure_too(family: tuple[int, int]) -> None:
    def fetch(_: int) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wake([fake_lane(family[0], fetch)], 1, Cores((CORES[-1],), tuple(CORES[:-1])))
    assert affinities(family) == [{CORES[-1]}] * 2


@several_cores
def test_what_is_being_forked_while_it_is_moved_back_is_moved_back_as_well() -> None:
    """A pool whose first worker answers long before the last one is there."""
    forking = "sleep 30 &\n" * POOL + "wait"  # no loop, for which it would wait before it forks
    command = ["taskset", "-c", str(CORES[-1]), "sh", "-c", forking]
    with subprocess.Popen(command, start_new_session=True) as leader:
        try:
            while not children_of(leader.pid):
                time.sleep(0.001)
            wake([fake_lane(leader.pid, lambda _: "first")], 1, Cores((CORES[-1],), tuple(CORES[:-1])))
            pool = children_of(leader.pid)
            assert len(pool) == POOL
            assert {tuple(os.sched_getaffinity(pid)) for pid in pool} == {(CORES[-1],)}
        finally:
            os.killpg(leader.pid, 9)


@several_cores
def test_one_that_does_not_come_back_is_not_measured(family: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waking, "HOME_S", 0.05)
    monkeypatch.setattr(waking, "_is_home", lambda *_: False)
    with pytest.raises(ArmFailed, match="control: its processes are not all on the cores that it is measured on"):
        wake([fake_lane(family[0], lambda _: "answer")], 1, Cores((CORES[-1],), tuple(CORES[:-1])))


def test_answers_come_in_the_order_of_the_lanes_whoever_is_first() -> None:
    def slow(_: int) -> str:
        time.sleep(0.02)
        return "slow"

    driven_instances = [fake_lane(os.getpid(), fetch) for fetch in (slow, lambda _: "fast")]

    assert wake(driven_instances, 1, Cores(tuple(CORES), tuple(CORES))) == [["slow"], ["fast"]]


@several_cores
def test_one_at_a_time_each_stays_on_the_measured_cores(family: tuple[int, int]) -> None:
    under_way: list[str] = []

    def slow(_: int) -> str:
        under_way.append("slow begins")
        assert affinities(family) == [{CORES[-1]}] * 2
        time.sleep(0.02)
        under_way.append("slow ends")
        return "slow"

    def fast(_: int) -> str:
        under_way.append("fast")
        return "fast"

    driven_instances = [fake_lane(family[0], fetch) for fetch in (slow, fast)]
    assert wake(driven_instances, 1, Cores((CORES[-1],), tuple(CORES[:-1])), at_once=False) == [["slow"], ["fast"]]
    assert under_way == ["slow begins", "slow ends", "fast"]


@pytest.mark.parametrize("at_once", [True, False])
def test_what_hangs_is_waited_for_once(at_once: bool) -> None:
    asked: list[int] = []

    def fetch(target: int) -> str:
        asked.append(target)
        return "hangs" if target == 1 else "answer"

    cores = Cores(tuple(CORES), tuple(CORES))
    assert wake([fake_lane(os.getpid(), fetch)], 10, cores, at_once=at_once) == [["answer", *["hangs"] * 9]]
    assert asked == [0, 1]


def test_a_process_that_is_gone_disturbs_nobody() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()

    assert wake([fake_lane(ended.pid, lambda _: "no answer")], 1, Cores((CORES[-1],), (CORES[0],))) == [["no answer"]]


def test_only_helpers_that_share_the_measured_cores_memory(tmp_path: Path) -> None:
    for core, node in ((0, 0), (1, 1), (2, 1), (3, 0)):
        (tmp_path / f"sys/devices/system/cpu/cpu{core}/node{node}").mkdir(parents=True)

    assert near(Cores((3,), (0, 1, 2)), tmp_path) == (0, 3)
    assert near(Cores((2, 3), (0, 1)), tmp_path) == (0, 1, 2, 3)


def test_a_host_that_tells_no_memory_nodes_has_one(tmp_path: Path) -> None:
    assert near(Cores((1,), (0,)), tmp_path) == (0, 1)
