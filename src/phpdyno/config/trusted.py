"""Files that somebody else named: read only where they are plain files and, for root, where root alone can change them."""

import os
import stat
from collections import deque
from pathlib import Path

from phpdyno.errors import DynoError, UsageError

MOST_LINKS = 40
MOST_BYTES = 1 << 24
BY_HAND = "give the settings by hand (ini.NAME=…;pool.pm=…)"


def read_trusted(path: Path, *, where: str = "") -> bytes:
    """The content of a plain file. Raises UsageError for anything else and, as root, for what others can change; OSError as `open` does."""
    refuse_untrusted(path, where=where)
    # A FIFO or a device would wait for its other end.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UsageError(f"{path} is no plain file", where=where, next_step=BY_HAND)
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read(MOST_BYTES)
    finally:
        os.close(descriptor)


def refuse_untrusted(path: Path, *, where: str = "") -> None:
    """As root: raises UsageError for a path on which an account other than root can change something; OSError where there is none."""
    if os.geteuid() == 0 and (place := changeable(path)) is not None:
        what = f"{path} is not root's alone: others can change {place}"
        raise UsageError(what, where=where, next_step=f"give {place} to root, without write permission for others, or {BY_HAND}")


def changeable(path: Path) -> Path | None:
    """The first of a path's directories and links, and what it leads to, that an account other than root can change; None where none is.

    In a sticky directory (/tmp) nobody but root can replace what is root's. Raises OSError where the path leads nowhere.
    """
    rest = deque((Path.cwd() / path).parts[1:])
    place, links = Path("/"), 0
    while True:
        status = place.lstat()
        shared = status.st_mode & 0o022 and not (stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX)
        if status.st_uid != 0 or (shared and not stat.S_ISLNK(status.st_mode)):
            return place
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > MOST_LINKS:
                raise DynoError("too many links", where=str(path))
            target = place.readlink()
            rest.extendleft(reversed(target.parts[1:] if target.is_absolute() else target.parts))
            place = Path("/") if target.is_absolute() else place.parent
        if not rest:
            return None
        part = rest.popleft()
        place = place.parent if part == ".." else place / part
