"""The directory of a run: runs/<time>-<command>-<app>/."""

import errno
import os
import pwd
import re
import stat
import time
from pathlib import Path

from phpdyno.errors import DynoError, UsageError

MOST_OF_NAME = 120
"""Characters: a matrix has many apps, and file systems take 255 bytes for a name."""
ELSEWHERE = "name another place with --runs DIR"


def make_run_dir(parent: Path, command: str, app: str) -> Path:
    """Make a new one, open to its user alone (root's to whoever called sudo): it holds an app's
    answers, and logs with what an app tells nobody else. Servers need not enter it, as their logs
    are opened for them.

    Raises UsageError where others could put something else in its place, DynoError where it cannot
    be made.
    """
    parent = check_place(parent)
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", app)[:MOST_OF_NAME].strip("-") or "app"
    base = f"{time.strftime('%Y%m%d-%H%M%S')}-{command}-{slug}"
    for suffix in ("", *(f"-{number}" for number in range(2, 100))):
        run = parent / (base + suffix)
        try:
            run.parent.mkdir(parents=True, exist_ok=True)
            if run.exists():
                continue
            run.mkdir(mode=0o700)
            (run / "logs").mkdir()
            _let_caller_read(run)
        except OSError as error:
            what = "the disk is full" if error.errno in {errno.ENOSPC, errno.EDQUOT} else f"cannot make the run directory: {error.strerror}"
            raise DynoError(what, where=str(run), next_step=ELSEWHERE) from error
        return run
    raise DynoError("too many runs in this second", where=str(parent))


def check_place(place: Path) -> Path:
    """The same place, its path without links that root would follow. Raises UsageError, naming the
    directory, where root would write below one in which somebody else could put a link; any other
    account may write where it can."""
    if os.geteuid() != 0:
        return place
    real = place.resolve()
    # Whoever owns this very code is obeyed by root anyway: a checkout in a container's bind mount.
    ours = Path(__file__).stat()
    trusted, groups = (0, _number("SUDO_UID"), ours.st_uid), (0, _number("SUDO_GID"), ours.st_gid)
    for folder in (real, *real.parents):
        try:
            held = folder.stat()
        except OSError:  # not there yet, or a file, which making it will say
            continue
        why = whose(held, trusted=trusted, groups=groups)
        if why:
            raise UsageError(f"root writes no run below a directory that {why}", where=str(folder), next_step=ELSEWHERE)
    return place if real == place.absolute() else real


def whose(held: os.stat_result, *, trusted: tuple[int | None, ...], groups: tuple[int | None, ...]) -> str:
    """Who else could put something in a directory, as words to follow `that`; '' when nobody can,
    or only what is theirs (sticky)."""
    if held.st_uid not in trusted:
        return f"belongs to {_name(held.st_uid)}"
    if held.st_mode & stat.S_ISVTX:
        return ""
    if held.st_mode & stat.S_IWOTH:
        return "everybody may write to"
    if held.st_mode & stat.S_IWGRP and held.st_gid not in groups:
        return f"group {held.st_gid} may write to"
    return ""


def _let_caller_read(run: Path) -> None:
    """What sudo made belongs to root; whoever called it reads and removes it nonetheless."""
    uid, gid = _number("SUDO_UID"), _number("SUDO_GID")
    if os.geteuid() == 0 and uid and gid is not None:
        os.chown(run, uid, gid)


def _number(name: str) -> int | None:
    """A number that sudo left in the environment."""
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else None


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"account number {uid}"
