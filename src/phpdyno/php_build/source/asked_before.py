"""What the archives answered a moment ago: who builds, looks and builds again does not wait for the
same answers each time."""

import time
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from phpdyno.journal.replacing import replace_record
from phpdyno.model.decoding import NOT_JSON

RECENT_S = 600.0
"""So long an answer holds: a source that came in the meantime is found after it."""
_FILE = "asked.json"


class ArchiveAnswers(Struct, frozen=True):
    """When (seconds since 1970) the lists of these archives (a digest) were fetched, and why a
    version in them could not be had."""

    at: float
    archives: str
    refused: dict[str, str] = {}


def recently(place: Path, archives: str) -> ArchiveAnswers | None:
    """What was asked of these archives a moment ago; None where it is longer ago, or cannot be
    read."""
    try:
        asked = msgspec.json.decode((place / _FILE).read_bytes(), type=ArchiveAnswers)
    except (OSError, *NOT_JSON):
        return None
    # A clock that was put back makes it no longer ago than now.
    return asked if asked.archives == archives and 0 <= time.time() - asked.at < RECENT_S else None


def forget(place: Path) -> None:
    """Nothing was asked: for the time in which lists are replaced."""
    (place / _FILE).unlink(missing_ok=True)


def remember(place: Path, archives: str) -> ArchiveAnswers:
    """The lists of these archives were fetched just now. Raises DynoError when the disk takes no
    more."""
    return _kept(place, ArchiveAnswers(time.time(), archives))


def remember_refusal(place: Path, asked: ArchiveAnswers, what: str, why: str) -> ArchiveAnswers:
    """One version cannot be had from archives that were asked a moment ago. Raises DynoError when
    the disk takes no more."""
    return _kept(place, structs.replace(asked, refused={**asked.refused, what: why}))


def _kept(place: Path, asked: ArchiveAnswers) -> ArchiveAnswers:
    replace_record(place / _FILE, asked)
    return asked
