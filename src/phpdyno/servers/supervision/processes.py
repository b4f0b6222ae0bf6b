"""Which processes there are, and how one is known again: what the guardian and the next start need
of /proc. Standard library only."""

import contextlib
import os
from pathlib import Path


def descendants(root: int) -> list[int]:
    """Every process below `root`, from one pass over /proc."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 (a Path for each of hundreds of entries is what this must not cost)
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            told = Path(f"/proc/{entry}/stat").read_bytes()
            parent = int(told[told.rindex(b")") + 2 :].split()[1])
            children.setdefault(parent, []).append(int(entry))
    found: list[int] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None when it is gone, or ended and not yet
    collected by its parent."""
    try:
        told = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    state, *fields = told[told.rindex(b")") + 2 :].split()
    return None if state in {b"Z", b"X"} else int(fields[18])


def boot_id() -> str:
    """Identity of this boot: process numbers and start times mean nothing beyond it."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
