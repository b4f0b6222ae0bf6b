"""What php-fpm tells systemd of itself: one line for all its pools, every ten seconds."""

import re
from pathlib import Path

from msgspec import Struct

from phpdyno.errors import DynoError

_LINE = re.compile(r"Processes active: (\d+), idle: (\d+), Requests: (\d+), slow: (\d+), Traffic: ([0-9.]+)req/sec")


class SystemdStatus(Struct, frozen=True):
    """All pools of a master together; requests and slow ones since it was started or reloaded."""

    active: int
    idle: int
    requests: int
    slow: int


def parse_status_text(text: str, *, where: str = "") -> SystemdStatus:
    """A unit's StatusText. Raises DynoError for anything else (`Ready to handle connections` before
    the first line)."""
    match = _LINE.search(text)
    if match is None:
        raise DynoError("systemd holds no line of php-fpm's", where=where)
    return SystemdStatus(*(int(match[number]) for number in range(1, 5)))


def unit_of(cgroup: Path) -> str:
    """The unit of systemd's that holds a process, from its /proc/PID/cgroup; '' where none does."""
    try:
        lines = cgroup.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return next((part for line in lines for part in reversed(line.split("/")) if part.endswith(".service")), "")
