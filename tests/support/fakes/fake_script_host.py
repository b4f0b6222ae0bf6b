"""A fake of php_files/script_host.php: answers what a test says, with the real framing, in a
thread."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

Row = tuple[int, int, int, int]
"""Start and end in nanoseconds, status, bytes of the answer."""


def told(kind: str, *rows: Row) -> bytes:
    """A message of rows: `r` more to come, `z` all, `d` the process ends."""
    return kind.encode() + b"".join(struct.pack("<4Q", *row) for row in rows)


class FakeScriptHost:
    """Gives each command to `reply`, sends the messages that it returns, and hangs up where it
    returns None among them."""

    def __init__(self, path: Path, reply: Callable[[bytes], list[bytes | None]]) -> None:
        self.asked: list[bytes] = []
        self._reply = reply
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(path))
        self._server.listen()
        self._connections: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for each in (self._server, *self._connections):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._thread.join(5.0)
        for each in (self._server, *self._connections):
            each.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                self._connections.append(connection)
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        while head := connection.recv(4, socket.MSG_WAITALL):
            (length,) = struct.unpack("<I", head)
            message = connection.recv(length, socket.MSG_WAITALL)
            self.asked.append(message)
            for answer in self._reply(message):
                if answer is None:
                    connection.shutdown(socket.SHUT_RDWR)
                    return
                # In two parts: a reader may not rely on a message coming in one piece.
                framed = struct.pack("<I", len(answer)) + answer
                connection.sendall(framed[:3])
                connection.sendall(framed[3:])
