"""Files and directories in places where another account can put things: opened so that no link
which lies there is followed."""

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from phpdyno.config.trusted import MOST_LINKS, obeyed

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""A pipe or a device is not waited for."""
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def open_plain(path: Path | str, folder: int | None = None) -> int:
    """Open a plain file of one name to read it, its name in the opened directory `folder` where
    that is given.

    The caller closes it. Raises OSError where anything else lies there: somebody else put it there.
    """
    file = os.open(path, READ, dir_fd=folder)
    held = os.fstat(file)
    if not stat.S_ISREG(held.st_mode) or held.st_nlink != 1:
        os.close(file)
        raise OSError(errno.EPERM, "this is no plain file with one name", str(path))
    return file


def read_plain(path: Path) -> bytes:
    """The content of a plain file that another account wrote. Raises OSError as `open_plain`."""
    with os.fdopen(open_plain(path), "rb") as stream:
        return stream.read()


def read_led(path: Path) -> bytes:
    """The content of a plain file that may lie behind a link, for what a process of another account
    names: no pipe or device is waited for.

    Raises OSError.
    """
    with os.fdopen(os.open(path, READ & ~os.O_NOFOLLOW), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(errno.EPERM, "this is no plain file", str(path))
        return stream.read()


def open_folder(name: Path | str, folder: int | None = None) -> int:
    """Open a directory to read it; the caller closes it. Raises OSError where a link lies there, or
    no directory."""
    return os.open(name, FOLDER, dir_fd=folder)


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """A directory for as long as it is worked in, opened as `open_way` does. Raises OSError."""
    descriptor = open_way(folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def opened_below(top: int, parts: tuple[str, ...]) -> Iterator[int]:
    """A directory below an opened one, none of whose parts may be a link. Raises OSError."""
    descriptor = os.dup(top)
    try:
        for part in parts:
            inner = open_folder(part, descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def open_way(path: Path) -> int:
    """Open a directory to read it; as root no link on the way is followed that another account can
    have put there.

    Who opens it before and after cannot be led to different places by what is changed meanwhile.
    The caller closes it. Raises OSError.
    """
    if os.geteuid() != 0:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    accounts = obeyed()
    rest = deque((Path.cwd() / path).parts[1:])
    links = 0
    folder = os.open("/", LOOK | os.O_DIRECTORY)
    try:
        while rest:
            part = rest.popleft()
            inner = os.open(part, LOOK, dir_fd=folder)
            held = os.fstat(inner)
            if not stat.S_ISLNK(held.st_mode):
                os.close(folder)
                folder = inner
                continue
            target = Path(os.readlink("", dir_fd=inner))
            os.close(inner)
            links += 1
            if links > MOST_LINKS or not {held.st_uid, os.fstat(folder).st_uid} <= accounts:
                raise OSError(errno.ELOOP, "another account can have put this link there", str(path))
            rest.extendleft(reversed(target.parts[1:] if target.is_absolute() else target.parts))
            if target.is_absolute():
                os.close(folder)
                folder = os.open("/", LOOK | os.O_DIRECTORY)
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(folder)


def set_mode(name: str, folder: int, mode: int) -> None:
    """Give what a name in an opened directory stands for these bits of its mode; a link there is
    left alone. Raises OSError."""
    held = os.open(name, LOOK, dir_fd=folder)
    try:
        if not stat.S_ISLNK(os.fstat(held).st_mode):
            os.chmod(f"/proc/self/fd/{held}", mode)  # noqa: PTH101 (such a descriptor has no fchmod)
    finally:
        os.close(held)
