"""Ends a pool before it exhausts the host's memory, or that of the container it runs in."""

import contextlib
import os
import signal
from collections.abc import Sequence
from threading import Event

from phpdyno.host.background import Background
from phpdyno.host.free_memory import Room, rooms
from phpdyno.servers.facts.meter import children_of

PERIOD_S = 0.1
KEPT = 0.05
"""Of each limit: below that a pool under test is ended, before the host swaps or the kernel kills
somebody."""
LEAST_KEPT_KIB = 16 << 10


class MemoryGuard(Background):
    """A thread that looks at the memory that is left, and kills a pool when it is too little.

    `hit_kib` is what was left then, None while that has not happened.
    """

    def __init__(self, master: int) -> None:
        self.hit_kib: int | None = None
        self._master = master
        super().__init__(self._look, name="phpdyno-memory")

    def _look(self, end: Event) -> None:
        while not end.wait(PERIOD_S):
            left = short(rooms())
            if left is not None:
                self.hit_kib = left
                self._kill()
                return

    def _kill(self) -> None:
        """The master first, so that it starts no others."""
        workers = children_of(self._master)
        for pid in (self._master, *workers):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def short(found: Sequence[Room]) -> int | None:
    """What is left, KiB, where it is less than is to be kept of some limit; None where there is
    enough."""
    return min((room.left_kib for room in found if room.left_kib < max(LEAST_KEPT_KIB, KEPT * room.limit_kib)), default=None)
