"""The live directory of a run: made and marked as ours, known again by that, and removed with the
run's cgroups. Standard library only."""

import contextlib
import errno
import os
import re
import shutil
import stat
import subprocess
import time
from pathlib import Path

LIVE_PREFIX = "phpdyno-"
LIVE_NAME = re.compile(LIVE_PREFIX + r"[0-9a-f]{8}")
"""The names of live directories, and of nothing else that we make. Short, because a unix socket's
path holds 107 bytes."""
MARKER = "phpdyno.live"
"""The first file in each live directory. It says whose directory it is, so that nothing else is
ever taken for one and removed."""
MARKER_TEXT = "phpdyno made the directory {name} for one run and removes it with all that is in it\n"
NAMES_TRIED = 100


def make_live(root: str) -> Path:
    """Make and mark a new live directory below `root`, open to us alone. Raises OSError."""
    for _ in range(NAMES_TRIED):
        live = Path(root, LIVE_PREFIX + os.urandom(4).hex())
        with contextlib.suppress(FileExistsError):
            live.mkdir(mode=0o700)
            break
    else:
        raise FileExistsError(errno.EEXIST, "every name is taken", root)
    try:
        mark(live)
        live.chmod(0o700)  # whatever the umask
    except OSError:
        (live / MARKER).unlink(missing_ok=True)
        live.rmdir()
        raise
    return live


def mark(live: Path) -> None:
    """Write the marker into an empty directory that was just made. Raises OSError."""
    file = os.open(live / MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, MARKER_TEXT.format(name=live.name).encode())
    finally:
        os.close(file)


def is_live(folder: int, name: str) -> bool:
    """Whether an opened directory of this name is a live directory: it and the marker in it are
    ours, no other account may write either, and the marker names it."""
    if not LIVE_NAME.fullmatch(name) or not _ours_alone(os.fstat(folder)):
        return False
    try:
        file = os.open(MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return False
    try:
        held = os.fstat(file)
        wanted = MARKER_TEXT.format(name=name).encode()
        return stat.S_ISREG(held.st_mode) and _ours_alone(held) and os.read(file, len(wanted) + 1) == wanted
    finally:
        os.close(file)


def _ours_alone(held: os.stat_result) -> bool:
    return held.st_uid == os.geteuid() and not held.st_mode & 0o022


def remove_traces(cgroups: list[str], live: Path) -> None:
    """Remove cgroup trees, the innermost first, and the live directory."""
    for group in cgroups:
        for directory, _, _ in os.walk(group, topdown=False):
            remove_cgroup(directory)
    with contextlib.suppress(OSError):
        folder = os.open(live, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if is_live(folder, live.name):
                _empty_live(folder)
                live.rmdir()
        finally:
            os.close(folder)


def _empty_live(folder: int) -> None:
    """Remove what an opened live directory holds, the marker last: what an interruption leaves is
    still known to be ours.

    Raises OSError where something stays; then the marker stays as well.
    """
    for name in os.listdir(folder):
        if name == MARKER:
            continue
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            _remove_tree(name, folder)
        else:
            os.unlink(name, dir_fd=folder)
    if os.listdir(folder) == [MARKER]:
        os.unlink(MARKER, dir_fd=folder)


def _remove_tree(name: str, folder: int) -> None:
    """Remove a directory in an opened one, as far as that can be done. An app may nest directories
    deeper than Python recurses."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
    # What an overlay works in is closed to its owner too.
    if name in os.listdir(folder):
        for program in (["chmod", "-R", "u+rwX"], ["rm", "-rf", "--one-file-system"]):
            argv = [*program, "--", f"/proc/self/fd/{folder}/{name}"]
            subprocess.run(argv, pass_fds=[folder], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def remove_cgroup(group: str) -> None:
    """Remove one empty cgroup, waiting up to a second for its last process to be gone for good."""
    for _ in range(100):
        try:
            Path(group).rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)
        else:
            return
