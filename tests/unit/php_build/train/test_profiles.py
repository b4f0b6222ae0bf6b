"""What instrumented processes left: counted, and added up by gcov-tool, whose place a fake
takes."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from phpdyno.errors import DynoError
from phpdyno.php_build.train import profiles
from phpdyno.php_build.train.bolt import BoltError
from phpdyno.php_build.train.fdata import profiles_of
from phpdyno.php_build.train.layout import refuse_unserved
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.unit.php_build.fakes import FakeSupervisor

TREE = Path("/cache/tree")


def leave(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


class FakeGcovTool(FakeSupervisor):
    """Makes a directory with one profile, and keeps what it was told."""

    def __init__(self, live: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(live)
        self.asked: list[tuple[str, ...]] = []
        monkeypatch.setattr(profiles, "find_program", lambda name, path: f"/usr/bin/{name}")

    def run(self, name: str, argv: Sequence[str], *, cwd: Path | None = None, **further: object) -> Child:
        if argv[0] == "cp":
            return super().run(name, argv, cwd=cwd, **further)
        self.asked.append(tuple(argv))
        leave(Path(argv[argv.index("-o") + 1]), "main/main.gcda")
        return cast(Child, SimpleNamespace(status=0))

    def merge(self, tmp_path: Path, **weights: float) -> list[tuple[str, str, str]]:
        """Weights and names of what was merged, step by step."""
        folders = [(leave(tmp_path / name, "main/main.gcda"), weight) for name, weight in weights.items()]
        profiles.merge(folders, tmp_path / "merged", cast(Supervisor, self))
        assert profiles.written(tmp_path / "merged") == (Path("main/main.gcda"),)
        return [(argv[3], Path(argv[-2]).stem, Path(argv[-1]).stem) for argv in self.asked]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGcovTool:
    return FakeGcovTool(tmp_path / "live", monkeypatch)


def test_profiles_are_counted_and_put_by_their_place_in_the_tree(tmp_path: Path) -> None:
    leave(tmp_path / "written/cache/tree", "main/main.gcda", "Zend/zend.gcda")
    assert profiles.collect(tmp_path / "written", TREE, tmp_path / "kept", objects=4) == 2
    assert profiles.written(tmp_path / "kept") == (Path("Zend/zend.gcda"), Path("main/main.gcda"))


def test_a_module_that_was_at_work_has_left_one(tmp_path: Path) -> None:
    leave(tmp_path / "written/cache/tree", "main/main.gcda", "Zend/zend.gcda", "ext/opcache_of_another/a.gcda")
    with pytest.raises(DynoError, match="training left no profile of ext/opcache, which was at work"):
        profiles.collect(tmp_path / "written", TREE, tmp_path / "kept", objects=4, modules=["ext/opcache"])
    leave(tmp_path / "written/cache/tree", "ext/opcache/jit/.libs/zend_jit.gcda")
    assert profiles.collect(tmp_path / "written", TREE, tmp_path / "kept", objects=4, modules=["ext/opcache"]) == 4


@pytest.mark.parametrize(("names", "objects"), [(("main/main.gcda",), 3), ((), 0), ((), 400)])
def test_fewer_profiles_than_half_of_what_was_compiled_train_nothing(tmp_path: Path, names: tuple[str, ...], objects: int) -> None:
    leave(tmp_path / "written/cache/tree", "main/main.c", *names)
    with pytest.raises(DynoError, match=rf"training left {len(names)} profiles, and {objects} files were compiled to write one"):
        profiles.collect(tmp_path / "written", TREE, tmp_path / "kept", objects=objects)
    assert not (tmp_path / "kept").exists()


def test_weights_are_whole_numbers_and_what_is_added_up_already_weighs_one(tool: FakeGcovTool, tmp_path: Path) -> None:
    assert tool.merge(tmp_path, a=1.0, b=3.0, c=1000.0) == [("1,3", "a", "b"), ("1,1000", "0", "c")]


def test_the_first_is_one_that_weighs_one_where_there_is_one(tool: FakeGcovTool, tmp_path: Path) -> None:
    assert tool.merge(tmp_path, a=3.0, b=2.0, c=1.0) == [("1,3", "c", "a"), ("1,2", "0", "b")]


def test_where_none_weighs_one_the_first_is_weighted_too(tool: FakeGcovTool, tmp_path: Path) -> None:
    assert tool.merge(tmp_path, a=3.0, b=2.0) == [("3,2", "a", "b")]


def test_a_weight_of_an_earlier_version_that_is_no_whole_number_is_refused(tool: FakeGcovTool, tmp_path: Path) -> None:
    with pytest.raises(DynoError, match=r"adds up by whole numbers, and this profile weighs 2.5"):
        tool.merge(tmp_path, a=1.0, b=2.5)
    assert not tool.asked


def test_a_start_alone_trains_no_layout(tmp_path: Path) -> None:
    """What the master has counted, beside a worker that was ended before it had written much."""

    def wrote(process: int, *counts: int) -> None:
        lines = (f"1 zend_hash_find/1 {number:x} 1 zend_string_equals 0 0 {count}\n" for number, count in enumerate(counts))
        (tmp_path / f"php-fpm.{process}.fdata").write_text("".join(lines))

    def refuse() -> None:
        refuse_unserved(profiles_of("php-fpm", tmp_path), "php-fpm", 500)

    with pytest.raises(BoltError, match=r"no profile that training left of php-fpm for BOLT has counted its 500 requests \(0 branches"):
        refuse()
    wrote(10, 4000, 900)
    wrote(11, 12)
    with pytest.raises(BoltError, match=r"\(4900 branches and calls\)"):
        refuse()
    wrote(11, 4000, 1000)
    refuse()


@pytest.mark.parametrize("kind", ["a profile", "a second name", "a directory"])
def test_what_an_app_leaves_in_place_of_a_profile_is_not_read(tmp_path: Path, kind: str) -> None:
    written = leave(tmp_path / "written/cache/tree", "main/main.gcda", "Zend/zend.gcda")
    secret = leave(tmp_path / "secret", "main.gcda") / "main.gcda"
    place = written / "main/main.gcda"
    place.unlink()
    match kind:
        case "a profile":
            place.symlink_to(secret)
        case "a second name":
            place.hardlink_to(secret)
        case _:
            place.parent.rmdir()
            place.parent.symlink_to(secret.parent)
    with pytest.raises(DynoError, match=r"main/main\.gcda: this profile cannot be taken"):
        profiles.copy(written, [Path("main/main.gcda")], tmp_path / "kept")
    assert not (tmp_path / "kept/main/main.gcda").exists()
    if kind != "a directory":  # which is not looked into at all
        with pytest.raises(DynoError, match="this profile cannot be taken"):
            profiles.collect(tmp_path / "written", TREE, tmp_path / "kept", objects=2)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads what others may not")
def test_profiles_are_not_looked_for_behind_the_servers_link(tmp_path: Path) -> None:
    leave(tmp_path / "secret/tree", "main/main.gcda", "Zend/zend.gcda")
    (tmp_path / "written").mkdir()
    (tmp_path / "written/cache").symlink_to(tmp_path / "secret")
    os.lchown(tmp_path / "written/cache", 12345, 12345)
    with pytest.raises(DynoError, match="another account can have put this link there"):
        profiles.collect(tmp_path / "written", TREE, tmp_path / "kept", objects=2)
