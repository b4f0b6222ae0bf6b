"""What is said of an SQL dump that cannot be loaded."""

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from phpdyno.apps.data.databases import _load
from phpdyno.errors import DynoError

WHOLE = gzip.compress(b"SELECT 1;" * 100)
HEAD = 10
WRONG_BLOCK = b"\x07"


@pytest.mark.parametrize(
    "packed", [WHOLE[:HEAD] + WRONG_BLOCK + WHOLE[HEAD + 1 :], WHOLE[:-12], b"SELECT 1;"], ids=["damaged", "cut", "plain"]
)
def test_a_dump_that_is_no_whole_gzip_file(tmp_path: Path, packed: bytes) -> None:
    dump = tmp_path / "dump.sql.gz"
    dump.write_bytes(packed)
    supervisor: Any = SimpleNamespace(live=tmp_path, user=SimpleNamespace(switch=False))
    server: Any = None
    with pytest.raises(DynoError, match=r"dump\.sql\.gz: the SQL dump is not a whole gzip file"):
        _load(supervisor, server, dump, "shop")
    assert not (tmp_path / "sql" / "dump.sql").exists()
