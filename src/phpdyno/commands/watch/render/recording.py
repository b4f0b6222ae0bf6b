"""A record of what was watched: lines of JSON, appended as they come, so that a cut-off record
lacks its last line at most."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from phpdyno.commands.watch.found import Advice, HostMoment, Line, PoolMoment
from phpdyno.errors import DynoError, UsageError
from phpdyno.model.decoding import NOT_JSON


class Recorder:
    """While its context is open. A file that is there is not written over."""

    def __init__(self, file: Path) -> None:
        """Raises UsageError where the file is there already or cannot be made."""
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError as error:
            raise UsageError("it is there already", where=f"--record {file}", next_step="name another file, or remove it") from error
        except OSError as error:
            raise UsageError(f"it cannot be written: {error.strerror}", where=f"--record {file}") from error
        self._file, self._name = descriptor, file
        self._encoder = msgspec.json.Encoder()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._file)

    def add(self, *lines: Line) -> None:
        """Append. Raises DynoError where the disk takes no more."""
        data = b"".join(self._encoder.encode(line) + b"\n" for line in lines)
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            raise DynoError(f"it cannot be written: {error.strerror}", where=f"--record {self._name}") from error


def read_recorded(file: Path) -> Iterator[tuple[HostMoment | None, tuple[PoolMoment, ...], tuple[Advice, ...]]]:
    """Each interval: its host, its pools; at the end the advice. A torn last line is left out.
    Raises UsageError for what is no record."""
    host: HostMoment | None = None
    pools: list[PoolMoment] = []
    advice: list[Advice] = []
    for line in _lines(file):
        if isinstance(line, HostMoment):
            yield host, tuple(pools), ()
            host, pools = line, []
        elif isinstance(line, PoolMoment):
            pools.append(line)
        elif isinstance(line, Advice):
            advice.append(line)
    yield host, tuple(pools), tuple(advice)


def _lines(file: Path) -> Iterator[Line]:
    decoder = msgspec.json.Decoder(Line)
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.endswith(b"\n"):
                    return
                try:
                    yield decoder.decode(line)
                except NOT_JSON as error:
                    what = f"line {number} is no line of a record: {error}"
                    raise UsageError(what, where=f"--replay {file}", next_step="name a file that --record wrote") from error
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror}", where=f"--replay {file}") from error
