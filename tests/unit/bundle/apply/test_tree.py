"""Paths of a tree stay in it; changes happen whole, whatever the umask is."""

import errno
import os
from pathlib import Path

import pytest

from phpdyno.bundle.apply.record import private
from phpdyno.bundle.apply.tree import Disk, FileOwner, TargetTree, locked, read_plain
from phpdyno.errors import DynoError, UsageError

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other accounts")


@pytest.fixture
def tree(tmp_path: Path) -> TargetTree:
    (tmp_path / "root" / "etc").mkdir(parents=True)
    return TargetTree(tmp_path / "root")


@pytest.mark.parametrize("link", ["/outside", "../../../../outside", "/../outside", "../outside"])
def test_links_do_not_lead_outside(tree: TargetTree, link: str) -> None:
    (tree.root / "etc" / "conf.d").symlink_to(link)
    place = tree.inside("/etc/conf.d/x.ini")
    assert place == tree.root / "outside" / "x.ini"
    assert tree.name(place) == "/outside/x.ini"


def test_a_link_to_a_link_and_dots(tree: TargetTree) -> None:
    (tree.root / "a").symlink_to("/b")
    (tree.root / "b").symlink_to("etc/../etc")
    assert tree.inside("/a/x") == tree.root / "etc" / "x"
    assert tree.inside("/../../etc/x") == tree.root / "etc" / "x"


def test_the_last_part_is_not_followed(tree: TargetTree) -> None:
    (tree.root / "etc" / "x.ini").symlink_to("/outside")
    assert tree.inside("/etc/x.ini") == tree.root / "etc" / "x.ini"


def test_links_in_a_circle(tree: TargetTree) -> None:
    (tree.root / "a").symlink_to("/b")
    (tree.root / "b").symlink_to("/a")
    with pytest.raises(UsageError, match="too many links"):
        tree.inside("/a/x")


def test_no_such_root(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--root"):
        TargetTree(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="no directory"):
        TargetTree(tmp_path / "file")


@as_root
@pytest.mark.parametrize("how", ["owner", "mode"])
def test_a_directory_that_others_can_change_is_refused(tree: TargetTree, how: str) -> None:
    if how == "owner":
        os.chown(tree.root / "etc", 12345, 12345)
    else:
        (tree.root / "etc").chmod(0o777)
    with pytest.raises(UsageError, match="others can change"):
        tree.inside("/etc/new/x.ini")


def test_modes_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        Disk().make_dir(tmp_path / "d")
        Disk().put(tmp_path / "d" / "f", b"x", FileOwner(os.geteuid(), os.getegid(), 0o644))
    finally:
        os.umask(before)
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "d" / "f").stat().st_mode & 0o777 == 0o644


def test_a_file_takes_the_place_of_a_link_and_leaves_its_end_alone(tmp_path: Path) -> None:
    (tmp_path / "end").write_text("end")
    (tmp_path / "link").symlink_to("end")
    (tmp_path / ".link.phpdyno-new").write_text("left over")
    Disk().put(tmp_path / "link", b"new", private())
    assert (tmp_path / "end").read_text() == "end"
    assert (tmp_path / "link").read_bytes() == b"new"
    assert {path.name for path in tmp_path.iterdir()} == {"end", "link"}


def test_nothing_half_written_is_left_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake_fsync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "f").write_text("old")
    monkeypatch.setattr(os, "fsync", fake_fsync)
    with pytest.raises(OSError, match="No space left") as caught:
        Disk().put(tmp_path / "f", b"new", private())
    assert caught.value.filename == str(tmp_path / "f")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("f", "old")]


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path):
        with pytest.raises(DynoError, match="no plain file"):
            read_plain(path)


def test_one_at_a_time(tree: TargetTree) -> None:
    tree.state.mkdir(parents=True)
    with locked(tree), pytest.raises(DynoError, match="another phpdyno applies"), locked(tree):
        pass
    with locked(tree):
        pass
