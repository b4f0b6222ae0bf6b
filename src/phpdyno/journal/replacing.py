"""Records that are one file, replaced whole, so that no reader ever finds half of it."""

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from phpdyno.errors import DynoError
from phpdyno.journal.reader import refuse_newer
from phpdyno.journal.writer import cannot_write
from phpdyno.model.decoding import NOT_JSON

_Record = TypeVar("_Record")


def replace_record(path: Path, record: msgspec.Struct) -> None:
    """It is on disk when this returns. Raises DynoError when the disk takes no more."""
    data = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
    temporary = path.with_suffix(".new")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error


def read_record(path: Path, kind: type[_Record], *, what: str, schema: int) -> _Record:
    """A record, `what` in words. Raises DynoError when it is damaged or newer than `schema`."""
    data = path.read_bytes()
    try:
        refuse_newer(msgspec.json.decode(data), path=path, what=what, schema=schema)
        return msgspec.json.decode(data, type=kind)
    except NOT_JSON as error:
        raise DynoError(f"this {what} cannot be used: {error}", where=str(path)) from error
