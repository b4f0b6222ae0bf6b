"""What a run leaves whose guardian was killed as well: found and cleared at the next start."""

import contextlib
import json
import os
import signal
import stat
import time
from pathlib import Path
from typing import Any

from phpdyno.paths import live_root, service_user
from phpdyno.servers.supervision.guardian import restore_settings
from phpdyno.servers.supervision.live_directory import LIVE_NAME, LIVE_PREFIX, MARKER, is_live, remove_traces
from phpdyno.servers.supervision.processes import boot_id, start_ticks

UNCLAIMED_AGE_S = 60.0


def sweep_leftovers() -> None:
    """Kill what is left of runs whose guardian is gone, restore the host's settings, remove their
    cgroups and live directories.

    Anybody may put things into /tmp, under our names too: a directory is ours by the marker that
    its guardian wrote into it, never by its name or age alone, and only cgroups that carry the
    directory's own name are looked at. One whose guardian is alive is left alone.
    """
    for live in live_root().glob(f"{LIVE_PREFIX}*"):
        if LIVE_NAME.fullmatch(live.name):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                _look_at(live)


def _look_at(live: Path) -> None:
    folder = os.open(live, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if is_live(folder, live.name):
            _clear(live, folder)
        elif os.fstat(folder).st_uid == os.geteuid() and _is_old(folder):
            _remove_empty(live, folder)
    finally:
        os.close(folder)


def _is_old(folder: int) -> bool:
    return time.time() - os.fstat(folder).st_mtime > UNCLAIMED_AGE_S


def _remove_empty(live: Path, folder: int) -> None:
    """Remove what a guardian left that died before it had written its marker: a directory in which
    nothing is, or an empty marker."""
    if os.listdir(folder) == [MARKER]:
        held = os.stat(MARKER, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(held.st_mode) and held.st_size == 0:
            os.unlink(MARKER, dir_fd=folder)
    live.rmdir()  # which no directory with anything in it obeys


def _clear(live: Path, folder: int) -> None:
    owner = _read_note(folder)
    if owner is None:
        # Made a moment ago by a guardian that has not written yet, or by one that died right then.
        if _is_old(folder):
            remove_traces([], live)
        return
    groups = [str(group) for group in owner["cgroups"] if Path(group).name == live.name and str(group).startswith("/sys/fs/cgroup/")]
    if owner["boot"] == boot_id():
        if start_ticks(owner["guardian"]) == owner["started"]:
            return
        for session in owner["sessions"]:
            _kill_session(session)
        for group in groups:
            _kill_members(Path(group))
        # A boot begins with the host's own settings.
        restore_settings(owner.get("settings", {}))
    remove_traces(groups, live)


def _read_note(folder: int) -> dict[str, Any] | None:
    try:
        with os.fdopen(os.open("owner.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return None
            read: dict[str, Any] = json.loads(file.read())
    except (OSError, ValueError):
        return None
    return read


def _kill_session(session: dict[str, Any]) -> None:
    """Kill the processes of one session that run the executable we started, or that hold the log we
    gave them.

    A session number cannot be given out again while a process of it lives; where the leader is
    alive its start time must be the one that was written down, so a later session that happens to
    have the same number is never touched.
    """
    leader = int(session["leader"])
    started = start_ticks(leader)
    if started is not None and started != session["started"]:
        return
    accounts = {os.geteuid(), service_user().uid}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            line = (process / "stat").read_bytes()
            in_session = int(line[line.rindex(b")") + 2 :].split()[3]) == leader
            if in_session and process.stat().st_uid in accounts and _started_by_us(process, session):
                os.kill(int(process.name), signal.SIGKILL)


def _started_by_us(process: Path, session: dict[str, Any]) -> bool:
    if str((process / "exe").readlink()) == session["exe"]:
        return True
    return any(str(held.readlink()) == session["log"] for held in (process / "fd").iterdir())


def _kill_members(group: Path) -> None:
    """Kill whatever still is in one of our cgroups; its name is drawn at random, so nothing else
    can be in it."""
    for directory, _, _ in os.walk(group):
        with contextlib.suppress(OSError):
            for pid in (Path(directory) / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
