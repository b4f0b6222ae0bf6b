"""A directory for a moment, which no end of ours leaves for long: SIGKILL included."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from phpdyno.host.files.file_lock import take
from phpdyno.host.files.plain import open_folder, open_plain

PREFIX = "phpdyno-scratch-"
MARKER = ".phpdyno-scratch"
MARKED = b"A scratch directory of phpdyno. Whoever made it holds a lock on this file while it is in use.\n"


@contextlib.contextmanager
def scratch_directory(root: Path) -> Iterator[Path]:
    """A new directory of ours alone below `root`, removed at the end. What an earlier one left that
    was killed is removed first.

    Raises OSError where none can be made.
    """
    _clear_abandoned(root)
    place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    try:
        with (place / MARKER).open("wb", buffering=0) as marker:
            # Marked once it is locked, so that nobody takes it for abandoned; not where a network's
            # file system has no locks.
            with contextlib.suppress(OSError):
                if take(marker.fileno(), fcntl.LOCK_EX):
                    marker.write(MARKED)
            yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _clear_abandoned(root: Path) -> None:
    """Remove those whose maker is gone.

    Anybody may put things into /tmp, under our names too: one is ours by the marker in it that this
    account wrote, never by its name or age alone.
    """
    for place in root.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            folder = open_folder(place)
            try:
                if _is_abandoned(folder):
                    shutil.rmtree(place)
            finally:
                os.close(folder)


def _is_abandoned(folder: int) -> bool:
    with os.fdopen(open_plain(MARKER, folder), "rb") as marker:
        owners = {os.fstat(marker.fileno()).st_uid, os.fstat(folder).st_uid}
        return owners == {os.geteuid()} and take(marker.fileno(), fcntl.LOCK_EX) and marker.read(len(MARKED) + 1) == MARKED
