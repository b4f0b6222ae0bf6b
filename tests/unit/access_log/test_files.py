import gzip
from pathlib import Path

import pytest

from phpdyno.access_log.files import MOST_LINE_BYTES, lines_of
from phpdyno.errors import UsageError


def test_plain_and_gzip_by_their_first_bytes(tmp_path: Path) -> None:
    plain, packed = tmp_path / "access.log.gz", tmp_path / "access.log"
    plain.write_bytes(b"a\n\nb\r\nlast")
    packed.write_bytes(gzip.compress(b"a\n\n") + gzip.compress(b"b\r\nlast"))
    assert list(lines_of(plain)) == list(lines_of(packed)) == [b"a", b"", b"b\r", b"last"]


def test_an_empty_file_has_no_line(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    assert list(lines_of(tmp_path / "log")) == []


@pytest.mark.parametrize("length", [MOST_LINE_BYTES, MOST_LINE_BYTES + 1, MOST_LINE_BYTES + 2, 1_000_000])
@pytest.mark.parametrize("end", [b"\n", b""])
def test_long_lines_are_passed_over_whole(tmp_path: Path, length: int, end: bytes) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"a\n" + b"x" * length + end + (b"b\n" if end else b""))
    long = b"x" * length if length <= MOST_LINE_BYTES else None
    assert list(lines_of(log)) == [b"a", long, *([b"b"] if end else [])]


@pytest.mark.parametrize("damage", ["cut", "flipped", "trailing"])
def test_damaged_gzip(tmp_path: Path, damage: str) -> None:
    whole = gzip.compress(b"".join(b"line %d\n" % number for number in range(5000)))
    broken = {"cut": whole[:-100], "flipped": whole[:500] + bytes(200) + whole[700:], "trailing": whole + b"junk"}[damage]
    (tmp_path / "log").write_bytes(broken)
    with pytest.raises(UsageError, match="damaged gzip data after line"):
        list(lines_of(tmp_path / "log"))


@pytest.mark.parametrize(
    ("name", "what"), [("missing", "there is no such file"), (".", "is no regular file"), ("a\0b", "no such file|cannot be the name")]
)
def test_what_is_no_file(tmp_path: Path, name: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        list(lines_of(tmp_path / name))
