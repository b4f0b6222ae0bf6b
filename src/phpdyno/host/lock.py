"""One measurement at a time on a host: two at once would measure each other."""

import socket
import struct
from types import TracebackType
from typing import Self

from phpdyno.errors import DynoError

_NAME = "\0phpdyno-measuring"


class MeasuringLock:
    """Held while measuring. An abstract socket: host-wide for every user, and gone with the process, SIGKILL included."""

    def __init__(self, name: str = _NAME) -> None:
        self._name = name
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def __enter__(self) -> Self:
        try:
            self._socket.bind(self._name)
        except OSError:
            holder = self._holder()
            self._socket.close()
            raise DynoError(
                f"another phpdyno is measuring on this host{holder}, and two at once would disturb each other",
                next_step="wait until it has ended",
            ) from None
        self._socket.listen(4)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._socket.close()

    def _holder(self) -> str:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
                asking.settimeout(0.5)
                asking.connect(self._name)
                credentials = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            pid = struct.unpack("3i", credentials)[0]
            # One of another container has no number here.
            return f" (process {pid})" if pid else ""
        except OSError:
            return ""
