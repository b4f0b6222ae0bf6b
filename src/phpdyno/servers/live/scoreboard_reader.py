"""A running pool's scoreboard, read from its master's memory: no request, no fork, no tracer, and
no saturation can block it.

/proc/MASTER/mem is kept open, so a reading is one system call (0.03 ms for a hundred workers). A
reload executes php-fpm anew: then the opened memory is that of a process image which is gone,
nothing can be read of it, and the scoreboard is looked for again.
"""

import errno
import os
import time
from collections.abc import Container

from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.host.files.small_files import SmallFiles
from phpdyno.servers.live.scoreboard import (
    LAYOUTS,
    LEAST_BYTES,
    STRANGER,
    Head,
    ScoreboardLayout,
    Slot,
    busy_of,
    fault_of,
    head_of,
    holds_name,
    slots_of,
)

MOST_BYTES = 1 << 25
MARK = "/dev/zero (deleted)"
"""How the kernel names memory that processes share without a file."""


class NoScoreboard(DynoError):  # noqa: N818 (it names what is the matter)
    """This pool's scoreboard cannot be read, or is of no known layout; another source is taken
    then."""


class Unsettled(NoScoreboard):
    """Workers come and go too fast for this look; the next one may fit."""


class Board(Struct, frozen=True):
    """One reading."""

    head: Head
    slots: list[Slot]


class ScoreboardReader:
    """The scoreboard of one pool of a master."""

    def __init__(self, master: int, pool: str, *, workers: Container[int] | None, tree: SmallFiles | None = None) -> None:
        """`workers` are the processes that may be in it, as their own PID namespace numbers them.
        Raises NoScoreboard."""
        self._place = f"/proc/{master}"
        self._tree = tree or SmallFiles()
        self._pool = pool
        try:
            self._memory = os.open(self._tree.path(f"{self._place}/mem"), os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise _refused(error, self._place) from error
        try:
            self._start, self._mapped = self._find()
            self._layouts: list[ScoreboardLayout] = list(LAYOUTS)
            self._decided = False
            self.read(workers=workers)
        except BaseException:
            self.close()
            raise

    @property
    def layout(self) -> str:
        """The versions of PHP whose layout it has, so far as it can be told before there is a
        worker."""
        return self._layouts[0].versions if self._decided else " or ".join(layout.versions for layout in self._layouts)

    @property
    def counts_wrong(self) -> bool:
        """Whether php-fpm's own counter of requests is not to be believed in this version."""
        return self._decided and self._layouts[0].counts_wrong

    def read(self, *, workers: Container[int] | None) -> Board:
        """All of it, validated. Raises NoScoreboard: the master is gone or was reloaded, or what is
        there fits no layout."""
        data, faults = self._data(), {}
        for layout in self._layouts:
            fault = self._fault(data, layout, workers)
            if fault:
                faults[layout.versions] = fault
        fitting = [layout for layout in self._layouts if layout.versions not in faults]
        if not fitting:
            likely = min((why for why in faults.values() if "name" not in why), key=lambda why: STRANGER not in why, default="")
            kind = Unsettled if STRANGER in likely else NoScoreboard
            raise kind(f"its scoreboard has a layout that phpdyno does not know ({likely})", where=self._place)
        self._layouts = fitting
        head = head_of(data, fitting[0])
        self._decided = len(fitting) == 1
        return Board(head, slots_of(data, fitting[0], head.max_children) if self._decided else [])

    def _fault(self, data: bytes, layout: ScoreboardLayout, workers: Container[int] | None) -> str:
        return fault_of(data, layout, self._pool, start=self._start, mapped=self._mapped, now_s=time.time(), workers=workers)

    def busy(self) -> int:
        """How many workers are in a request at this moment. Raises NoScoreboard."""
        data = self._data()
        head = head_of(data, self._layouts[0])
        return busy_of(data, self._layouts[0], head.max_children) if self._decided else min(head.active, head.max_children)

    def close(self) -> None:
        """Close the memory. Idempotent."""
        memory, self._memory = self._memory, -1
        if memory >= 0:
            os.close(memory)

    def _data(self) -> bytes:
        try:
            data = os.pread(self._memory, self._mapped, self._start)
        except OSError as error:
            raise _refused(error, self._place) from error
        if len(data) < LEAST_BYTES:
            raise NoScoreboard("its memory is gone: php-fpm ended or was reloaded", where=self._place)
        return data

    def _find(self) -> tuple[int, int]:
        """Address and size of the mapping."""
        try:
            lines = self._tree.path(f"{self._place}/maps").read_text(errors="replace").splitlines()
        except OSError as error:
            raise _refused(error, self._place) from error
        for line in lines:
            if not line.endswith(MARK) or "rw-s" not in line:
                continue
            start, end = (int(part, 16) for part in line.split(None, 1)[0].split("-"))
            if end - start <= MOST_BYTES and holds_name(os.pread(self._memory, LEAST_BYTES, start), self._pool):
                return start, end - start
        raise NoScoreboard("no scoreboard of this pool is in its memory", where=self._place)


def _refused(error: OSError, place: str) -> NoScoreboard:
    if error.errno in {errno.EACCES, errno.EPERM}:
        if os.geteuid() != 0:
            return NoScoreboard("its memory may not be read", where=place, next_step="run phpdyno as root")
        what = "its memory may not be read although we are root: ptrace is forbidden here"
        step = "give the container CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE), or set kernel.yama.ptrace_scope below 3"
        return NoScoreboard(what, where=place, next_step=step)
    if error.errno in {errno.ENOENT, errno.ESRCH}:
        return NoScoreboard("it has ended", where=place)
    return NoScoreboard(f"its memory cannot be read: {os.strerror(error.errno or 0)}", where=place)
