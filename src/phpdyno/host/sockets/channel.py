"""Length-framed messages over a unix socket: how a script's host is spoken to."""

import socket
import struct
import time
from pathlib import Path

CONNECT_S = 2.0
MOST_BYTES = 1 << 30
_LENGTH = struct.Struct("<I")


class Channel:
    """One connection. A message is its length (uint32, little-endian) and its bytes; after a
    time-out the connection is of no use."""

    def __init__(self, path: Path) -> None:
        """Raises OSError when nobody listens there."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(CONNECT_S)
        try:
            self._socket.connect(str(path))
        except BaseException:
            self._socket.close()
            raise

    def send(self, message: bytes) -> None:
        """One message. Raises OSError."""
        self._socket.sendall(_LENGTH.pack(len(message)) + message)

    def receive(self, timeout_s: float) -> bytes:
        """The next message. Raises TimeoutError, and ConnectionError when the other side is gone or
        says what cannot be."""
        deadline = time.monotonic() + timeout_s
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size, deadline))
        if length > MOST_BYTES:
            raise ConnectionError(f"a message of {length} bytes")
        return self._exactly(length, deadline)

    def _exactly(self, count: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < count:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            part = self._socket.recv(min(count - len(data), 1 << 20))
            if not part:
                raise ConnectionResetError("the connection was closed")
            data += part
        return bytes(data)

    def close(self) -> None:
        """Hang up. Idempotent."""
        self._socket.close()

    def __del__(self) -> None:
        # Lanes are dropped with their instances.
        self._socket.close()
