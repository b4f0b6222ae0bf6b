"""The lines of a log file, plain or gzip, one at a time."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, cast

from phpdyno.errors import UsageError

GZIP_MAGIC = b"\x1f\x8b"
MOST_LINE_BYTES = 128 * 1024
"""nginx takes 8 KiB each of request line, referer and user agent by default and writes up to 6
bytes for one of them (`\\u001F`)."""
_BLOCK_BYTES = 256 * 1024


def lines_of(path: Path) -> Iterator[bytes | None]:
    """Each line without its end; None stands for one longer than 128 KiB. Gzip is known by its
    first bytes, not by the file's name.

    Raises UsageError: no such file, no regular file, unreadable, damaged gzip data.
    """
    number = 0
    try:
        if not path.is_file():
            what = "is no regular file" if path.exists() else "there is no such file"
            raise UsageError(what, where=str(path), next_step="give an access log that lies on disk, plain or gzip")
        with ExitStack() as stack:
            for line in _split(_opened(path, stack)):
                number += 1
                yield line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        what = f"is damaged gzip data after line {number}"
        raise UsageError(what, where=str(path), next_step="unpack what is whole of it with zcat, and give that") from error
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise UsageError(f"{str(path)!r} cannot be the name of a file") from error


def _opened(path: Path, stack: ExitStack) -> BinaryIO:
    raw = stack.enter_context(path.open("rb"))
    if raw.peek(len(GZIP_MAGIC))[: len(GZIP_MAGIC)] != GZIP_MAGIC:
        return raw
    unpacked = stack.enter_context(gzip.GzipFile(fileobj=raw))
    return cast("BinaryIO", stack.enter_context(io.BufferedReader(unpacked, _BLOCK_BYTES)))


def _split(stream: BinaryIO) -> Iterator[bytes | None]:
    while line := stream.readline(MOST_LINE_BYTES + 1):
        if line.endswith(b"\n"):
            yield line[:-1]
        elif len(line) <= MOST_LINE_BYTES:
            yield line
        else:
            while (rest := stream.readline(_BLOCK_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield None
