"""Cores, cgroups, clock, lock: what the host gives and what it does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.host.clock import HostCpu, read_each, read_host_cpu, stolen_over, stolen_share
from phpdyno.host.cores import split_cores
from phpdyno.host.lock import MeasuringLock, holding_on


def test_the_instance_gets_cores_of_its_own() -> None:
    assert split_cores((0, 1)).measured == (1,)
    assert split_cores((0, 1)).helpers == (0,)
    assert split_cores((0, 1, 2, 3), workers=2).measured == (2, 3)


def test_where_arms_are_compared_under_load_a_third_of_the_cores_is_for_the_rest() -> None:
    def helpers(cores: int, workers: int) -> int:
        return len(split_cores(tuple(range(cores)), workers=workers, compared=True).helpers)

    assert [helpers(cores, 2 * cores) for cores in (2, 4, 6, 8, 16)] == [1, 1, 2, 2, 5]
    assert helpers(16, 1) == 15
    assert split_cores((0, 1, 2, 3), workers=9).helpers == (0,)
    assert split_cores((5,)).measured == split_cores((5,)).helpers == (5,)


def test_nginx_runs_beside_php_only_where_that_is_asked_for() -> None:
    assert split_cores((0, 1, 2), workers=2).nginx == ()
    assert split_cores((0, 1, 2), workers=2, nginx_beside_php=True).nginx == (1, 2)
    assert split_cores((5,), nginx_beside_php=True).nginx == ()


def test_no_hierarchy_that_may_be_written_means_none(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"cgroup2 {tmp_path} cgroup2 rw 0 0\nproc /proc proc rw 0 0\n")
    assert find_cpu_groups(mounts) is None
    assert not list(tmp_path.glob("phpdyno-probe*"))


def test_what_another_account_mounts_is_passed_over(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    forged = b"x\x0bcgroup2\xc2\xa0" + bytes(tmp_path) + b"\xc2\xa0cgroup2\xc2\xa0rw"
    mounts.write_bytes(b"drive /home/u/\xff fuse rw 0 0\ndrive /home/u/" + forged + b" fuse rw 0 0\n")
    assert find_cpu_groups(mounts) is None


def test_steal_is_a_share_of_the_time_in_which_there_was_work(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  10 0 10 70 5 1 1 3 0 0\n")
    read = read_host_cpu(stat)
    assert (read.busy_ns, read.idle_ns, read.steal_ns) == (220_000_000, 750_000_000, 30_000_000)
    assert stolen_share(HostCpu(0, 0, 0), read) == pytest.approx(3 / 50)
    assert stolen_share(read, read) == 0.0


def test_steal_of_the_measured_core_is_a_share_of_the_time_in_which_it_had_work(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  60 0 0 125 0 0 0 15 0 0\ncpu0 10 0 0 90 0 0 0 0 0 0\ncpu1 50 0 0 35 0 0 0 15 0 0\nintr 1 2\n")
    nothing = HostCpu(0, 0, 0)
    assert stolen_share(nothing, read_host_cpu(stat, cores=(1,))) == pytest.approx(15 / 65)
    assert stolen_share(nothing, read_host_cpu(stat, cores=(0,))) == 0.0
    assert read_host_cpu(stat, cores=(0, 1)) == read_host_cpu(stat)


EIGHT = "cpu  0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{core} {{{core}}}\n" for core in range(8))


def each_of(path: Path, *ticks: tuple[int, int, int]) -> tuple[HostCpu, ...]:
    """Eight cores: busy, idle and stolen ticks of the first ones, the others idle for a second."""
    held = [*ticks, *[(1, 99, 0)] * (8 - len(ticks))]
    path.write_text(EIGHT.format(*(f"{busy} 0 0 {idle} 0 0 0 {steal} 0 0" for busy, idle, steal in held)))
    return read_each(path, tuple(range(8)))


@pytest.mark.parametrize(
    ("ticks", "share"),
    [
        # One thread on one of eight cores: what is stolen from it is not hidden by those that idle.
        ([(90, 0, 10)], 0.10),
        ([(90, 0, 10)] * 8, 0.10),
        ([(90, 0, 10)] * 3, 0.10),
        ([(45, 50, 5)] * 2, 0.10),
        # A tick on an idle core is no sign of anything.
        ([(90, 10, 0), (0, 99, 1)], 0.0),
        # Without work anywhere a few ticks make no large share.
        ([(1, 98, 1)] * 8, 0.02),
    ],
)
def test_steal_counts_on_the_cores_that_have_work(ticks: list[tuple[int, int, int]], share: float, tmp_path: Path) -> None:
    nothing = (HostCpu(0, 0, 0),) * 8
    assert stolen_over(nothing, each_of(tmp_path / "stat", *ticks)) == pytest.approx(share)


def test_each_core_is_read_by_itself_and_one_that_is_not_there_is_nothing(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    each = each_of(stat, (90, 0, 10), (10, 90, 0))
    assert read_each(stat, (1, 0, 9)) == (each[1], each[0], HostCpu(0, 0, 0))
    assert read_each(stat) == (read_host_cpu(stat),)


LOCK = f"\0phpdyno-test-lock-{os.getpid()}"


def another_takes_it() -> str:
    """What another process is told that wants to measure now; '' where it may."""
    asked = "import sys; from phpdyno.host.lock import MeasuringLock\nwith MeasuringLock('\\0' + sys.argv[1]): pass"
    answer = subprocess.run([sys.executable, "-c", asked, LOCK[1:]], capture_output=True, text=True, check=False)
    return answer.stderr.strip().rpartition("\n")[2]


def test_two_measurements_at_once_are_refused_and_the_lock_ends_with_its_holder() -> None:
    with MeasuringLock(LOCK):
        # Its own parts are not another's.
        with MeasuringLock(LOCK):
            pass
        assert f"another phpdyno is measuring on this host (process {os.getpid()})" in another_takes_it()
    assert another_takes_it() == ""


def test_whoever_can_wait_has_it_when_the_first_is_done() -> None:
    told: list[str] = []
    order: list[str] = []
    takes = "import sys; from phpdyno.host.lock import MeasuringLock\nwith MeasuringLock('\\0' + sys.argv[1]): "
    holds = f"{takes}print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holds, LOCK[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout
        first.stdout.readline()

        def tell(what: str) -> None:
            told.append(what)
            order.append("first")
            first.communicate()

        with MeasuringLock(LOCK, waiting=tell):
            order.append("second")
            assert first.poll() == 0
            assert "another phpdyno is measuring" in another_takes_it()
    assert order == ["first", "second"]
    assert told == [f"another phpdyno is at work on this host (process {first.pid}); waiting for it"]
    with MeasuringLock(LOCK, waiting=told.append):
        assert len(told) == 1


def test_nobody_comes_between_the_parts_of_a_command() -> None:
    with holding_on():
        with MeasuringLock(LOCK), MeasuringLock(LOCK):
            pass
        assert "another phpdyno is measuring" in another_takes_it()
    assert another_takes_it() == ""
    with MeasuringLock(LOCK), holding_on():
        pass
    assert another_takes_it() == ""
