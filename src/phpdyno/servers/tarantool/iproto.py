"""The few requests of Tarantool's binary protocol (IPROTO) by which we ourselves ask a server, one
at a time."""

import socket
import struct
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from phpdyno.errors import DynoError

GREETING_BYTES = 128
GREETS = b"Tarantool "
EVAL, PING = 8, 64
TYPE, SYNC, EXPRESSION, ARGUMENTS, DATA, ERROR = 0x00, 0x01, 0x27, 0x21, 0x30, 0x31
FAILED = 0x8000
LENGTH = struct.Struct(">BI")
UINT32 = 0xCE
MOST_BYTES = 64 << 20


class Iproto:
    """A connection to a server's unix socket. A context manager."""

    def __init__(self, path: Path, *, timeout_s: float = 10.0) -> None:
        """Raises OSError where nobody listens, DynoError where it is no Tarantool."""
        self._where = str(path)
        self._sync = 0
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(timeout_s)
            self._socket.connect(str(path))
            self.greeting = self._read(GREETING_BYTES)
        except BaseException:
            self._socket.close()
            raise
        if not self.greeting.startswith(GREETS):
            self._socket.close()
            raise DynoError("what listens there is no Tarantool", where=self._where)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Hang up. Idempotent."""
        self._socket.close()

    @property
    def version(self) -> str:
        """The version as the greeting has it: `2.6.0`."""
        return self.greeting.split()[1].decode("ascii", "replace")

    def ping(self) -> None:
        """Have it answer. Raises OSError, DynoError."""
        self.perform(PING, {})

    def evaluate(self, expression: str, *arguments: Any) -> list[Any]:
        """What a Lua expression with these arguments returns. Raises DynoError with the server's
        words, OSError."""
        answer = self.perform(EVAL, {EXPRESSION: expression, ARGUMENTS: list(arguments)})
        values: list[Any] = answer.get(DATA, [])
        return values

    def perform(self, kind: int, body: dict[int, Any]) -> dict[int, Any]:
        """The body of the answer to a request of this type. Raises DynoError with the server's
        words, OSError."""
        self._sync += 1
        request = msgspec.msgpack.encode({TYPE: kind, SYNC: self._sync}) + msgspec.msgpack.encode(body)
        self._socket.sendall(LENGTH.pack(UINT32, len(request)) + request)
        marker, length = LENGTH.unpack(self._read(LENGTH.size))
        if marker != UINT32 or length > MOST_BYTES:
            raise DynoError("the server's answer is no IPROTO", where=self._where)
        header, answer = _two_maps(self._read(length))
        if header.get(SYNC) != self._sync:
            raise DynoError("the server answered another request", where=self._where)
        if header.get(TYPE, 0) >= FAILED:
            raise DynoError(f"the server refuses it: {answer.get(ERROR, 'no reason given')}", where=self._where)
        return answer

    def _read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise ConnectionResetError("the server has closed the connection")
            data += part
        return bytes(data)


def _two_maps(answer: bytes) -> tuple[dict[int, Any], dict[int, Any]]:
    """The header and the body of an answer, which follow each other without a length between
    them."""
    header, body = msgspec.msgpack.decode(b"\x92" + answer, type=tuple[dict[int, Any], dict[int, Any]])
    return header, body
