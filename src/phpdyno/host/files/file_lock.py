"""A lock file that one process holds at a time; it is free when its holder is gone, SIGKILL
included."""

import contextlib
import fcntl
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from phpdyno.errors import DynoError

POLL_S = 0.1


@contextlib.contextmanager
def file_lock(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file; while another process holds it, wait in short steps so that Ctrl-C works,
    after `waiting` was called once.

    Raises DynoError where the file cannot be written.
    """
    try:
        stream = path.open("a")
    except OSError as error:
        raise DynoError(f"cannot write the cache: {error.strerror}", where=str(path), next_step="set PHPDYNO_CACHE") from error
    with stream:
        told = False
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    waiting()
                told = True
                time.sleep(POLL_S)
        yield


@contextlib.contextmanager
def lock_where_free(path: Path) -> Iterator[bool]:
    """Hold the lock file if nobody else does: True then, else False at once. Raises DynoError where
    the file cannot be written."""
    try:
        stream = path.open("a")
    except OSError as error:
        raise DynoError(f"cannot write the cache: {error.strerror}", where=str(path)) from error
    with stream:
        yield take(stream.fileno(), fcntl.LOCK_EX)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock file now. Nothing is made, and one that cannot be read
    counts as held by nobody."""
    try:
        with path.open("rb") as stream:
            return not take(stream.fileno(), fcntl.LOCK_SH)
    except OSError:
        return False


def take(descriptor: int, how: int) -> bool:
    """Take a lock on an open file, which ends with it; whether nobody else holds it. Raises OSError
    where the file system has no locks."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
