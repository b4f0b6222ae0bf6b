"""Copies of trees: what is measured is never the original, and never shares a file with it."""

import hashlib
import os
import stat
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
    options = ["-dR", "--preserve=mode,timestamps,links", "--reflink=auto", f"--target-directory={into}", "--"]
    for start in range(0, len(entries), 500):
        child = supervisor.run(
            "copy", ["cp", *options, *map(str, entries[start : start + 500])], as_service=False, timeout_s=COPY_TIMEOUT_S
        )
        if child.status != 0:
            raise DynoError(
                f"copying {child.ended_how()}: {child.tail(2)}", where=str(into), next_step="check its permissions and the disk's room"
            )


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


def mend_links(copy: Path, source: Path) -> None:
    """Make links that led into `source` lead into its copy, and relative links that left it lead where they led."""
    source = source.resolve()
    for folder, folders, files in os.walk(copy):
        for name in (*folders, *files):
            path = Path(folder) / name
            if path.is_symlink():
                origin = source / path.relative_to(copy)
                led_to = Path(os.path.normpath(origin.parent / path.readlink()))
                _mend(path, led_to.parent.resolve() / led_to.name, copy, source)


def _mend(link: Path, led_to: Path, copy: Path, source: Path) -> None:
    target = copy / led_to.relative_to(source) if led_to.is_relative_to(source) else led_to
    if link.readlink() != target and Path(os.path.normpath(link.parent / link.readlink())) != target:
        link.unlink()
        link.symlink_to(target)


def tree_digest(tree: Path) -> str:
    """16 hexadecimal digits that change with any name, link or content below `tree`."""
    total = hashlib.sha256()
    for folder, folders, files in os.walk(tree):
        folders.sort()
        for name in sorted(files):
            path = Path(folder) / name
            total.update(str(path.relative_to(tree)).encode("utf-8", "surrogateescape") + b"\0")
            total.update(_content_digest(path))
    return total.hexdigest()[:16]


def file_digest(path: Path) -> str:
    """SHA-256 of a file in hexadecimal. Raises OSError."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _content_digest(path: Path) -> bytes:
    if path.is_symlink():
        return os.fsencode(path.readlink())
    return file_digest(path).encode() if path.is_file() else b""
