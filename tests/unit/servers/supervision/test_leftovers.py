"""Which directories below the live root are ours to remove."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from phpdyno.servers.supervision import live_directory
from phpdyno.servers.supervision.leftovers import UNCLAIMED_AGE_S, sweep_leftovers
from phpdyno.servers.supervision.live_directory import LIVE_NAME, MARKER, MARKER_TEXT, make_live, remove_traces

NAME = "phpdyno-0123abcd"
OTHER = "phpdyno-0123abce"
EVE = 12345


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PHPDYNO_LIVE", str(tmp_path))
    return tmp_path


def aged(place: Path) -> Path:
    """As if nothing had been done in it for an hour."""
    then = time.time() - UNCLAIMED_AGE_S - 3600.0
    os.utime(place, (then, then))
    return place


def filled(place: Path) -> Path:
    (place / "sub").mkdir(parents=True)
    (place / "sub/work").write_text("somebody's")
    return place


def marked(place: Path, text: str = "") -> Path:
    filled(place)
    (place / MARKER).write_text(text or MARKER_TEXT.format(name=place.name))
    (place / MARKER).chmod(0o600)
    return place


def swept(place: Path) -> bool:
    aged(place)
    sweep_leftovers()
    return not place.exists()


@pytest.mark.parametrize("name", ["phpdyno-mine", "phpdyno-main", NAME, "phpdyno-a1b2c3d4", "phpdyno-verify-abcdefgh"])
def test_somebody_else_s_directory_is_not_removed_whatever_its_name_and_age(root: Path, name: str) -> None:
    place = filled(root / name)
    assert not swept(place)
    assert (place / "sub/work").read_text() == "somebody's"


def test_a_live_directory_that_nobody_owns_any_more_is_removed(root: Path) -> None:
    live = make_live(str(root))
    (live / "logs").mkdir()
    (live / "link").symlink_to("/etc")
    assert LIVE_NAME.fullmatch(live.name)
    sweep_leftovers()
    assert live.is_dir()
    assert swept(live)
    assert list(root.iterdir()) == []


def of_another_run(place: Path) -> None:
    (place / MARKER).write_text(MARKER_TEXT.format(name=OTHER))


def longer(place: Path) -> None:
    (place / MARKER).write_text(MARKER_TEXT.format(name=NAME) + "more")


def link(place: Path) -> None:
    (place / MARKER).rename(place / "elsewhere")
    (place / MARKER).symlink_to("elsewhere")


def folder(place: Path) -> None:
    (place / MARKER).unlink()
    (place / MARKER).mkdir()


def writable_marker(place: Path) -> None:
    (place / MARKER).chmod(0o622)


def writable(place: Path) -> None:
    place.chmod(0o777)


@pytest.mark.parametrize("change", [of_another_run, longer, link, folder, writable_marker, writable])
def test_a_marker_that_we_have_not_written_marks_nothing(root: Path, change: Callable[[Path], None]) -> None:
    place = marked(root / NAME)
    change(place)
    assert not swept(place)
    assert (place / "sub/work").is_file()


def test_a_marker_counts_under_the_exact_names_only(root: Path) -> None:
    assert not swept(marked(root / "phpdyno-0123abcde"))
    assert not swept(marked(root / "phpdyno-0123ABCD"))
    assert swept(marked(root / NAME))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("what", ["", MARKER])
def test_another_account_s_directory_or_marker_marks_nothing(root: Path, what: str) -> None:
    place = marked(root / NAME)
    os.chown(place / what, EVE, EVE)
    assert not swept(place)
    assert (place / "sub/work").is_file()


@pytest.mark.parametrize("half", ["nothing", "an empty marker"])
def test_what_a_guardian_leaves_that_dies_before_its_marker_is_written_goes_later(root: Path, half: str) -> None:
    place = root / NAME
    place.mkdir()
    if half != "nothing":
        (place / MARKER).touch()
    sweep_leftovers()
    assert place.is_dir()
    assert swept(place)


def test_an_empty_directory_of_another_name_stays(root: Path) -> None:
    (root / "phpdyno-new").mkdir()
    assert not swept(root / "phpdyno-new")


def test_the_marker_goes_last(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an interruption of the removal leaves is still known to be ours."""
    live = make_live(str(root))
    filled(live / "app")
    monkeypatch.setattr(live_directory, "_remove_tree", lambda *_: None)  # as where something cannot be removed
    remove_traces([], live)
    assert sorted(path.name for path in live.iterdir()) == ["app", MARKER]
    monkeypatch.undo()
    remove_traces([], live)
    assert not live.exists()


def test_a_directory_that_cannot_be_marked_is_not_left(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(live_directory, "mark", full)
    with pytest.raises(OSError, match="No space left"):
        make_live(str(root))
    assert list(root.iterdir()) == []
