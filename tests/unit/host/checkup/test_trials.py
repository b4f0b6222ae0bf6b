"""What is really tried: the clock, the counters, files, sockets. Nothing may stay."""

import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from phpdyno.host.checkup.disk import SOCKET_TAIL, look_at, nearest, try_socket
from phpdyno.host.checkup.trials import try_clock, try_cycles, try_steal, wall_clock_synchronised
from phpdyno.paths import cache_dir, cache_path, service_user
from phpdyno.servers.supervision.live_directory import LIVE_PREFIX


def open_files() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def test_the_steady_clock_does_not_go_back_and_our_cores_are_ours_again() -> None:
    before = os.sched_getaffinity(0)
    found = try_clock(tuple(sorted(before)), reads=2_000, hops_per_core=20)
    assert os.sched_getaffinity(0) == before
    assert found.backwards_ns == 0
    assert found.hops == 20 * len(before)
    assert found.resolution_ns >= 1
    assert found.read_ns > 0


STAT = "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu{core} {busy} 0 0 5000 0 0 0 {steal} 0 0\n"


def fake_time(monkeypatch: pytest.MonkeyPatch, after: Callable[[], object]) -> None:
    """A clock that passes a quarter of a second each time it is read; `after` happens within the
    first."""
    ticks = itertools.count()

    def monotonic() -> float:
        if (now := next(ticks)) == 1:
            after()
        return now / 4

    monkeypatch.setattr(time, "monotonic", monotonic)


@pytest.mark.parametrize(("busy", "steal", "share"), [(80, 20, 0.2), (100, 0, 0.0), (20, 20, None), (0, 0, None)])
def test_steal_of_a_core_that_we_keep_busy(
    busy: int, steal: int, share: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = max(os.sched_getaffinity(0))
    stat = tmp_path / "stat"
    stat.write_text(STAT.format(core=core, busy=1000, steal=9))
    fake_time(monkeypatch, lambda: stat.write_text(STAT.format(core=core, busy=1000 + busy, steal=9 + steal)))
    found = try_steal((core,), 0.75, stat)
    assert (found.cores, found.share) == ((core,), None if share is None else pytest.approx(share))


def test_of_several_cores_one_is_kept_busy_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    last = max(os.sched_getaffinity(0))
    others = tuple(last + 1 + further for further in range(7))
    stat = tmp_path / "stat"

    def ticks(busy: int, steal: int) -> str:
        idle = "".join(f"cpu{core} 0 0 0 5000 0 0 0 0 0 0\n" for core in others)
        return STAT.format(core=last, busy=busy, steal=steal) + idle

    stat.write_text(ticks(1000, 9))
    fake_time(monkeypatch, lambda: stat.write_text(ticks(1090, 19)))
    found = try_steal((*others, last), 0.75, stat)
    assert found.cores == (last,)
    assert found.share == pytest.approx(0.1)


def test_the_core_is_really_kept_busy_and_ours_again() -> None:
    before = os.sched_getaffinity(0)
    used = time.thread_time()
    found = try_steal((max(before),), 0.1)
    assert found.seconds >= 0.1
    assert time.thread_time() - used > 0.02
    assert os.sched_getaffinity(0) == before


def test_steal_that_is_not_shown(tmp_path: Path) -> None:
    core = max(os.sched_getaffinity(0))
    assert try_steal((core,), 0.0, tmp_path / "gone").share is None
    (tmp_path / "stat").write_text("cpu0 nothing\n")
    assert try_steal((0,), 0.0, tmp_path / "stat").share is None


def test_counting_cycles_leaves_no_descriptor() -> None:
    before = open_files()
    found = try_cycles()
    assert found.outcome in {"counts", "absent", "forbidden"}
    assert found.detail
    assert open_files() == before


def test_the_kernel_says_whether_the_wall_clock_is_steered() -> None:
    assert wall_clock_synchronised() in {True, False}


def test_a_place_is_tried_without_a_trace(tmp_path: Path) -> None:
    found = look_at(tmp_path / "not" / "there", for_service=False, flush=True)
    assert (found.there, found.refused, found.closed) == (str(tmp_path), "", "")
    assert found.free_kib
    assert found.flush_s is not None
    assert found.flush_s > 0
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_unnamed_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def refusing(path: str, flags: int, *rest: int, **more: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(95, "Operation not supported")
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refusing)
    found = look_at(tmp_path, for_service=False, flush=True)
    assert found.refused == ""
    assert found.flush_s is not None
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_takes_no_file() -> None:
    assert look_at(Path("/proc/self"), for_service=False).refused


def test_a_directory_closed_to_others_on_the_way(tmp_path: Path) -> None:
    (tmp_path / "closed" / "inner").mkdir(parents=True)
    (tmp_path / "closed").chmod(0o700)
    # pytest's own directory is closed to others as well, so the first on the way is named.
    assert look_at(tmp_path / "closed" / "inner", for_service=True).closed
    assert look_at(Path("/tmp"), for_service=True).closed == ""


def test_the_nearest_directory_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert nearest(tmp_path / "file" / "below") == tmp_path


def test_sockets_of_a_live_root(tmp_path: Path) -> None:
    short = Path("/tmp")
    before = {path.name for path in short.glob(f"{LIVE_PREFIX}*")}
    assert try_socket(short) == ""
    assert {path.name for path in short.glob(f"{LIVE_PREFIX}*")} <= before
    long = Path("/tmp") / ("x" * (108 - len("/tmp/") - len(SOCKET_TAIL)))
    assert "107 bytes" in try_socket(long)
    assert try_socket(tmp_path.parent / "gone" if len(str(tmp_path)) < 60 else Path("/tmp/gone-phpdyno")) == "No such file or directory"


def test_looking_at_the_cache_does_not_make_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHPDYNO_CACHE", str(tmp_path / "cache"))
    assert not cache_path().exists()
    assert cache_dir().is_dir()


def test_the_cache_is_where_its_files_really_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    monkeypatch.chdir(tmp_path)
    for named in ("disk/cache", "link/cache", str(tmp_path / "link" / "cache")):
        monkeypatch.setenv("PHPDYNO_CACHE", named)
        assert cache_path() == tmp_path / "disk" / "cache", named
    monkeypatch.delenv("PHPDYNO_CACHE")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "link"))
    assert cache_path() == tmp_path / "disk" / "phpdyno"


def test_an_account_without_a_name_is_known_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    monkeypatch.setattr(os, "getegid", lambda: 4_000_001)
    user = service_user()
    assert (user.name, user.group, user.switch) == ("4000000", "4000001", False)
