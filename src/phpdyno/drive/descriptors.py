"""Whether this process may open as many connections as a load needs, asked before it starts."""

import resource
from pathlib import Path

from phpdyno.errors import DynoError

RESERVE = 64
"""Open files left for everything else that a run opens while it measures."""


def require_descriptors(connections: int) -> None:
    """Raise DynoError, with the `ulimit` that helps, when so many connections are more files than
    this process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + sum(1 for _ in Path("/proc/self/fd").iterdir()) + RESERVE
    if soft != resource.RLIM_INFINITY and needed > soft:
        may = hard == resource.RLIM_INFINITY or needed <= hard
        raise DynoError(
            f"{connections} connections need {needed} open files, and this process may open {soft}",
            next_step=f"ulimit -n {needed}" + ("" if may else f" (as root: the hard limit is {hard})") + ", or fewer connections",
        )
