"""Appending to a journal. A line is on disk before anything goes on."""

import contextlib
import errno
import os
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct

from phpdyno.errors import DynoError


class JournalWriter:
    """Appends records to `journal.jsonl`; a context manager. Raises DynoError when the disk takes
    no more, or a record is no text."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._encoder = msgspec.json.Encoder()
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise cannot_write(path, error) from error

    def append(self, record: Struct) -> None:
        """Write one line and wait until it is on disk."""
        try:
            line = self._encoder.encode(record) + b"\n"
        except UnicodeEncodeError as error:
            what = "a name or a value that belongs in the journal is not UTF-8 text"
            raise DynoError(what, where=str(self.path), next_step="name what is measured in UTF-8, a path through a link") from error
        before = os.fstat(self._fd).st_size
        try:
            while line:
                line = line[os.write(self._fd, line) :]
            os.fsync(self._fd)
        except OSError as error:
            # Half a line must not stay: what is appended later would be glued to it.
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, before)
            raise cannot_write(self.path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._fd)


def cannot_write(path: Path, error: OSError) -> DynoError:
    """A write that failed, in words that say what to do."""
    what = "the disk is full" if error.errno in {errno.ENOSPC, errno.EDQUOT} else f"cannot write: {error.strerror}"
    return DynoError(
        what,
        where=str(path),
        next_step="what was measured is kept: free some space, then continue with --resume RUN",
    )
