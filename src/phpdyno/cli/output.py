"""Outputs that end no command: what was measured has its exit code, whoever reads along."""

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def open_outputs() -> None:
    """Make standard output and standard error take everything: what a reader that is gone (`|
    head`) would have got is dropped, as is all where they are closed (`>&-`); a character that
    their encoding has not is written as an escape."""
    sys.stdout, sys.stderr = _lasting(sys.stdout), _lasting(sys.stderr)


def _lasting(told: TextIO | None) -> TextIO:
    place, encoding, by_line = (told.fileno(), told.encoding, bool(told.line_buffering)) if told else (_nowhere(), "utf-8", False)
    buffer = io.BufferedWriter(_Lasting(place, "w", closefd=False))
    return io.TextIOWrapper(buffer, encoding, errors="backslashreplace", line_buffering=by_line)


def _nowhere() -> int:
    return os.open(os.devnull, os.O_WRONLY)


class _Lasting(io.FileIO):
    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = _nowhere()
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return super().write(data)
