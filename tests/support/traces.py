"""What may not be left after any end: processes, sockets, cgroups, live directories."""

import contextlib
import time
from pathlib import Path

from phpdyno.paths import live_root
from phpdyno.stack.leftovers import LIVE_PREFIX

SERVERS = ("php-fpm", "nginx", "mariadbd", "guardian.py")
CGROUP_ROOTS = ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup")


def traces_of(marker: str = LIVE_PREFIX) -> list[str]:
    """Processes (by command line or by a file they hold in a live directory), live directories and cgroups that are ours."""
    found = [f"process {path.name}: {line}" for path in Path("/proc").glob("[0-9]*") if (line := _ours(path, marker))]
    found += [f"directory {path}" for path in live_root().glob(f"{LIVE_PREFIX}*")]
    for root in CGROUP_ROOTS:
        found += [f"cgroup {path}" for path in Path(root).glob(f"{LIVE_PREFIX}*")]
    return found


def wait_for_no_traces(timeout_s: float = 15.0) -> list[str]:
    """Traces that are still there after `timeout_s`; the guardian needs a moment after a SIGKILL of its owner."""
    deadline = time.monotonic() + timeout_s
    while (left := traces_of()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _ours(process: Path, marker: str) -> str:
    with contextlib.suppress(OSError):
        line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        if not any(name in line for name in SERVERS):
            return ""
        places = [line, *(str(link.readlink()) for link in (process / "fd").iterdir())]
        # Workers of php-fpm show only their pool's name: ours is called phpdyno.
        if any(marker in place for place in places) or "pool phpdyno" in line:
            return line
    return ""
