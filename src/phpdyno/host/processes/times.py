"""CPU time of a process and how long it waited for a core, from /proc/PID/schedstat, open to
everybody: 2 µs per reading."""

import os

from phpdyno.host.files.small_files import SmallFiles


class ProcessTimes:
    """`schedstat` of one process, kept open; of its main thread, as php-fpm's workers have one."""

    def __init__(self, pid: int, tree: SmallFiles | None = None) -> None:
        """Raises OSError where there is none."""
        path = f"/proc/{pid}/schedstat"
        self._file = os.open(path if tree is None else tree.path(path), os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> tuple[int, int]:
        """Nanoseconds on a core and nanoseconds ready without one, since it was started. Raises
        OSError (it has ended), ValueError."""
        run, wait, _ = os.pread(self._file, 96, 0).split()
        return int(run), int(wait)

    def close(self) -> None:
        """Close it. Idempotent."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


def inner_number(pid: int, tree: SmallFiles | None = None) -> int:
    """The number of a process in its own PID namespace; `pid` itself where it has no other or
    nothing tells."""
    told = (tree or SmallFiles()).field(f"/proc/{pid}/status", "NSpid")
    return int(told.split()[-1]) if told else pid
