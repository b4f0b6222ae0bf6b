"""Watching the host: others' load, the busiest of them, swapping, steal since boot."""

import time
from pathlib import Path

import pytest

from phpdyno.host.checkup import sample
from tests.support.made_up.hosts import made_up

STAT = "cpu  {busy} 0 0 {idle} 0 0 0 {steal} 0 0\n"
PROCESS = "77 (php (8.2) fpm) S 1 77 77 0 -1 0 0 0 0 0 {user} {system} 0 0 20 0 1 0 5 0\n"


def files(busy: int, idle: int, steal: int, *, ticks: int, swapped: int) -> dict[str, str]:
    return {
        "/proc/stat": STAT.format(busy=busy, idle=idle, steal=steal),
        "/proc/77/stat": PROCESS.format(user=ticks, system=ticks),
        "/proc/vmstat": f"pgfault 9\npswpin {swapped}\npswpout 1\n",
    }


def test_a_moment_is_compared_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = made_up(tmp_path, files(1000, 8000, 1000, ticks=10, swapped=5))

    def pass_time(_: float) -> None:
        made_up(tmp_path, files(1100, 8080, 1020, ticks=50, swapped=8))

    clock = iter([100.0, 101.0])
    wall = iter([5000.0, 5003.5])
    monkeypatch.setattr(time, "sleep", pass_time)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(time, "time", lambda: next(wall))
    found = sample.take_sample(tree)
    assert found is not None
    assert found.steal_since_boot == pytest.approx(1020 / 5100)
    assert found.others_cores == pytest.approx(100 / sample._TICKS_PER_S, abs=0.2)
    ((pid, name, cores),) = found.busiest
    assert (pid, name) == (77, "php (8.2) fpm")
    assert cores == pytest.approx(80 / sample._TICKS_PER_S)
    assert found.swapped_pages == 3
    assert found.step_s == pytest.approx(2.5)


def test_a_quiet_host_names_nobody(tmp_path: Path) -> None:
    found = sample.take_sample(made_up(tmp_path, files(1000, 8000, 0, ticks=10, swapped=5)), seconds=0.0)
    assert found is not None
    assert (found.steal_since_boot, found.busiest, found.swapped_pages) == (0.0, (), 0)
    assert abs(found.step_s) < 0.001


def test_a_broken_stat_is_unknown(tmp_path: Path) -> None:
    assert sample.take_sample(made_up(tmp_path, {"/proc/stat": "nothing\n"}), seconds=0.0) is None
