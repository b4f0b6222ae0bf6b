"""Directories that measuring writes to: room, rights, length of socket paths and the real time of a
flush."""

import errno
import os
import socket
import statistics
import tempfile
import time
from pathlib import Path

from msgspec import Struct

from phpdyno.host.files.scratch import scratch_directory

FLUSHES = 8
_LINE = b"x" * 600 + b"\n"
_ST_NOEXEC = 8
LONGEST_SOCKET = 107
SOCKET_TAIL = "/phpdyno-12345678/i9999/run/fpm.sock"
"""What a socket of ours adds to the live root, at its longest."""


class DiskPlace(Struct, frozen=True):
    """One directory, or the nearest one above it that is there (`there`).

    `refused` is the kernel's word on a file that we tried to make, '' when it could be made.
    `closed` is the first directory on the way that the servers' account may not enter. `flush_s` is
    the median time to write and flush a line of a journal.
    """

    path: str
    there: str
    free_kib: int | None
    refused: str
    noexec: bool = False
    closed: str = ""
    flush_s: float | None = None


def look_at(path: Path, *, for_service: bool, flush: bool = False) -> DiskPlace:
    """Look at a directory and try to make an unnamed file in it; nothing stays, even when we are
    killed meanwhile."""
    there = nearest(path)
    free, noexec = _room(there)
    refused, flush_s = _try_file(there, flush=flush)
    return DiskPlace(
        path=str(path),
        there=str(there),
        free_kib=free,
        refused=refused,
        noexec=noexec,
        closed=_closed(there) if for_service else "",
        flush_s=flush_s,
    )


def nearest(path: Path) -> Path:
    """The path itself, or the nearest directory above it that is there as far as we may see."""
    for each in (path.absolute(), *path.absolute().parents):
        try:
            if each.is_dir():
                return each
        except OSError:
            continue
    return Path("/")


def try_socket(root: Path) -> str:
    """Bind a socket with a path as long as ours get below `root`; the kernel's word where that
    fails, else ''.

    What is made for it is gone when this returns.
    """
    if len(os.fsencode(str(root) + SOCKET_TAIL)) > LONGEST_SOCKET:
        return f"a socket's path may have {LONGEST_SOCKET} bytes, ours would have {len(os.fsencode(str(root) + SOCKET_TAIL))}"
    try:
        with scratch_directory(root) as folder, socket.socket(socket.AF_UNIX) as probe:
            probe.bind(f"{folder}/fpm.sock")
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _room(path: Path) -> tuple[int | None, bool]:
    try:
        found = os.statvfs(path)
    except OSError:
        return None, False
    return found.f_bavail * found.f_frsize // 1024, bool(found.f_flag & _ST_NOEXEC)


def _try_file(path: Path, *, flush: bool) -> tuple[str, float | None]:
    """Why no file can be made, and the median time of a flushed line."""
    try:
        fd = _unnamed_file(path)
    except OSError as error:
        return error.strerror or str(error), None
    try:
        return "", statistics.median(_flush(fd) for _ in range(FLUSHES)) if flush else None
    except OSError as error:
        return error.strerror or str(error), None
    finally:
        os.close(fd)


def _unnamed_file(path: Path) -> int:
    try:
        return os.open(path, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL}:
            raise
    fd, name = tempfile.mkstemp(prefix=".phpdyno-", dir=path)  # a file system without unnamed files
    Path(name).unlink()
    return fd


def _flush(fd: int) -> float:
    start = time.monotonic()
    os.write(fd, _LINE)
    os.fsync(fd)
    return time.monotonic() - start


def _closed(path: Path) -> str:
    """The first directory on the way to `path`, itself included, that not everybody may enter."""
    for each in (*reversed(path.resolve().parents), path.resolve()):
        try:
            if not each.stat().st_mode & 0o001:
                return str(each)
        except OSError:
            return str(each)
    return ""
