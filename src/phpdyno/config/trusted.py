"""Files that somebody else named: whether root alone can change them, and on whose word root would
read them."""

import os
import stat
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from phpdyno.errors import DynoError, UsageError

MOST_LINKS = 40
NOBODY = 65534
"""The account, and group, with the rights that everybody has."""
MOST_BYTES = 1 << 24
BY_HAND = "give the settings by hand (ini.NAME=…;pool.pm=…)"


def read_trusted(path: Path, *, where: str = "") -> bytes:
    """The content of a plain file. Raises UsageError for anything else and, as root, for what
    others can change; OSError as `open` does."""
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
    """As root: raises UsageError for a path on which an account other than root can change
    something; OSError where there is none."""
    if os.geteuid() == 0 and (place := changeable(path)) is not None:
        what = f"{path} is not root's alone: others can change {place}"
        raise UsageError(what, where=where, next_step=f"give {place} to root, without write permission for others, or {BY_HAND}")


def changeable(path: Path) -> Path | None:
    """The first of a path's directories and links, and what it leads to, that an account other than
    root can change; None where none is.

    In a sticky directory (/tmp) nobody but root can replace what is root's. Raises OSError where
    the path leads nowhere.
    """
    for place, status in _way(path):
        shared = status.st_mode & 0o022 and not (stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX)
        if status.st_uid != 0 or (shared and not stat.S_ISLNK(status.st_mode)):
            return place
    return None


def steered_by(path: Path, file: os.stat_result | None = None) -> int:
    """As root: the account on whose word `path` would be read, 0 for root's own: the owner of the
    opened `file`, or of a link on the way.

    NOBODY where several may write the file. Whoever called sudo, or owns this very code, is obeyed
    anyway and counts as root. A link of root's in somebody's directory may have been moved there;
    one that leads to what is its owner's (for `file`: into his own directory) gains him nothing and
    does not count, as a file of root's in somebody's directory is still root's word. Raises OSError
    where the path leads nowhere.
    """
    if os.geteuid() != 0:
        return 0
    accounts, groups = obeyed(), {0, _from_sudo("SUDO_GID"), Path(__file__).stat().st_gid}
    if file is not None:
        if file.st_uid not in accounts:
            return file.st_uid
        if file.st_mode & stat.S_IWOTH or (file.st_mode & stat.S_IWGRP and file.st_gid not in groups):
            return NOBODY
    if file is None:
        return led_by(path)[1]
    return _steering(list(_way(path)), accounts | {path.resolve().parent.stat().st_uid})


def led_by(path: Path) -> tuple[Path, int]:
    """Where a path leads, itself without links, and as root on whose word, as `steered_by` says;
    both of one walk, so that what is read of that place through no further link was led to by
    nobody else. Raises OSError where the path leads nowhere."""
    way = list(_way(path))
    end, status = way[-1]
    return end, _steering(way, obeyed() | {status.st_uid}) if os.geteuid() == 0 else 0


def obeyed() -> frozenset[int]:
    """Accounts whose word is root's own: root, whoever called sudo, the owner of this very code."""
    caller = _from_sudo("SUDO_UID")
    return frozenset({0, Path(__file__).stat().st_uid, *([] if caller is None else [caller])})


def _steering(way: list[tuple[Path, os.stat_result]], accounts: frozenset[int]) -> int:
    links = [(status.st_uid, place.parent.stat().st_uid) for place, status in way if stat.S_ISLNK(status.st_mode)]
    return next((owner for owners in reversed(links) for owner in owners if owner not in accounts), 0)


def _from_sudo(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else None


def _way(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every directory and link on the way along a path, and what it leads to."""
    rest = deque((Path.cwd() / path).parts[1:])
    place, links = Path("/"), 0
    while True:
        status = place.lstat()
        yield place, status
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > MOST_LINKS:
                raise DynoError("too many links", where=str(path))
            target = place.readlink()
            rest.extendleft(reversed(target.parts[1:] if target.is_absolute() else target.parts))
            place = Path("/") if target.is_absolute() else place.parent
            if not rest:
                continue  # it leads to a directory that was passed on the way
        if not rest:
            return
        part = rest.popleft()
        place = place.parent if part == ".." else place / part
