"""One measurement at a time on a host: two at once would measure each other."""

import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from phpdyno.errors import DynoError
from phpdyno.host.files.file_lock import POLL_S
from phpdyno.host.sockets.network import outside

_NAME = "\0phpdyno-measuring"


class _Holds:
    """What this process has taken, by name, how many times each is in use, and how many commands
    hold on."""

    def __init__(self) -> None:
        self.taken: dict[str, socket.socket] = {}
        self.used: Counter[str] = Counter()
        self.holding_on = 0

    def release(self) -> None:
        """Let go of all that is in use no more, unless somebody holds on."""
        if not self.holding_on:
            for name in [each for each in self.taken if not self.used[each]]:
                self.taken.pop(name).close()


_HOLDS = _Holds()


@contextmanager
def holding_on() -> Iterator[None]:
    """Hold on for a command of several parts: the lock, once it was taken, is held until this
    ends, so that nobody comes between two parts."""
    _HOLDS.holding_on += 1
    try:
        yield
    finally:
        _HOLDS.holding_on -= 1
        _HOLDS.release()


class MeasuringLock:
    """Held while measuring, and by a process that holds it already once more. An abstract socket:
    host-wide for every user, and gone with the process, SIGKILL included.

    While another process holds it, it is refused with a DynoError; given whom to tell (`waiting`),
    it is waited for, in short steps so that Ctrl-C works.
    """

    def __init__(self, name: str = _NAME, *, waiting: Callable[[str], None] | None = None) -> None:
        self._name = name
        self._waiting = waiting

    def __enter__(self) -> Self:
        if self._name not in _HOLDS.taken:
            _HOLDS.taken[self._name] = self._take()
        _HOLDS.used[self._name] += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _HOLDS.used[self._name] -= 1
        _HOLDS.release()

    def _take(self) -> socket.socket:
        taken = outside(self._bound)
        if taken is None and self._waiting is not None:
            self._waiting(f"another phpdyno is at work on this host{self._holder()}; waiting for it")
            while taken is None:
                time.sleep(POLL_S)
                taken = outside(self._bound)
        if taken is None:
            raise DynoError(
                f"another phpdyno is measuring on this host{self._holder()}, and two at once would disturb each other",
                next_step="wait until it has ended",
            )
        return taken

    def _bound(self) -> socket.socket | None:
        """The socket, None while another process has it."""
        taken = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            taken.bind(self._name)
            taken.listen(4)
        except OSError:
            taken.close()
            return None
        return taken

    def _holder(self) -> str:
        return outside(self._told_holder)

    def _told_holder(self) -> str:
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
