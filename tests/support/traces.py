"""What may not be left after any end: processes, sockets, cgroups, live directories."""

import contextlib
import os
import time
from pathlib import Path

from phpdyno.paths import live_root
from phpdyno.servers.supervision.live_directory import LIVE_PREFIX

CGROUP_ROOTS = ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup")
DEFAULT_LIVE_ROOT = Path("/tmp")
SESSION_PREFIX = "pd-test-"
"""Of the live root that each session of the tests has for itself, in the default one."""


def traces_of() -> list[str]:
    """Processes that work in or hold something of our live root, live directories in it, and
    cgroups whose run is gone, whosever it was."""
    marker = str(live_root() / LIVE_PREFIX)
    found = [f"process {path.name}: {line}" for path in Path("/proc").glob("[0-9]*") if (line := _ours(path, marker))]
    found += [f"directory {path}" for path in live_root().glob(f"{LIVE_PREFIX}*")]
    for root in CGROUP_ROOTS:
        # A group that goes while it is looked into is passed over.
        for place, groups, _ in os.walk(root):
            found += [f"cgroup {place}/{name}" for name in groups if name.startswith(LIVE_PREFIX) and not _lives(name)]
    return found


def _lives(name: str) -> bool:
    """Whether a live directory of that name is there: ours, one of a phpdyno beside the tests, or
    one of another session of the tests."""
    places = (live_root(), DEFAULT_LIVE_ROOT, *DEFAULT_LIVE_ROOT.glob(f"{SESSION_PREFIX}*"))
    return any((place / name).exists() for place in places)


def wait_for_no_traces(timeout_s: float = 15.0) -> list[str]:
    """Traces that are still there after `timeout_s`; the guardian needs a moment after a SIGKILL of
    its owner."""
    deadline = time.monotonic() + timeout_s
    while (left := traces_of()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _ours(process: Path, marker: str) -> str:
    """The command line of a process of ours: by argument, working directory (the workers of php-fpm
    name nothing) or open file."""
    with contextlib.suppress(OSError):
        line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        places = [line, str((process / "cwd").readlink()), *(str(link.readlink()) for link in (process / "fd").iterdir())]
        if any(marker in place for place in places):
            return line or process.name
    return ""
