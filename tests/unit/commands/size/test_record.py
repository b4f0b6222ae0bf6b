from pathlib import Path

import msgspec
import pytest

from phpdyno.commands.report.command import SIZE_FILE as SHOWN
from phpdyno.commands.size.record import SIZE_FILE, SIZE_SCHEMA, SizeEnded, SizeHeader, SizeRun, read_size
from phpdyno.errors import DynoError, UsageError
from tests.support.made_up import sizes


@pytest.fixture(scope="module")
def whole() -> SizeRun:
    return sizes.whole(sizes.cpu_bound())


def test_a_record_is_read_as_it_was_written(whole: SizeRun, tmp_path: Path) -> None:
    run = whole
    read = read_size(sizes.written(run, tmp_path / "run"))
    assert read == run
    assert read.finished
    assert read.spent_s == 62.0


def test_a_line_that_was_cut_off_is_left_out(whole: SizeRun, tmp_path: Path) -> None:
    run = sizes.written(whole, tmp_path / "run")
    text = (run / SIZE_FILE).read_bytes()
    (run / SIZE_FILE).write_bytes(text[:-20])
    read = read_size(run)
    assert not read.all_of(SizeEnded)
    assert not read.finished


def test_a_damaged_line_is_named(whole: SizeRun, tmp_path: Path) -> None:
    run = sizes.written(whole, tmp_path / "run")
    lines = (run / SIZE_FILE).read_bytes().split(b"\n")
    lines[3] = b"{}"
    (run / SIZE_FILE).write_bytes(b"\n".join(lines))
    with pytest.raises(DynoError, match="line 4 is damaged"):
        read_size(run)


def test_a_record_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    head = msgspec.structs.replace(sizes.header(), schema=SIZE_SCHEMA + 1)
    (tmp_path / SIZE_FILE).write_bytes(msgspec.json.encode(head) + b"\n")
    with pytest.raises(DynoError, match="use the version that wrote it"):
        read_size(tmp_path)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run of size"):
        read_size(tmp_path)
    (tmp_path / SIZE_FILE).write_bytes(msgspec.json.encode(SizeEnded("finished", "", 1.0)) + b"\n")
    with pytest.raises(DynoError, match="does not begin with a header"):
        read_size(tmp_path)


def test_the_file_is_called_the_same_everywhere() -> None:
    assert SHOWN == SIZE_FILE


def test_a_header_is_tagged() -> None:
    assert msgspec.json.decode(msgspec.json.encode(sizes.header()))["type"] == "header"
    assert isinstance(sizes.header(), SizeHeader)
