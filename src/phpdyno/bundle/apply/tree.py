"""The file system that a bundle is applied to, / or the directory of an image, and changes to it
that happen whole or not at all."""

import contextlib
import fcntl
import hashlib
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from msgspec import Struct

from phpdyno.config.trusted import MOST_BYTES, MOST_LINKS, changeable
from phpdyno.errors import DynoError, UsageError

STATE = "/var/lib/phpdyno/bundle"
"""Where the record of what was applied and the backups lie, below the root; open to its owner
alone."""


class FileOwner(Struct, frozen=True):
    """Owner and mode of a new file."""

    uid: int
    gid: int
    mode: int


class TargetTree:
    """A root directory. Raises UsageError where there is none or, as root, where another account
    can change it."""

    def __init__(self, root: Path) -> None:
        try:
            self.root = root.resolve(strict=True)
        except OSError as error:
            raise UsageError(f"cannot be entered: {error.strerror}", where=f"--root {root}") from error
        if not self.root.is_dir():
            raise UsageError("this is no directory", where=f"--root {root}")
        self.refuse_others(self.root)

    @property
    def is_host(self) -> bool:
        """Whether it is this machine's own file system."""
        return self.root == Path("/")

    def inside(self, target: str) -> Path:
        """Where a path of the tree really lies: links on the way lead to where they would after
        chroot(2), so never outside.

        The last part is not followed. Raises UsageError for too many links, and, as root, where
        another account can change the way.
        """
        if not target.startswith("/"):
            raise UsageError("this path is not absolute", where=target)
        rest, place, links = deque(PurePosixPath(target).parts[1:]), self.root, 0
        while rest:
            part = rest.popleft()
            if part == "..":
                place = place if place == self.root else place.parent
                continue
            place /= part
            if rest and place.is_symlink():
                links += 1
                if links > MOST_LINKS:
                    raise UsageError("too many links", where=str(self.root / target.lstrip("/")))
                link = place.readlink()
                place = self.root if link.is_absolute() else place.parent
                rest.extendleft(reversed(link.parts[1:] if link.is_absolute() else link.parts))
        self.refuse_others(place.parent)
        return place

    def end_of(self, target: str) -> Path:
        """The same with the last part followed as well: what a program that runs in the tree would
        open. Raises UsageError."""
        place = self.inside(target)
        for _ in range(MOST_LINKS):
            if not place.is_symlink():
                return place
            link = place.readlink()
            place = self.inside(str(link) if link.is_absolute() else f"{self.name(place.parent).rstrip('/')}/{link}")
        raise UsageError("too many links", where=target)

    def refuse_steered(self, target: str) -> None:
        """As root: raises UsageError for a path whose content an account other than root decides;
        also where it could be made by one."""
        place = self.end_of(target)
        if os.geteuid() != 0 or self.name(place) == os.devnull:
            return
        there = next(each for each in (place, *place.parents) if os.path.lexists(each))
        other = changeable(there)
        if other is None and there != place and there.stat().st_mode & stat.S_IWOTH:
            other = there
        if other is not None:
            next_step = f"give {other} to root, without write permission for others"
            raise UsageError(f"root would be told what to do by {target}: others can change {other}", where=str(place), next_step=next_step)

    def name(self, place: Path) -> str:
        """A place as an absolute path of the tree."""
        return "/" + str(place.relative_to(self.root)) if place != self.root else "/"

    def refuse_others(self, place: Path) -> None:
        """As root: raises UsageError where another account can change a directory on the way; what
        is not there yet counts as ours."""
        if os.geteuid() != 0:
            return
        there = next(each for each in (place, *place.parents) if os.path.lexists(each))
        if (other := changeable(there)) is not None:
            next_step = f"give {other} to root, without write permission for others"
            raise UsageError(f"others can change {other}", where=str(place), next_step=next_step)

    def missing_dirs(self, place: Path) -> list[Path]:
        """Directories on the way that are not there yet, outermost first."""
        return [each for each in reversed(place.parents) if not os.path.lexists(each)]

    @property
    def state(self) -> Path:
        """The directory of the record."""
        return self.inside(STATE)


class Disk:
    """Changes of files. Before each, `step` is called: tests end us there, as SIGKILL would."""

    def step(self, what: str) -> None:
        """One change is about to be made."""

    def put(self, path: Path, data: bytes, owner: FileOwner) -> None:
        """A file with this content in place of whatever is there; it is on disk afterwards."""
        with self._fresh(path, "write") as fresh:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                made = os.fstat(descriptor)
                if (made.st_uid, made.st_gid) != (owner.uid, owner.gid):
                    os.fchown(descriptor, owner.uid, owner.gid)
                os.fchmod(descriptor, owner.mode)
                os.fsync(descriptor)
            self._rename(fresh, path)

    def put_link(self, path: Path, target: str, owner: FileOwner) -> None:
        """A symbolic link in place of whatever is there."""
        with self._fresh(path, "link") as fresh:
            fresh.symlink_to(target)
            made = fresh.lstat()
            if (made.st_uid, made.st_gid) != (owner.uid, owner.gid):
                os.lchown(fresh, owner.uid, owner.gid)
            self._rename(fresh, path)

    @contextmanager
    def _fresh(self, path: Path, what: str) -> Iterator[Path]:
        """Where something is made before it takes its place; where that fails nothing is left of
        it, and the fault names the place."""
        fresh = fresh_name(path)
        self.step(f"{what} {fresh.name}")
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
        try:
            yield fresh
        except OSError as error:
            with contextlib.suppress(OSError):
                fresh.unlink()
            error.filename = error.filename or str(path)
            raise

    def _rename(self, fresh: Path, path: Path) -> None:
        self.step(f"rename to {path.name}")
        fresh.rename(path)
        sync(path.parent)

    def make_dir(self, path: Path, mode: int = 0o755) -> None:
        """A directory, where there is none yet, whatever the umask is."""
        self.step(f"make {path.name}")
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            return
        path.chmod(mode)
        sync(path.parent)

    def remove(self, path: Path) -> None:
        """No such file, and no half-written one, afterwards."""
        self.step(f"remove {path.name}")
        for each in (path, fresh_name(path)):
            with contextlib.suppress(FileNotFoundError):
                each.unlink()
        if path.parent.is_dir():
            sync(path.parent)

    def remove_dir(self, path: Path) -> None:
        """No such directory afterwards, unless something else lies in it."""
        self.step(f"remove directory {path.name}")
        with contextlib.suppress(OSError):
            path.rmdir()


def fresh_name(path: Path) -> Path:
    """Where a file is written before it takes its place: no server reads a name like that."""
    return path.with_name(f".{path.name}.phpdyno-new")


def sync(directory: Path) -> None:
    """Wait until the names in a directory are on disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_plain(path: Path, check: Callable[[os.stat_result], None] | None = None) -> bytes:
    """The content of a plain file that is no link, after `check` has seen what was opened.

    Raises DynoError for anything else, OSError as `open` does.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DynoError("this is no plain file", where=str(path))
        if check is not None:
            check(status)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > MOST_BYTES:
        raise DynoError("this file is too large for a configuration", where=str(path))
    return data


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


@contextmanager
def locked(tree: TargetTree) -> Iterator[None]:
    """One apply or rollback at a time in a tree. Raises DynoError while another is at work; the
    state directory has to be there."""
    while True:
        descriptor = os.open(tree.state, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            tree.refuse_others(tree.state)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            current = tree.state.lstat()
        except BlockingIOError:
            os.close(descriptor)
            raise DynoError("another phpdyno applies or rolls back here", where=str(tree.state), next_step="wait for it") from None
        except (OSError, DynoError):
            os.close(descriptor)
            raise
        if os.path.samestat(os.fstat(descriptor), current):
            break
        os.close(descriptor)  # it was removed and made anew meanwhile
    try:
        yield
    finally:
        os.close(descriptor)
