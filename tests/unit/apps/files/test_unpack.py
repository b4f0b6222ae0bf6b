"""Archives that somebody else wrote."""

import gzip
import io
import stat
import tarfile
from pathlib import Path

import pytest

from phpdyno.apps.files.unpack import unpack
from phpdyno.errors import DynoError


def member(name: str, kind: bytes = tarfile.REGTYPE, *, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.mtime = kind, link, mode, 1_000_000_000
    return info


def archive(place: Path, *members: tarfile.TarInfo, text: bytes = b"text") -> Path:
    with tarfile.open(place, "w") as tar:
        for info in members:
            info.size = len(text) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(text) if info.isreg() else None)
    return place


def test_files_directories_and_links_come_out(tmp_path: Path) -> None:
    members = (
        member("./", tarfile.DIRTYPE),
        member("./a", tarfile.DIRTYPE),
        member("./a/run", mode=0o6755),
        member("./a/closed", mode=0o000),
        member("./b/hard", tarfile.LNKTYPE, link="./a/run"),
        member("./c", tarfile.SYMTYPE, link="a"),
        member("b/\udcff"),
    )
    into = tmp_path / "into"
    into.mkdir()
    unpack(archive(tmp_path / "tar", *members), into)
    assert (into / "a/run").read_bytes() == (into / "b/hard").read_bytes() == b"text"
    assert stat.S_IMODE((into / "a/run").stat().st_mode) == 0o755
    assert (into / "a/run").stat().st_mtime == 1_000_000_000
    assert stat.S_IMODE((into / "a/closed").stat().st_mode) == 0o600
    assert (into / "c").readlink() == Path("a")
    assert (into / "b/\udcff").is_file()


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x"])
def test_nothing_lands_outside(tmp_path: Path, name: str) -> None:
    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(DynoError, match="leads outside"):
        unpack(archive(tmp_path / "tar", member(name)), into)
    with pytest.raises(DynoError, match="leads outside"):
        unpack(archive(tmp_path / "tar", member("x", tarfile.LNKTYPE, link=name)), into)
    assert list(into.iterdir()) == []


def test_no_link_of_the_archive_is_followed(tmp_path: Path) -> None:
    into, outside = tmp_path / "into", tmp_path / "outside"
    into.mkdir()
    outside.mkdir()
    with pytest.raises(DynoError, match="File exists"):
        unpack(archive(tmp_path / "tar", member("a", tarfile.SYMTYPE, link=str(outside)), member("a/x")), into)
    assert list(outside.iterdir()) == []


def test_devices_and_pipes_are_left_out(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    unpack(
        archive(tmp_path / "tar", member("pipe", tarfile.FIFOTYPE), member("disk", tarfile.BLKTYPE), member("tty", tarfile.CHRTYPE)), into
    )
    assert list(into.iterdir()) == []


def test_a_damaged_archive_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "tar").write_bytes(b"x" * 1000)
    with pytest.raises(DynoError, match="cannot unpack"):
        unpack(tmp_path / "tar", tmp_path)


def test_damaged_compression_is_told_in_one_line(tmp_path: Path) -> None:
    whole = gzip.compress(b"x" * 100_000 + bytes(range(256)) * 40)
    (tmp_path / "damaged.tar.gz").write_bytes(whole[:12] + bytes([whole[12] ^ 0xFF]) + whole[13:])
    with pytest.raises(DynoError, match="cannot unpack"):
        unpack(tmp_path / "damaged.tar.gz", tmp_path)
