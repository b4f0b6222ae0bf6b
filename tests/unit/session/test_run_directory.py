"""Where a run's directory may lie, and who may read it."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from phpdyno.commands.build import command
from phpdyno.commands.build import named as study_builds
from phpdyno.commands.build import run as build
from phpdyno.commands.build.builder import Trainee
from phpdyno.commands.build.options import BuildOptions
from phpdyno.commands.compare.run import CompareRequest
from phpdyno.commands.ladder import run as ladder
from phpdyno.commands.matrix import run as matrix
from phpdyno.commands.selfcheck import run as selfcheck
from phpdyno.commands.study import run as study
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError, UsageError
from phpdyno.model.plan import AppSource
from phpdyno.session.run_directory import check_place, make_run_dir, whose
from tests.support.fakes.fake_study import FakeProgress

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root is careful about where it writes")
BOB = 12345


def folder(mode: int, uid: int = 0, gid: int = 0) -> os.stat_result:
    return os.stat_result((stat.S_IFDIR | mode, 1, 1, 1, uid, gid, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (folder(0o755), ""),
        (folder(0o1777), ""),
        (folder(0o775), ""),
        (folder(0o755, uid=1000), ""),
        (folder(0o775, uid=1000, gid=1000), ""),
        (folder(0o755, uid=BOB), f"belongs to account number {BOB}"),
        (folder(0o1777, uid=BOB), f"belongs to account number {BOB}"),
        (folder(0o777), "everybody may write to"),
        (folder(0o775, gid=BOB), f"group {BOB} may write to"),
    ],
)
def test_who_else_could_put_a_link_there(held: os.stat_result, why: str) -> None:
    assert whose(held, trusted=(0, 1000), groups=(0, 1000)) == why


def test_without_sudo_nobody_but_root_is_trusted() -> None:
    assert whose(folder(0o755, uid=1000), trusted=(0, None), groups=(0, None))


@ROOT
def test_root_refuses_a_place_below_somebody_elses_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, BOB, BOB)
    for place in (theirs / "runs", theirs):
        with pytest.raises(UsageError, match=f"{theirs}: root writes no run below a directory that belongs to") as caught:
            make_run_dir(place, "compare", "shop")
        assert "--runs DIR" in str(caught.value)
    (tmp_path / "link").symlink_to(theirs)
    with pytest.raises(UsageError):
        make_run_dir(tmp_path / "link" / "runs", "compare", "shop")
    assert list(theirs.iterdir()) == []
    monkeypatch.setenv("SUDO_UID", str(BOB))
    monkeypatch.setenv("SUDO_GID", str(BOB))
    run = make_run_dir(theirs / "runs", "compare", "shop")
    held = run.stat()
    assert (held.st_uid, held.st_gid, stat.S_IMODE(held.st_mode)) == (BOB, BOB, 0o700)


SILENT = FakeProgress()
O2, PGO = parse_recipe("o2"), parse_recipe("pgo")
HELLO = CompareRequest(source=AppSource("hello"))
BEGUN: dict[str, Callable[[Path], object]] = {
    "build": lambda runs: command.run(BuildOptions(train=("hello",), runs=runs)),
    "ladder": lambda runs: ladder.ladder(ladder.LadderRequest((O2,), HELLO), runs=runs, argv=(), progress=SILENT),
    "matrix": lambda runs: matrix.matrix(
        matrix.MatrixRequest((Trainee("hello"), Trainee("symfony-hello")), PGO), runs=runs, argv=(), progress=SILENT
    ),
    "study": lambda runs: study.study(runs / "x.toml", budget_s=None, only="", runs=runs, argv=(), progress=SILENT),
    "study --resume": lambda runs: study.resume_study(runs / "a-study", only="", argv=(), progress=SILENT),
    "selfcheck --resume": lambda runs: selfcheck.resume_selfcheck(runs / "a-selfcheck", SILENT),
}


@ROOT
@pytest.mark.parametrize("name", BEGUN)
def test_root_begins_nothing_below_somebody_elses_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    for module in (build, ladder, matrix, study_builds):
        monkeypatch.setattr(module, "open_build_session", lambda *_, **__: pytest.fail("nothing is built"))
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, BOB, BOB)
    with pytest.raises(UsageError, match=f"{theirs}: root writes no run below a directory that belongs to"):
        BEGUN[name](theirs / "runs")
    assert list(theirs.iterdir()) == []


@ROOT
def test_a_run_of_roots_is_closed_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    run = make_run_dir(tmp_path / "runs", "compare", "shop")
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    assert (run / "logs").is_dir()
    (tmp_path / "alias").symlink_to(tmp_path / "runs")
    assert check_place(tmp_path / "alias") == tmp_path / "runs"
    assert check_place(tmp_path / "runs") == tmp_path / "runs"


def test_an_ordinary_user_writes_where_he_can_and_the_run_is_closed_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    before = os.umask(0o022)
    try:
        run = make_run_dir(open_to_all, "compare", "shop")
    finally:
        os.umask(before)
    assert stat.S_IMODE(run.stat().st_mode) == 0o700


def test_two_runs_in_one_second_have_names_of_their_own(tmp_path: Path) -> None:
    assert len({make_run_dir(tmp_path, "compare", "a b") for _ in range(3)}) == 3


def test_a_file_in_the_way_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(DynoError, match="cannot make the run directory"):
        make_run_dir(tmp_path / "runs", "compare", "shop")
