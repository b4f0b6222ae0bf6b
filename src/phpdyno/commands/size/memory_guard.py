"""Ends a pool before it exhausts the host's memory."""

import contextlib
import os
import signal
import threading
from types import TracebackType
from typing import Self

from phpdyno.host.free_memory import free_kib
from phpdyno.stack.meter import children_of

PERIOD_S = 0.05


class MemoryGuard:
    """A thread that looks at the memory that is left, and kills a pool when it is less than a floor.

    `hit_kib` is what was left then, None while that has not happened.
    """

    def __init__(self, master: int, floor_kib: int) -> None:
        self.hit_kib: int | None = None
        self._master = master
        self._floor_kib = floor_kib
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, name="phpdyno-memory", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(PERIOD_S):
            left = free_kib()
            if left is not None and left < self._floor_kib:
                self.hit_kib = left
                self._kill()
                return

    def _kill(self) -> None:
        """The master first, so that it starts no others."""
        workers = children_of(self._master)
        for pid in (self._master, *workers):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
