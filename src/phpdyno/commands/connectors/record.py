"""What a run of the lab was asked, kept beside the journals of its parts."""

from pathlib import Path

from msgspec import Struct

from phpdyno.commands.connectors.request import LabRequest
from phpdyno.errors import UsageError
from phpdyno.journal.replacing import read_record, replace_record

FILE = "connectors.json"
SCHEMA = 1


class LabRecord(Struct, frozen=True):
    """The question, the command line that asked it, and a digest of our own client's classes, which
    may not change meanwhile."""

    schema: int
    asked: LabRequest
    argv: tuple[str, ...]
    package: str


def write_lab(run: Path, record: LabRecord) -> None:
    """It appears whole or not at all. Raises DynoError when the disk takes no more."""
    replace_record(run / FILE, record)


def read_lab(run: Path) -> LabRecord:
    """The record of a run. Raises UsageError where there is none, DynoError for a damaged or newer
    one."""
    if not (run / FILE).is_file():
        raise UsageError(
            "this is no run of connectors", where=str(run), next_step="name a directory below runs/ that phpdyno connectors made"
        )
    return read_record(run / FILE, LabRecord, what="run of connectors", schema=SCHEMA)
