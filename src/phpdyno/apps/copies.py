"""Copies of trees: what is measured is never the original, and never shares a file with it."""

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.stack.supervise import Supervisor

COPY_TIMEOUT_S = 1800.0
READ_ALL = 0o444
ENTER_ALL = 0o555


def copy_tree(supervisor: Supervisor, source: Path, into: Path) -> None:
    """Copy what is in `source` into the new directory `into`; everything belongs to us. Raises DynoError: unreadable files, a full disk."""
    into.mkdir(parents=True)
    copy_entries(supervisor, [source / entry.name for entry in sorted(source.iterdir())], into)


def copy_entries(supervisor: Supervisor, entries: list[Path], into: Path) -> None:
    """Copy files and directories into the directory `into`; symbolic links stay links, blocks are shared where the disk can."""
    for start in range(0, len(entries), 500):
        names = [str(entry) for entry in entries[start : start + 500]]
        _cp(supervisor, [f"--target-directory={into}", "--", *names], where=str(into))


def copy_as(supervisor: Supervisor, source: Path, place: Path) -> None:
    """Copy one file or directory as `place`, which does not exist yet; links in it stay links. Raises DynoError."""
    _cp(supervisor, ["--no-target-directory", "--", str(source), str(place)], where=str(source))


def _cp(supervisor: Supervisor, arguments: list[str], *, where: str) -> None:
    options = ["-dR", "--preserve=mode,timestamps,links", "--reflink=auto"]
    child = supervisor.run("copy", ["cp", *options, *arguments], as_service=False, timeout_s=COPY_TIMEOUT_S)
    if child.status != 0:
        raise DynoError(f"copying {child.ended_how()}: {child.tail(2)}", where=where, next_step="check its permissions and the disk's room")


def give_to_service(supervisor: Supervisor, tree: Path) -> None:
    """Let the servers' account own and write a copy, links themselves included."""
    if supervisor.user.switch:
        os.lchown(tree, supervisor.user.uid, supervisor.user.gid)
    for folder, folders, files in os.walk(tree):
        for name in (*folders, *files):
            path = os.path.join(folder, name)  # noqa: PTH118 (a Path for each of 10,000 files takes seconds)
            mode = os.lstat(path).st_mode
            if supervisor.user.switch:
                os.lchown(path, supervisor.user.uid, supervisor.user.gid)
            if not stat.S_ISLNK(mode):
                os.chmod(path, stat.S_IMODE(mode) | (0o700 if stat.S_ISDIR(mode) else 0o600))  # noqa: PTH101


def make_readable(tree: Path) -> None:
    """Let every account read a copy, and nobody but us write it."""
    for folder, folders, files in os.walk(tree):
        for name in (*folders, *files):
            path = os.path.join(folder, name)  # noqa: PTH118
            mode = os.lstat(path).st_mode
            if not stat.S_ISLNK(mode):
                added = ENTER_ALL if stat.S_ISDIR(mode) else READ_ALL
                os.chmod(path, (stat.S_IMODE(mode) | added | 0o200) & ~0o022)  # noqa: PTH101
    tree.chmod(0o755)


def listed_digest(tree: Path, names: Sequence[str]) -> str:
    """16 hexadecimal digits that change with these names of files below `tree`, or with what one of them holds."""
    total = hashlib.sha256()
    for name in names:
        total.update(os.fsencode(name) + b"\0" + _content_digest(str(tree / name), str(tree)))
    return total.hexdigest()[:16]


def tree_digest(tree: Path, *, without: str = "") -> str:
    """16 hexadecimal digits that change with any name, link or content below `tree`, wherever the tree itself lies.

    Directories of the name `without` are left out.
    """
    total = hashlib.sha256()
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(name for name in folders if not without or name != without)
        for name in sorted((*folders, *files)):
            path = os.path.join(folder, name)  # noqa: PTH118 (a Path for each of 10,000 files takes seconds)
            total.update(os.fsencode(path[len(str(tree)) :]) + b"\0" + _content_digest(path, str(tree)))
    return total.hexdigest()[:16]


def file_digest(path: Path) -> str:
    """SHA-256 of a file in hexadecimal. Raises OSError."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _content_digest(path: str, tree: str) -> bytes:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        target = os.readlink(path)  # noqa: PTH115
        return b"link " + os.fsencode(target.removeprefix(tree) if target.startswith(tree + "/") else target) + b"\0"
    if not stat.S_ISREG(mode):
        return b"folder" if stat.S_ISDIR(mode) else b"other"
    with open(path, "rb") as stream:  # noqa: PTH123
        return b"file " + hashlib.file_digest(stream, "sha256").digest()
