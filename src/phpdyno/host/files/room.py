"""Room on a disk, reckoned before anything is written there."""

import fcntl
import os
import stat
import tempfile
from collections.abc import Collection
from pathlib import Path

from phpdyno.errors import UsageError
from phpdyno.host.files.trees import FICLONE, statuses_below

KEPT_FREE = 16 << 20
"""Bytes that a run needs besides, for its journal and its logs."""
BLOCK = 512
_UNITS = ("KiB", "MiB", "GiB", "TiB")
_STEP = 1024
_TWO_DIGITS = 9.95


def size_in_words(number: int) -> str:
    """Bytes as people read them: `0 B`, `512 B`, `31 MiB`, `1.2 GiB`."""
    if number < _STEP:
        return f"{number} B"
    power = min(len(_UNITS), (number.bit_length() - 1) // 10)
    value = number / _STEP**power
    return f"{value:.{0 if value >= _TWO_DIGITS else 1}f} {_UNITS[power - 1]}"


def tree_size(top: Path, *, without: Collection[str] = ()) -> int:
    """Bytes that a tree takes on its disk, less what lies at these paths in it. What cannot be
    looked at counts as nothing."""
    statuses = (status for _, status in statuses_below(top, without) if stat.S_ISREG(status.st_mode))
    return sum(status.st_blocks * BLOCK for status in statuses)


def require_room(number: int, folder: Path, *, what: str, where: str, next_step: str) -> None:
    """Refuse to write so many bytes of `what` into a directory that has no room for them. Raises
    UsageError with both sizes."""
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if number + KEPT_FREE > free:
        said = f"{what} takes {size_in_words(number)}, and {size_in_words(free)} are free in {folder}"
        raise UsageError(said, where=where, next_step=next_step)


def shares_blocks(source: Path, folder: Path) -> bool:
    """Whether a copy in `folder` of what is in the directory `source` takes no room: one file
    system, which shares blocks."""
    try:
        if source.stat().st_dev != folder.stat().st_dev:
            return False
        with tempfile.TemporaryFile(dir=folder) as one, tempfile.TemporaryFile(dir=folder) as other:
            one.write(bytes(4096))
            one.flush()
            fcntl.ioctl(other.fileno(), FICLONE, one.fileno())
    except OSError:
        return False
    return True
