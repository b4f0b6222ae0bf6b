from pathlib import Path

import pytest

from phpdyno.errors import DynoError, UsageError
from phpdyno.journal.tune import TUNE_FILE, read_tune, write_tune
from tests.support.made_up.sweeps.tunes import record


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write_tune(tmp_path, record())
    assert read_tune(tmp_path) == record() == read_tune(tmp_path / TUNE_FILE)
    assert [path.name for path in tmp_path.iterdir()] == [TUNE_FILE]


def test_a_record_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no tune here"):
        read_tune(tmp_path)
    (tmp_path / TUNE_FILE).write_text('{"schema": 99}')
    with pytest.raises(DynoError, match="99"):
        read_tune(tmp_path)
    (tmp_path / TUNE_FILE).write_text('{"schema": 1, "phpdyno": 7}')
    with pytest.raises(DynoError, match="this tune cannot be used"):
        read_tune(tmp_path)
    (tmp_path / TUNE_FILE).write_bytes(b'{"schema": 1, "phpdyno": "\xff"}')
    with pytest.raises(DynoError, match="this tune cannot be used"):
        read_tune(tmp_path)
