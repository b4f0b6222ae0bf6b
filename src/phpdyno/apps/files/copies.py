"""Copies of trees: what is measured is never the original, and never shares a file with it."""

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path

from phpdyno.config.trusted import changeable
from phpdyno.errors import DynoError
from phpdyno.host.files.plain import LOOK, READ, open_folder, opened, opened_below, set_mode
from phpdyno.host.files.room import require_room, shares_blocks, tree_size
from phpdyno.host.files.trees import RIGHTS, Copier, copy_plain, entries_below, is_plain
from phpdyno.servers.supervision.supervisor import Account, Supervisor

COPY_TIMEOUT_S = 1800.0
READ_ALL = 0o444
ENTER_ALL = 0o555
NEXT_STEP = "check its permissions and the disk's room"


def copy_tree(supervisor: Supervisor, source: Path, into: Path) -> None:
    """Copy what is in `source` into the new directory `into`; everything belongs to us. Raises
    DynoError: unreadable files, a full disk."""
    into.parent.mkdir(parents=True, exist_ok=True)
    require_room_for(source, into.parent, where=str(source), next_step=NEXT_STEP)
    into.mkdir(mode=0o700)  # nobody passes before it is done
    copy_entries(supervisor, [source / entry.name for entry in sorted(source.iterdir())], into)
    into.chmod(0o755)


def require_room_for(source: Path, folder: Path, *, without: Collection[str] = (), where: str, next_step: str) -> None:
    """Refuse to copy a tree, less these paths in it, into a directory that has no room for it.
    Raises UsageError."""
    if not shares_blocks(source, folder):
        require_room(tree_size(source, without=without), folder, what="a copy of it", where=where, next_step=next_step)


def copy_without(supervisor: Supervisor, source: Path, into: Path, without: Collection[str]) -> None:
    """Copy what is in `source`, but for these paths in it, into a directory where nobody else may
    write yet, as `copy_entries` does."""
    names = [entry.name for entry in sorted(source.iterdir()) if entry.name not in without]
    partly = {path.partition("/")[0] for path in without if "/" in path}
    whole = [source / name for name in names if name not in partly or not _is_folder(source / name)]
    copy_entries(supervisor, whole, into)
    for name in sorted({*names} - {each.name for each in whole}):
        (into / name).mkdir(mode=0o700)
        below = {path.removeprefix(f"{name}/") for path in without if path.startswith(f"{name}/")}
        copy_without(supervisor, source / name, into / name, below)
        (into / name).chmod(0o755)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def make_empty(copy: Path, source: Path, paths: Sequence[str]) -> None:
    """Make directories in a copy, where nobody else may write yet, in the place of those that were
    left out of it."""
    for path in paths:
        *above, name = path.split("/")
        if _is_folder(source / path):
            with suppress(OSError), opened(copy) as top, opened_below(top, tuple(above)) as folder:
                os.mkdir(name, 0o755, dir_fd=folder)


def copy_entries(supervisor: Supervisor, entries: list[Path], into: Path) -> None:
    """Copy files and directories into the directory `into`, where nobody else may write yet;
    symbolic links stay links.

    Blocks are shared where the disk can. Trees of which another account can change a directory
    meanwhile are read by descriptors, so that no link is followed which is put into a directory's
    place; so are those in which a file has bits that give rights. Raises DynoError.
    """
    left: list[Path] = []
    with _in_words(entries[0].parent if entries else into), opened(into) as place:
        copier = Copier(place)
        for parent, group in groupby(entries, key=lambda entry: entry.parent):
            with opened(parent) as folder:
                ours = _is_ours_alone(parent)
                for entry in group:
                    if ours and is_plain(folder, entry.name):
                        left.append(entry)
                    else:
                        copier.copy(folder, entry.name, entry.name)
    for start in range(0, len(left), 500):
        names = [str(entry) for entry in left[start : start + 500]]
        _cp(supervisor, [f"--target-directory={into}", "--", *names], where=str(into))


def copy_as(supervisor: Supervisor, source: Path, place: Path) -> None:
    """Copy one file or directory as `place`, which does not exist yet, read as `copy_entries` does;
    links in it stay links.

    Raises DynoError.
    """
    with _in_words(source.parent), opened(source.parent) as folder, opened(place.parent) as into:
        if not (_is_ours_alone(source.parent) and is_plain(folder, source.name)):
            Copier(into).copy(folder, source.name, place.name)
            return
    _cp(supervisor, ["--no-target-directory", "--", str(source), str(place)], where=str(source))


def take_file(source: Path, place: Path) -> None:
    """Copy a plain file out of a directory in which others may write, to a path in one of ours.
    Raises DynoError: a link or another thing lies there."""
    with _in_words(source.parent), opened(source.parent) as folder:
        copy_plain(source.name, folder, place)


def _is_ours_alone(folder: Path) -> bool:
    """Whether the way to a directory is one on which nobody but root can put something else; any
    other user reads with no more rights than his own, wherever he is led."""
    return os.geteuid() != 0 or changeable(folder) is None


@contextmanager
def _in_words(source: Path) -> Iterator[None]:
    """An OSError becomes a DynoError that names the place in `source`."""
    try:
        yield
    except OSError as error:
        place = source / error.filename if isinstance(error.filename, str) else source
        raise DynoError(f"copying failed: {error.strerror or error}", where=str(place), next_step=NEXT_STEP) from error


def _cp(supervisor: Supervisor, arguments: list[str], *, where: str) -> None:
    options = ["-dR", "--preserve=mode,timestamps,links", "--reflink=auto"]
    child = supervisor.run("copy", ["cp", *options, *arguments], as_service=False, timeout_s=COPY_TIMEOUT_S)
    if child.status != 0:
        raise DynoError(f"copying {child.ended_how()}: {child.tail(2)}", where=where, next_step=NEXT_STEP)


def give_to_service(supervisor: Supervisor, tree: Path) -> None:
    """Let the servers' account own and write a copy, links themselves included.

    Each directory is given once all in it is, so nothing is changed there while we go through it.
    """
    user = supervisor.user
    _change(tree, lambda mode: mode | (0o700 if stat.S_ISDIR(mode) else 0o600), (user.uid, user.gid) if user.switch else None)
    supervisor.let_write(tree)


def make_readable(tree: Path) -> None:
    """Let every account read a copy, and nobody but us write it."""
    _change(tree, lambda mode: (mode | (ENTER_ALL if stat.S_ISDIR(mode) else READ_ALL) | 0o200) & ~0o022)


def _change(tree: Path, mode: Callable[[int], int], owner: Account | None = None) -> None:
    """Give every entry of a tree, itself last, a mode and an owner, through no link; bits that give
    rights go."""
    with _in_words(tree), opened(tree.parent) as above:
        top = open_folder(tree.name, above)
        try:
            for entry in entries_below(top):
                if owner:
                    os.chown(entry.name, *owner, dir_fd=entry.folder, follow_symlinks=False)
                # After that: a change of owner may change the mode.
                if not stat.S_ISLNK(entry.status.st_mode):
                    set_mode(entry.name, entry.folder, stat.S_IMODE(mode(entry.status.st_mode)) & ~RIGHTS)
            if owner:
                os.fchown(top, *owner)
            os.fchmod(top, stat.S_IMODE(mode(os.fstat(top).st_mode)) & ~RIGHTS)
        finally:
            os.close(top)


def listed_digest(tree: Path, names: Sequence[str]) -> str:
    """16 hexadecimal digits that change with these names of files below `tree`, or with what one of
    them holds."""
    total = hashlib.sha256()
    for name in names:
        folder, _, last = name.rpartition("/")
        with opened(tree / folder) as parent:
            total.update(os.fsencode(name) + b"\0" + _content_digest(parent, last, str(tree)))
    return total.hexdigest()[:16]


def tree_digest(tree: Path, *, without: str = "") -> str:
    """16 hexadecimal digits that change with any name, link or content below `tree`, wherever the
    tree itself lies.

    Directories of the name `without` are left out.
    """
    total = hashlib.sha256()
    with opened(tree) as top:
        _digest_below(total, top, "", str(tree), without)
    return total.hexdigest()[:16]


def _digest_below(total: "hashlib._Hash", folder: int, below: str, tree: str, without: str) -> None:
    """All of a directory by name, then each of its directories."""
    folders = []
    for name in sorted(os.listdir(folder)):
        is_folder = stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        if without and name == without and (is_folder or _leads_to_folder(folder, name)):
            continue
        total.update(os.fsencode(f"{below}/{name}") + b"\0" + _content_digest(folder, name, tree))
        if is_folder:
            folders.append(name)
    for name in folders:
        inner = open_folder(name, folder)
        try:
            _digest_below(total, inner, f"{below}/{name}", tree, without)
        finally:
            os.close(inner)


def _leads_to_folder(folder: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder).st_mode)
    except OSError:
        return False


def file_digest(path: Path) -> str:
    """SHA-256 of a file in hexadecimal. Raises OSError."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _content_digest(folder: int, name: str, tree: str) -> bytes:
    look = os.open(name, LOOK, dir_fd=folder)
    try:
        mode = os.fstat(look).st_mode
        if stat.S_ISLNK(mode):
            target = os.readlink("", dir_fd=look)
            return b"link " + os.fsencode(target.removeprefix(tree) if target.startswith(tree + "/") else target) + b"\0"
    finally:
        os.close(look)
    if not stat.S_ISREG(mode):
        return b"folder" if stat.S_ISDIR(mode) else b"other"
    with os.fdopen(os.open(name, READ, dir_fd=folder), "rb") as stream:
        return b"file " + hashlib.file_digest(stream, "sha256").digest()
