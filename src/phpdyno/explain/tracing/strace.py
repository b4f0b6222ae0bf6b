"""strace on running processes: found, attached from outside, and refused in one clear line where
the host forbids it."""

import re
import time
from collections.abc import Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.programs.finding import find_program
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor

ATTACH_S = 15.0
ASLEEP_S = 10.0
QUIET_LOOKS = 10
LOOK_S = 0.002
"""Twenty milliseconds of sleep: what follows an answer (logging, freeing) takes a few under
strace."""
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
_ATTACHED = re.compile(r"^\S*strace: Process (\d+) attached", re.MULTILINE)
_REFUSED = re.compile(r"^\S*strace: .*?ptrace\((?:PTRACE_SEIZE|PTRACE_ATTACH), (\d+)\): (.+)$", re.MULTILINE)
_FORBIDDEN = "Operation not permitted"


class CannotTrace(DynoError):  # noqa: N818 (it names the finding: this host does not let us look)
    """Syscalls cannot be seen here: strace is missing, or ptrace is forbidden. Whatever else was
    asked for goes on."""


def place_of_output(supervisor: Supervisor, *, as_service: bool) -> Path:
    """Where strace writes what it saw: a directory that nobody else writes to, since it follows a
    link that lies there."""
    if as_service:
        return supervisor.directory("strace-as-service")
    folder = supervisor.live / "strace"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def sleeping_pool(master: int) -> tuple[int, ...]:
    """The master and its workers once all sleep and go on sleeping, and the master has no more to
    start.

    Under strace a working process is mostly stopped, not running, so that it does not count as idle
    by not running. Raises DynoError.
    """
    deadline = time.monotonic() + ASLEEP_S
    pool: tuple[int, ...] = ()
    quiet = 0
    while quiet < QUIET_LOOKS:
        before, pool = pool, (master, *children_of(master))
        quiet = quiet + 1 if pool == before and all(_sleeps(pid) for pid in pool) else 0
        if time.monotonic() > deadline:
            raise DynoError(f"php-fpm does not come to rest within {ASLEEP_S:.0f} s, so its syscalls cannot be told by request")
        time.sleep(LOOK_S)
    return pool


def _sleeps(pid: int) -> bool:
    """Whether a process waits in the kernel; one that is gone does nothing more."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True
    return stat[stat.rindex(b")") + 2 :][:1] == b"S"


def find_strace() -> str:
    """Path of strace. Raises CannotTrace with the line that installs it."""
    try:
        return find_program("strace")
    except DynoError as error:
        raise CannotTrace(error.what, next_step=error.next_step) from error


def await_attached(child: Child, pids: Sequence[int]) -> None:
    """Wait until strace says that it holds every process. Raises CannotTrace, with the next step
    that the host's own rule suggests."""
    deadline = time.monotonic() + ATTACH_S
    while True:
        alive = child.alive()
        said = child.said()
        refused = _REFUSED.search(said)
        if refused:
            raise _refusal(refused[2], int(refused[1]))
        if {int(pid) for pid in _ATTACHED.findall(said)} >= set(pids):
            return
        if not alive:
            raise CannotTrace(f"strace {child.ended_how()}: {child.tail()}")
        if time.monotonic() > deadline:
            raise CannotTrace(f"strace did not attach to {len(pids)} processes within {ATTACH_S:.0f} s: {child.tail()}")
        time.sleep(0.005)


def _refusal(why: str, pid: int) -> CannotTrace:
    if why != _FORBIDDEN:
        return CannotTrace(f"strace cannot attach to process {pid}: {why}")
    return CannotTrace("ptrace is forbidden here, so syscalls cannot be seen", next_step=remedy(_yama_scope()))


def remedy(yama_scope: int) -> str:
    """What would allow ptrace, given kernel.yama.ptrace_scope (0 where there is no Yama)."""
    if yama_scope >= 3:
        return "kernel.yama.ptrace_scope is 3, which only a reboot with another value changes"
    if yama_scope >= 1:
        return f"kernel.yama.ptrace_scope is {yama_scope}: run phpdyno as root (in a container with the capability SYS_PTRACE)"
    return "run phpdyno as root; in a container give it the capability SYS_PTRACE"


def _yama_scope() -> int:
    try:
        return int(YAMA.read_text())
    except (OSError, ValueError):
        return 0
