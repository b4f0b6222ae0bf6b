"""Opening what another account may have put there."""

import os
from pathlib import Path

import pytest

from phpdyno.host.files.plain import open_way, opened, opened_below, read_led, read_plain

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
EVE = 12345


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_plain_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("whole")
    assert read_plain(tmp_path / "a") == b"whole"


@pytest.mark.parametrize("kind", ["link", "second name", "pipe", "directory"])
def test_nothing_else_is_read_nor_waited_for(tmp_path: Path, kind: str) -> None:
    secret, place = tmp_path / "secret", tmp_path / "a"
    secret.write_text("root's")
    match kind:
        case "link":
            place.symlink_to(secret)
        case "second name":
            place.hardlink_to(secret)
        case "pipe":
            os.mkfifo(place)
        case _:
            place.mkdir()
    before = descriptors()
    with pytest.raises(OSError, match=r"plain file|symbolic links"):
        read_plain(place)
    assert descriptors() == before


@ROOT
@pytest.mark.parametrize("kind", ["the directory", "on the way", "of root in her directory"])
def test_root_enters_no_directory_by_somebody_else_s_link(tmp_path: Path, kind: str) -> None:
    (tmp_path / "root/inner").mkdir(parents=True)
    (tmp_path / "hers").mkdir()
    link = tmp_path / "hers/link"
    link.symlink_to("../root")
    if kind == "of root in her directory":
        os.chown(tmp_path / "hers", EVE, EVE)
    else:
        os.lchown(link, EVE, EVE)
    before = descriptors()
    with pytest.raises(OSError, match="another account can have put this link there"):
        open_way(link if kind == "the directory" else link / "inner")
    assert descriptors() == before


def test_links_of_our_own_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "one").symlink_to(tmp_path / "a")
    (tmp_path / "two").symlink_to("./one/b/../b")
    before = descriptors()
    with opened(tmp_path / "two") as folder:
        assert os.path.samestat(os.fstat(folder), (tmp_path / "a/b").stat())
    assert descriptors() == before
    with pytest.raises(FileNotFoundError, match="no/such"):
        open_way(tmp_path / "no/such")


def test_below_a_directory_no_link_at_all_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    before = descriptors()
    with opened(tmp_path) as top:
        with opened_below(top, ("a", "b")) as folder:
            assert os.path.samestat(os.fstat(folder), (tmp_path / "a/b").stat())
        with pytest.raises(NotADirectoryError), opened_below(top, ("link", "b")):
            pass
    assert descriptors() == before


def test_what_a_process_names_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("ELF")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    assert read_led(tmp_path / "link") == b"ELF"
    with pytest.raises(OSError, match="plain file"):
        read_led(tmp_path / "pipe")
