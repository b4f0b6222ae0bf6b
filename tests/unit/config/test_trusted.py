"""Which files root may read on somebody else's word."""

import os
from pathlib import Path

import pytest

from phpdyno.config.trusted import changeable, read_trusted, steered_by
from phpdyno.errors import UsageError

NOBODY = 65534
BOB, EVE = 12345, 12346
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other accounts")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """One below a directory of its own."""
    place = tmp_path / "etc" / "pool.d"
    place.mkdir(parents=True)
    (place / "www.conf").write_text("x")
    return place / "www.conf"


@as_root
def test_what_is_root_s_alone_is_read(file: Path) -> None:
    assert changeable(file) is None
    assert read_trusted(file) == b"x"


@as_root
@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("how", ["owner", "mode", "group"])
def test_a_file_or_directory_that_others_can_change_is_refused(file: Path, level: int, how: str) -> None:
    place = [file, *file.parents][level]
    if how == "owner":
        os.chown(place, NOBODY, -1)
    else:
        place.chmod(0o777 if how == "mode" else 0o775)
    assert changeable(file) == place
    with pytest.raises(UsageError, match=f"others can change {place}; give {place} to root") as caught:
        read_trusted(file, where="here")
    assert "\n" not in str(caught.value)


@as_root
def test_in_a_sticky_directory_only_what_is_root_s_counts(file: Path) -> None:
    file.parent.chmod(0o1777)
    assert changeable(file) is None
    os.chown(file, NOBODY, -1)
    assert changeable(file) == file


@as_root
def test_links_are_followed_one_by_one(file: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "home"
    theirs.mkdir()
    (theirs / "link").symlink_to(file)
    (tmp_path / "entry").symlink_to("etc/../home/link")
    assert changeable(tmp_path / "entry") is None
    os.chown(theirs, NOBODY, -1)  # its owner decides what is read, although the file itself is root's
    assert changeable(tmp_path / "entry") == theirs
    os.chown(theirs, 0, -1)
    theirs.chmod(0o1777)
    os.lchown(theirs / "link", NOBODY, -1)
    assert changeable(tmp_path / "entry") == theirs / "link"


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path):
        with pytest.raises(UsageError, match="is no plain file"):
            read_trusted(path)
    with pytest.raises(FileNotFoundError):
        read_trusted(tmp_path / "none")


@as_root
@pytest.mark.parametrize(
    ("owner", "mode", "who"),
    [
        ((0, 0), 0o664, 0),
        ((0, BOB), 0o644, 0),
        ((0, BOB), 0o664, NOBODY),
        ((0, 0), 0o666, NOBODY),
        ((BOB, 0), 0o644, BOB),
        ((BOB, BOB), 0o666, BOB),
        ((EVE, EVE), 0o664, 0),
    ],
)
def test_whose_word_a_file_is(file: Path, monkeypatch: pytest.MonkeyPatch, owner: tuple[int, int], mode: int, who: int) -> None:
    monkeypatch.setenv("SUDO_UID", str(EVE))
    monkeypatch.setenv("SUDO_GID", str(EVE))
    os.chown(file, *owner)
    file.chmod(mode)
    os.chown(file.parent, BOB, BOB)
    assert steered_by(file, file.stat()) == who


@as_root
def test_whose_word_a_link_is(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    entry, folder = tmp_path / "entry", tmp_path / "folder"
    entry.symlink_to(folder / "pool.d")
    folder.symlink_to("etc")
    path = entry / "www.conf"
    assert steered_by(path) == 0
    os.lchown(folder, BOB, BOB)
    assert steered_by(path) == BOB
    os.lchown(folder, 0, 0)
    os.chown(tmp_path, EVE, EVE)
    assert steered_by(path) == EVE  # who may have moved root's link there
    os.chown(file, EVE, EVE)
    assert steered_by(path) == 0
    os.lchown(entry, BOB, BOB)
    assert steered_by(path) == BOB
    monkeypatch.setenv("SUDO_UID", str(BOB))
    assert steered_by(path) == 0


def test_who_is_not_root_reads_with_rights_of_his_own(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: BOB)
    assert steered_by(file, file.stat()) == 0
