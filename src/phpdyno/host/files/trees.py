"""Trees in which another account can change things meanwhile: walked, changed and copied by
descriptors of their directories."""

import errno
import fcntl
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from phpdyno.host.files.plain import READ, open_folder, open_plain

RIGHTS = 0o6000
"""Bits that run a program with its owner's or group's rights. No copy has them."""
MOST_DEEP = 200
"""Directories within each other; each one that is walked through takes a descriptor."""
FICLONE = 0x40049409
_STEP = 1 << 24


class TreeEntry(NamedTuple):
    """What lies below a directory: the opened directory that it is in, its name, and what it is."""

    folder: int
    name: str
    status: os.stat_result


def entries_below(top: int, below: str = "", depth: int = 0) -> Iterator[TreeEntry]:
    """Everything below an opened directory, what is in a directory before the directory itself;
    links are not followed. Raises OSError."""
    _not_too_deep(depth, below)
    for name in _names_in(top):
        place = f"{below}/{name}" if below else name
        status = os.stat(name, dir_fd=top, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            yield TreeEntry(top, name, status)
            continue
        inner = open_folder(name, top)
        try:
            yield from entries_below(inner, place, depth + 1)
            yield TreeEntry(top, name, os.fstat(inner))
        finally:
            os.close(inner)


def statuses_below(top: Path, without: Collection[str] = ()) -> Iterator[tuple[str, os.stat_result]]:
    """Paths below a directory, in no order, and what each is, but for those of `without` and what
    is in them; no link is followed.

    What cannot be looked at is passed over.
    """
    for folder, folders, files, descriptor in os.fwalk(top):
        below = os.path.relpath(folder, top)
        prefix = "" if below == "." else f"{below}/"
        folders[:] = [name for name in folders if prefix + name not in without]
        for name in (*folders, *files):
            if prefix + name not in without:
                with suppress(OSError):
                    yield prefix + name, os.stat(name, dir_fd=descriptor, follow_symlinks=False)


def is_plain(folder: int, name: str) -> bool:
    """Whether nobody but us can change what directories of this entry hold, and it is made of
    files, directories and links without further rights; False where it cannot be looked through."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            return _is_plain(status)
        top = open_folder(name, folder)
        try:
            return _is_plain(os.fstat(top)) and all(_is_plain(entry.status) for entry in entries_below(top))
        finally:
            os.close(top)
    except OSError:
        return False


def _is_plain(status: os.stat_result) -> bool:
    if stat.S_ISDIR(status.st_mode) and (status.st_mode & 0o022 or status.st_uid != os.geteuid()):
        return False
    return stat.S_ISLNK(status.st_mode) or (stat.S_IFMT(status.st_mode) in {stat.S_IFREG, stat.S_IFDIR} and not status.st_mode & RIGHTS)


class Copier:
    """Copies entries into an opened directory that nobody but us can write to. Links stay links,
    and names of one file stay that.

    Devices, pipes, sockets and bits that give rights are left out; nobody but us may write the
    copies.
    """

    def __init__(self, into: int) -> None:
        self._into = into
        self._names: dict[tuple[int, int], str] = {}
        self._at = ""

    def copy(self, folder: int, name: str, new: str) -> None:
        """Copy one entry of an opened directory as `new`.

        Raises OSError, its file name the place in the copies: what cannot be read, or is something
        else by now, a full disk.
        """
        try:
            self._copy(_Spot(folder, name), _Spot(self._into, new), new)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._at) from error

    def _copy(self, source: "_Spot", made: "_Spot", below: str) -> None:
        self._at = below
        status = os.stat(source.name, dir_fd=source.folder, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(source.name, dir_fd=source.folder), made.name, dir_fd=made.folder)
            os.utime(made.name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=made.folder, follow_symlinks=False)
        elif stat.S_ISDIR(status.st_mode):
            self._copy_folder(source, made, below)
        elif stat.S_ISREG(status.st_mode):
            self._copy_file(source, made, below)

    def _copy_folder(self, source: "_Spot", made: "_Spot", below: str) -> None:
        _not_too_deep(below.count("/"), below)
        folder = open_folder(source.name, source.folder)
        try:
            os.mkdir(made.name, 0o700, dir_fd=made.folder)
            into = open_folder(made.name, made.folder)
            try:
                for name in _names_in(folder):
                    self._copy(_Spot(folder, name), _Spot(into, name), f"{below}/{name}")
                _finish(into, os.fstat(folder), 0o700)
            finally:
                os.close(into)
        finally:
            os.close(folder)

    def _copy_file(self, source: "_Spot", made: "_Spot", below: str) -> None:
        file = os.open(source.name, READ, dir_fd=source.folder)
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EBUSY, "this was changed while it was copied", below)
            key = (status.st_dev, status.st_ino)
            if key in self._names:
                os.link(self._names[key], made.name, src_dir_fd=self._into, dst_dir_fd=made.folder, follow_symlinks=False)
                return
            copy = os.open(made.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=made.folder)
            try:
                copy_bytes(file, copy)
                _finish(copy, status, 0o600)
            finally:
                os.close(copy)
            if status.st_nlink > 1:
                self._names[key] = below
        finally:
            os.close(file)


class _Spot(NamedTuple):
    """A name in an opened directory."""

    folder: int
    name: str


def copy_bytes(source: int, made: int) -> None:
    """Give an empty file the content of another; blocks are shared where the disk can. Raises
    OSError."""
    with suppress(OSError):
        fcntl.ioctl(made, FICLONE, source)
        return
    while os.sendfile(made, source, None, _STEP):  # without an offset it goes on where it was
        pass


def copy_plain(name: str, folder: int, place: Path) -> None:
    """Copy the content of a plain file in an opened directory, in which others may write, to a path
    in one of ours. Raises OSError."""
    source = open_plain(name, folder)
    try:
        made = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            copy_bytes(source, made)
        finally:
            os.close(made)
    finally:
        os.close(source)


def _finish(made: int, status: os.stat_result, least: int) -> None:
    os.fchmod(made, status.st_mode & 0o755 | least)
    os.utime(made, ns=(status.st_atime_ns, status.st_mtime_ns))


def _names_in(folder: int) -> list[str]:
    return sorted(os.listdir(folder))


def _not_too_deep(depth: int, below: str) -> None:
    if depth > MOST_DEEP:
        raise OSError(errno.ELOOP, f"more than {MOST_DEEP} directories lie within each other", below)
