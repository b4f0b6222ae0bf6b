"""What is really tried: the clock, the counters, files, sockets. Nothing may stay."""

import os
from pathlib import Path

import pytest

from phpdyno.host.checkup.disk import SOCKET_TAIL, look_at, nearest, try_socket
from phpdyno.host.checkup.trials import try_clock, try_cycles, wall_clock_synchronised
from phpdyno.paths import cache_dir, cache_path, service_user
from phpdyno.stack.guardian import LIVE_PREFIX


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


def test_an_account_without_a_name_is_known_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    monkeypatch.setattr(os, "getegid", lambda: 4_000_001)
    user = service_user()
    assert (user.name, user.group, user.switch) == ("4000000", "4000001", False)
