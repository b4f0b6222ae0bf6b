import threading
from pathlib import Path

import pytest

from phpdyno.apps.source import silent
from phpdyno.apps.store import stored
from phpdyno.errors import DynoError


def test_built_once_per_key(tmp_path: Path) -> None:
    built: list[str] = []

    def build(partial: Path) -> None:
        built.append(partial.name)
        (partial / "file").write_text("x")

    first = stored(tmp_path, "app", {"v": "1"}, build, silent)
    assert stored(tmp_path, "app", {"v": "1"}, build, silent) == first
    second = stored(tmp_path, "app", {"v": "2"}, build, silent)

    assert first != second
    assert len(built) == 2
    assert (first / "file").read_text() == "x"
    assert not list((tmp_path / "apps").glob("*.partial"))


@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError])
def test_nothing_is_left_of_an_interrupted_build(tmp_path: Path, failure: type[BaseException]) -> None:
    def build(partial: Path) -> None:
        (partial / "half").write_text("x")
        raise failure

    with pytest.raises(failure):
        stored(tmp_path, "app", {}, build, silent)
    assert [path.name for path in (tmp_path / "apps").iterdir()] == ["app.lock"]


def test_what_a_killed_run_left_is_cleared(tmp_path: Path) -> None:
    entry = stored(tmp_path, "app", {}, lambda partial: None, silent)
    (entry / "entry.json").unlink()
    (entry / "half").touch()
    entry.with_name(entry.name + ".partial").mkdir()

    assert stored(tmp_path, "app", {}, lambda partial: None, silent) == entry
    assert [path.name for path in entry.iterdir()] == ["entry.json"]


def test_two_runs_build_once_and_the_second_says_that_it_waits(tmp_path: Path) -> None:
    built: list[Path] = []
    told: list[str] = []
    inside, waited = threading.Event(), threading.Event()

    def build(partial: Path) -> None:
        inside.set()
        assert waited.wait(30)
        built.append(partial)

    def tell(text: str) -> None:
        told.append(text)
        waited.set()

    first = threading.Thread(target=stored, args=(tmp_path, "app", {}, build, silent))
    first.start()
    assert inside.wait(30)
    stored(tmp_path, "app", {}, build, tell)
    first.join()

    assert len(built) == 1
    assert told == ["another phpdyno prepares app; waiting for it"]


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "apps").touch()
    with pytest.raises(DynoError, match="set PHPDYNO_CACHE"):
        stored(tmp_path, "app", {}, lambda partial: None, silent)


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    def build(partial: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(DynoError, match="No space left on device; check the disk's room"):
        stored(tmp_path, "app", {}, build, silent)
