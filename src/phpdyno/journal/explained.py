"""The record of `phpdyno explain`, `explain.json`: what was found, and how it was asked for.
Written once, when all is known."""

from pathlib import Path

from msgspec import Struct

from phpdyno.journal.reader import there
from phpdyno.journal.replacing import read_record, replace_record
from phpdyno.model.inside.explained import Explained

EXPLAIN_FILE = "explain.json"
EXPLAIN_SCHEMA = 1


class ExplainRecord(Struct, frozen=True):
    """What was found, and how long it took."""

    schema: int
    phpdyno: str
    started: str
    argv: tuple[str, ...]
    found: Explained
    took_s: float


def write_explained(run: Path, record: ExplainRecord) -> None:
    """It is on disk when this returns. Raises DynoError when the disk takes no more."""
    replace_record(run / EXPLAIN_FILE, record)


def read_explained(run: Path) -> ExplainRecord:
    """Raises UsageError when there is none, DynoError when it is damaged or newer than this
    version."""
    path = there(run / EXPLAIN_FILE if run.is_dir() else run, run, what="explanation", like="runs/<time>-explain-<app>")
    return read_record(path, ExplainRecord, what="explanation", schema=EXPLAIN_SCHEMA)
