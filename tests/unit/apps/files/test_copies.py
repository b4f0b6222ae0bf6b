import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from phpdyno.apps.files import copies
from phpdyno.apps.files.copies import (
    copy_as,
    copy_entries,
    copy_tree,
    copy_without,
    give_to_service,
    make_empty,
    make_readable,
    require_room_for,
    tree_digest,
)
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.files import plain, trees
from phpdyno.servers.supervision.supervisor import Supervisor

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
EVE = 12345
"""The servers' account here, and whoever else is not root."""


class FakeSupervisor:
    """Notes what it is to run, and runs nothing."""

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []
        self.user = SimpleNamespace(uid=EVE, gid=EVE, switch=os.geteuid() == 0)

    def run(self, _: str, argv: Sequence[str], **__: object) -> SimpleNamespace:
        self.asked.append(argv)
        return SimpleNamespace(status=0)

    def let_write(self, tree: Path) -> None:
        """Nobody sees it from anywhere else."""


@pytest.fixture
def fake() -> FakeSupervisor:
    return FakeSupervisor()


@pytest.fixture
def supervisor(fake: FakeSupervisor) -> Supervisor:
    return cast(Supervisor, fake)


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A tree of another account's as far as we can give it away, which others may write to in any
    case."""
    tree = tmp_path / "theirs"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub/page.php").write_text("page")
    (tree / "sub").chmod(0o777)
    if os.geteuid() == 0:
        for path in (tree, tree / "sub", tree / "sub/page.php"):
            os.chown(path, EVE, EVE)
    return tree


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A directory of ours that is nobody else's business."""
    place = tmp_path / "secret"
    place.mkdir(mode=0o700)
    (place / "page.php").write_text("root's")
    (place / "page.php").chmod(0o600)
    return place


def flipping(monkeypatch: pytest.MonkeyPatch, place: Path, target: Path) -> None:
    """A directory becomes a link in the moment between being looked at and being entered."""
    honest = plain.open_folder

    def open_folder(name: Path | str, folder: int | None = None) -> int:
        if name == place.name and not place.is_symlink():
            place.rename(place.with_name("away"))
            place.symlink_to(target)
        return honest(name, folder)

    monkeypatch.setattr(trees, "open_folder", open_folder)


def test_readable_for_all_and_writable_for_us(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "a").mkdir(parents=True)
    (tree / "a" / "file.php").touch()
    (tree / "a" / "file.php").chmod(0o4620)
    (tree / "a").chmod(0o2770)
    (tree / "link").symlink_to("/nowhere")

    make_readable(tree)

    assert stat.S_IMODE((tree / "a" / "file.php").stat().st_mode) == 0o644
    assert stat.S_IMODE((tree / "a").stat().st_mode) == 0o755
    assert stat.S_IMODE(tree.stat().st_mode) == 0o755


def test_a_tree_of_ours_alone_is_copied_by_cp_with_shared_blocks(fake: FakeSupervisor, supervisor: Supervisor, tmp_path: Path) -> None:
    (tmp_path / "tree/sub").mkdir(parents=True)
    (tmp_path / "tree/sub/file").touch()
    (tmp_path / "tree/link").symlink_to("/nowhere")
    copy_tree(supervisor, tmp_path / "tree", tmp_path / "copy")
    ((program, *options),) = fake.asked
    assert program == "cp"
    assert {"-dR", "--reflink=auto"} <= set(options)
    assert [word for word in options if word.startswith("/")] == [str(tmp_path / "tree/link"), str(tmp_path / "tree/sub")]
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o755


@ROOT
def test_a_tree_that_others_can_change_is_not_left_to_cp(
    fake: FakeSupervisor, supervisor: Supervisor, theirs: Path, tmp_path: Path
) -> None:
    (theirs / "sub/again").hardlink_to(theirs / "sub/page.php")
    (theirs / "sub/link").symlink_to("page.php")
    (theirs / "sub/tool").write_text("tool")
    (theirs / "sub/tool").chmod(0o6755)
    (theirs / "sub/page.php").chmod(0o606)
    os.mkfifo(theirs / "pipe")
    os.utime(theirs / "sub/page.php", ns=(1, 2))
    os.utime(theirs / "sub", ns=(3, 4))
    copy_tree(supervisor, theirs, tmp_path / "copy")
    copy = tmp_path / "copy/sub"
    assert fake.asked == []
    assert sorted(path.name for path in copy.iterdir()) == ["again", "link", "page.php", "tool"]
    assert not (tmp_path / "copy/pipe").exists()
    assert (copy / "page.php").read_text() == "page"
    assert (copy / "page.php").stat().st_ino == (copy / "again").stat().st_ino
    assert (copy / "link").readlink() == Path("page.php")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (copy, copy / "page.php", copy / "tool")}
    assert modes == {"sub": 0o755, "page.php": 0o604, "tool": 0o755}
    assert ((copy / "page.php").stat().st_mtime_ns, copy.stat().st_mtime_ns) == (2, 4)
    assert {path.lstat().st_uid for path in (copy, *copy.iterdir())} == {0}


def entries(supervisor: Supervisor, source: Path, into: Path) -> None:
    into.mkdir()
    copy_entries(supervisor, [source / "sub"], into)


def one(supervisor: Supervisor, source: Path, into: Path) -> None:
    into.mkdir()
    copy_as(supervisor, source / "sub", into / "sub")


@ROOT
@pytest.mark.parametrize("way", [entries, copy_tree, one])
def test_a_directory_that_becomes_a_link_meanwhile_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor, theirs: Path, secret: Path, way: Callable[[Supervisor, Path, Path], None]
) -> None:
    flipping(monkeypatch, theirs / "sub", secret)
    into = theirs.parent / "copy"
    with pytest.raises(DynoError, match=r"theirs/sub: copying failed"):
        way(supervisor, theirs, into)
    assert not any(path.is_file() for path in into.rglob("*"))


@ROOT
def test_a_directory_on_the_way_that_becomes_a_link_is_not_followed(
    supervisor: Supervisor, theirs: Path, secret: Path, tmp_path: Path
) -> None:
    """After it was settled on whose word the tree is read."""
    (tmp_path / "copy").mkdir()
    (theirs / "sub").rename(theirs / "away")
    (theirs / "sub").symlink_to(secret)
    os.lchown(theirs / "sub", EVE, EVE)
    with pytest.raises(DynoError, match="another account can have put this link there"):
        copy_entries(supervisor, [theirs / "sub/page.php"], tmp_path / "copy")


def test_bits_that_give_rights_survive_in_no_copy(supervisor: Supervisor, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub/tool").touch()
    (tree / "sub/tool").chmod(0o6755)
    copy_tree(supervisor, tree, tmp_path / "copy")
    assert stat.S_IMODE((tmp_path / "copy/sub/tool").stat().st_mode) == 0o755
    (tree / "sub").chmod(0o2755)
    give_to_service(supervisor, tree)
    assert stat.S_IMODE((tree / "sub/tool").stat().st_mode) == 0o755
    assert stat.S_IMODE((tree / "sub").stat().st_mode) == 0o755


@ROOT
def test_what_is_given_away_is_not_given_through_a_link(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor, theirs: Path, secret: Path
) -> None:
    """Also not where a file becomes one between being looked at and being changed."""
    (theirs / "link").symlink_to(secret / "page.php")
    honest, page = plain.set_mode, theirs / "sub/page.php"

    def set_mode(name: str, folder: int, mode: int) -> None:
        if name == page.name:
            page.unlink()
            page.symlink_to(secret / "page.php")
        honest(name, folder, mode | 0o044)

    monkeypatch.setattr(copies, "set_mode", set_mode)
    give_to_service(supervisor, theirs)
    held = (secret / "page.php").stat()
    assert (held.st_uid, stat.S_IMODE(held.st_mode)) == (0, 0o600)
    assert {path.lstat().st_uid for path in (theirs, theirs / "link", theirs / "sub")} == {EVE}


@ROOT
@pytest.mark.parametrize("change", ["give", "make readable"])
def test_a_directory_that_becomes_a_link_is_not_given_away(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor, theirs: Path, secret: Path, change: str
) -> None:
    flipping(monkeypatch, theirs / "sub", secret)
    with pytest.raises(DynoError, match="theirs"):
        give_to_service(supervisor, theirs) if change == "give" else make_readable(theirs)
    held = (secret / "page.php").stat()
    assert (held.st_uid, stat.S_IMODE(held.st_mode)) == (0, 0o600)


@ROOT
def test_a_directory_is_given_once_all_in_it_is(monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub/file").touch()
    given: list[str] = []
    honest = os.chown

    def chown(name: str, *ids: int, **options: object) -> None:
        given.append(name)
        assert tree.stat().st_uid == 0
        honest(name, *ids, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "chown", chown)
    give_to_service(supervisor, tree)
    assert given == ["file", "sub"]
    assert tree.stat().st_uid == EVE


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_the_digest_reads_no_file_that_became_something_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    tree, secret = tmp_path / "tree", tmp_path / "secret"
    tree.mkdir()
    secret.write_text("root's")
    (tree / "page.php").write_text("page")
    honest = stat.S_ISREG

    def is_regular(mode: int) -> bool:
        (tree / "page.php").unlink(missing_ok=True)
        if kind == "link":
            (tree / "page.php").symlink_to(secret)
        else:
            os.mkfifo(tree / "page.php")
        return honest(mode)

    monkeypatch.setattr(copies, "stat", SimpleNamespace(S_ISREG=is_regular, S_ISLNK=stat.S_ISLNK, S_ISDIR=stat.S_ISDIR))
    if kind == "link":
        with pytest.raises(OSError, match="symbolic links"):
            tree_digest(tree)
    else:
        tree_digest(tree)  # of nothing, and without waiting for somebody to write


def test_the_digest_changes_with_names_contents_and_links(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.php").write_text("1")
    digests = [tree_digest(tmp_path)]
    assert tree_digest(tmp_path) == digests[0]
    (tmp_path / "b" / "x.php").write_text("2")
    digests.append(tree_digest(tmp_path))
    (tmp_path / "b" / "x.php").rename(tmp_path / "b" / "y.php")
    digests.append(tree_digest(tmp_path))
    (tmp_path / "z").symlink_to("b/y.php")
    digests.append(tree_digest(tmp_path))
    (tmp_path / "z").unlink()
    (tmp_path / "z").symlink_to("b/x.php")
    digests.append(tree_digest(tmp_path))

    assert len(set(digests)) == 5


def test_the_digest_knows_links_to_directories_but_not_where_the_tree_lies(tmp_path: Path) -> None:
    digests = []
    for place, target in (("a", "one"), ("b", "one"), ("b", "two")):
        tree = tmp_path / place
        for name in ("one", "two"):
            (tree / name).mkdir(parents=True, exist_ok=True)
        (tree / "link").unlink(missing_ok=True)
        (tree / "link").symlink_to(tree / target)
        digests.append(tree_digest(tree))

    assert digests[0] == digests[1] != digests[2]


def test_what_is_left_out_is_not_copied_and_a_directory_of_it_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, into = tmp_path / "source", tmp_path / "into"
    for place in ("a/b/kept", "a/b/out/one", "a/file", "out/two", "kept"):
        (source / place).parent.mkdir(parents=True, exist_ok=True)
        (source / place).write_text(place)
    (source / "a/link").symlink_to("/etc")
    into.mkdir()
    asked: list[list[Path]] = []

    def copy(_: object, entries: list[Path], place: Path) -> None:
        asked.append(entries)
        for entry in entries:
            (place / entry.name).touch()

    monkeypatch.setattr(copies, "copy_entries", copy)
    paths = ("a/b/out", "a/file", "out", "a/link/passwd", "no/such")
    copy_without(cast(Supervisor, None), source, into, paths)
    assert sorted(str(each.relative_to(source)) for entries in asked for each in entries) == ["a/b/kept", "a/link", "kept"]
    make_empty(into, source, paths)
    assert (into / "a/b/out").is_dir()
    assert (into / "out").is_dir()
    assert not (into / "a/file").exists()


def test_a_tree_without_room_is_refused_with_both_sizes_before_anything_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, into = tmp_path / "source", tmp_path / "into"
    (source / "big").mkdir(parents=True)
    (source / "big/file").write_bytes(b"x" * (1 << 20))
    into.mkdir()
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=16 << 20, f_frsize=1))
    monkeypatch.setattr(copies, "shares_blocks", lambda *_: False)
    with pytest.raises(UsageError, match=r"a copy of it takes 1\.0 MiB, and 16 MiB are free in .*into") as told:
        require_room_for(source, into, where="app.toml: root", next_step="leave directories out with exclude")
    assert "exclude" in str(told.value)
    require_room_for(source, into, without=["big"], where="app.toml: root", next_step="")
    monkeypatch.setattr(copies, "shares_blocks", lambda *_: True)
    require_room_for(source, into, where="app.toml: root", next_step="")
