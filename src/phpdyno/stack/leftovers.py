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
from phpdyno.stack.guardian import LIVE_PREFIX, boot_id, remove_traces, restore_settings, start_ticks

UNCLAIMED_AGE_S = 60.0


def sweep_leftovers() -> None:
    """Kill what is left of runs whose guardian is gone, restore the host's settings, remove their cgroups and live directories.

    Anybody may put things into /tmp under our names: only real directories that belong to us and that nobody else can write to are
    looked at, and only cgroups that carry the directory's own name. One whose guardian is alive is left alone.
    """
    for live in live_root().glob(f"{LIVE_PREFIX}*"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if _is_ours(live):
                _clear(live)


def _is_ours(live: Path) -> bool:
    found = live.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _clear(live: Path) -> None:
    owner = _read_note(live / "owner.json")
    if owner is None:
        # Made a moment ago by a guardian that has not written yet, or by one that died right then.
        if time.time() - live.lstat().st_mtime > UNCLAIMED_AGE_S:
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


def _read_note(note: Path) -> dict[str, Any] | None:
    try:
        with os.fdopen(os.open(note, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return None
            read: dict[str, Any] = json.loads(file.read())
    except (OSError, ValueError):
        return None
    return read


def _kill_session(session: dict[str, Any]) -> None:
    """Kill the processes of one session that run the executable we started, or that hold the log we gave them.

    A session number cannot be given out again while a process of it lives; where the leader is alive its start time must be the one
    that was written down, so a later session that happens to have the same number is never touched.
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
    """Kill whatever still is in one of our cgroups; its name is drawn at random, so nothing else can be in it."""
    for directory, _, _ in os.walk(group):
        with contextlib.suppress(OSError):
            for pid in (Path(directory) / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
