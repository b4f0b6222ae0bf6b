"""Reading a journal back, whole or cut off in the middle of its last line."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from phpdyno.errors import DynoError, UsageError
from phpdyno.journal.records import SCHEMA, Header, Planned, Record
from phpdyno.model.decoding import NOT_JSON

FILE = "journal.jsonl"
Line = TypeVar("Line")
_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


def find_journal(run: Path) -> Path:
    """The journal of a run, given its directory or the file itself. Raises UsageError when there is
    none."""
    path = run / FILE if run.is_dir() else run
    if not path.is_file():
        raise UsageError(
            "there is no journal here",
            where=str(run),
            next_step="give the directory of a run, for example runs/20260101-120000-compare-hello",
        )
    return path


def read_journal(path: Path) -> list[Record]:
    """Every record of a journal. A last line without its end was being written when the run died
    and is left out.

    Raises DynoError for a damaged line before the last, a missing header, or a schema newer than
    this version's.
    """
    lines = path.read_bytes().split(b"\n")
    cut_off = lines.pop()
    records = decode_lines(lines, _DECODER, path=path, what="journal", schema=SCHEMA)
    if not records or not isinstance(records[0], Header):
        why = "its only line was cut off" if cut_off and not records else "it does not begin with a header"
        raise DynoError(f"this journal cannot be used: {why}", where=str(path))
    return records


def begun_in(place: Path) -> Path | None:
    """The latest run below `place` that got as far as a plan."""
    for journal in sorted(place.glob(f"*/{FILE}"), reverse=True):
        try:
            records = read_journal(journal)
        except DynoError:
            continue
        if any(isinstance(record, Planned) for record in records):
            return journal.parent
    return None


def drop_cut_off_line(path: Path) -> bool:
    """Before appending: shorten the file to its last complete line. True when something was
    dropped."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole == len(data):
        return False
    with path.open("r+b") as file:
        file.truncate(whole)
    return True


def there(path: Path, run: Path, *, what: str, like: str) -> Path:
    """The file of a record in `run`, which is what was named; `like` is how such directories are
    called. Raises UsageError without one."""
    if not path.is_file():
        raise UsageError(f"there is no {what} here", where=str(run), next_step=f"give the directory of one, {like}")
    return path


def decode_lines(lines: Sequence[bytes], decoder: "msgspec.json.Decoder[Line]", *, path: Path, what: str, schema: int) -> list[Line]:
    """Whole lines of a versioned file, `what` in words. Raises DynoError: a damaged line, or a
    schema newer than `schema`."""
    found: list[Line] = []
    for number, line in enumerate(lines, 1):
        try:
            if number == 1:
                refuse_newer(msgspec.json.decode(line), path=path, what=what, schema=schema)
            found.append(decoder.decode(line))
        except NOT_JSON as error:
            raise DynoError(f"line {number} is damaged: {error}", where=str(path)) from error
    return found


def refuse_newer(head: object, *, path: Path, what: str, schema: int) -> None:
    """Raise DynoError when the first object of a file says that a newer version wrote it."""
    theirs = head.get("schema") if isinstance(head, dict) else None
    if isinstance(theirs, int) and theirs > schema:
        raise DynoError(
            f"this {what} has schema {theirs} and this phpdyno reads up to {schema}",
            where=str(path),
            next_step="use the version that wrote it",
        )
