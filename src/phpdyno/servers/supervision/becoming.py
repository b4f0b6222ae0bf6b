"""What a process that the guardian forked does until it is another program, or a relay: it gives up
all that it has of us. Standard library only."""

import contextlib
import errno
import os
import signal
import socket
import stat
from pathlib import Path
from typing import Any

from phpdyno.host import namespaces
from phpdyno.servers.bottle.making import Bottle

PR_SET_PDEATHSIG = 1
PR_SET_THP_DISABLE = 41
OWN_OOM_SCORE, ENDED_FIRST = "/proc/self/oom_score_adj", "1000"
"""Where memory runs out the kernel ends what we have started, before all that lives on this
host."""


def open_log(path: str) -> int:
    """Open a log for appending. Raises OSError where anything but a plain file of that one name
    lies there: somebody else put it there."""
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    held = os.fstat(log)
    if not stat.S_ISREG(held.st_mode) or held.st_nlink != 1:
        os.close(log)
        raise OSError(errno.EPERM, "this log is no plain file with one name", path)
    return log


def become(request: dict[str, Any], outputs: tuple[int, int], report: int, *, bottle: Bottle | None = None, guardian: int = 0) -> None:
    """In the child: set everything up, standard output and error included, and exec. Never
    returns. In a `bottle` it ends with its PID namespace, else with the `guardian`, whose number
    was read before the fork: by now it may be gone already."""
    step = request["argv"][0]
    try:
        os.setsid()
        for group in request["cgroups"]:
            step = group
            Path(group, "cgroup.procs").write_text("0")
        step = request["argv"][0]
        with contextlib.suppress(OSError):
            Path(OWN_OOM_SCORE).write_text(ENDED_FIRST)
        if request["cores"]:
            os.sched_setaffinity(0, request["cores"])
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(outputs[0], 1)
        os.dup2(outputs[1], 2)
        if bottle is not None:
            bottle.enter(request["binds"])
            namespaces.drop_bounding_set()
        if request["uid"] is not None:
            os.setgroups([])
            os.setgid(request["gid"])
            os.setuid(request["uid"])
        if bottle is not None:
            namespaces.no_new_privileges()
            namespaces.drop_capabilities()
        else:
            end_with(guardian)
        if request["thp_off"]:
            namespaces.libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
        os.umask(0o022)
        signal.set_wakeup_fd(-1)
        for restored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(restored, signal.SIG_DFL)
        if request["cwd"]:
            step = request["cwd"]
            os.chdir(request["cwd"])
        step = request["argv"][0]
        os.execvpe(request["argv"][0], request["argv"], request["env"])  # noqa: S606 (an argv list, no shell)
    except OSError as error:
        os.write(report, f"{error.errno} {error.filename or step}".encode())
    finally:
        os._exit(127)


def end_with(parent: int) -> None:
    """In the child: have the kernel kill us when our parent ends, and end where it has ended by
    now. A later change of account would undo it."""
    namespaces.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(127)


def carry(request: dict[str, Any], passages: list[tuple[socket.socket, tuple[str, int]]], log: int, *, guardian: int) -> None:
    """In the child: give up all that it has of us, its rights included, and relay, as long as the
    `guardian` is there; its number was read before the fork. Never returns."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with contextlib.suppress(OSError):
            Path(OWN_OOM_SCORE).write_text(ENDED_FIRST)
        # While we still may read its files, wherever they lie.
        from phpdyno.servers.bottle import relay  # noqa: PLC0415 (asyncio: not for a guardian that has nothing to relay)

        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        # What it held of ours would keep others from seeing that we are gone.
        kept = {0, 1, 2, log, *(held.fileno() for held, _ in passages)}
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
            if int(name) not in kept:
                with contextlib.suppress(OSError):
                    os.close(int(name))
        os.chdir("/")
        namespaces.drop_bounding_set()
        if request["uid"] is not None:
            os.setgroups([])
            os.setgid(request["gid"])
            os.setuid(request["uid"])
        namespaces.no_new_privileges()
        namespaces.drop_capabilities()
        namespaces.closed_to_others()
        end_with(guardian)
        relay.run(passages, log)
    finally:
        os._exit(1)
