"""A child ends with its parent, also where that was killed before the child knew it."""

import os
import signal
import time

from phpdyno.servers.supervision.becoming import end_with

DEADLINE_S = 10.0


def living(read_end: int) -> bool:
    """Whether somebody holds the other end of a pipe open, until the deadline."""
    os.set_blocking(read_end, False)
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        try:
            if os.read(read_end, 1) == b"":
                return False
        except BlockingIOError:
            time.sleep(0.01)
    return True


def orphan(*, killed_first: bool) -> int:
    """A child of a process that is killed, before or after the child asked to end with it; a pipe's
    end, which the child alone holds the other one of."""
    read_end, write_end = os.pipe()
    go_read, go_write = os.pipe()
    parent = os.fork()
    if parent == 0:
        us = os.getpid()
        if os.fork() == 0:
            os.close(go_write)
            if killed_first:
                os.read(go_read, 1)  # nothing: all others have closed it
            end_with(us)
            time.sleep(2 * DEADLINE_S)
            os._exit(0)
        os.close(write_end)
        time.sleep(0.0 if killed_first else 0.3)
        os.kill(us, signal.SIGKILL)
    os.waitpid(parent, 0)
    for descriptor in (write_end, go_read, go_write):
        os.close(descriptor)
    return read_end


def test_one_that_is_killed_later_takes_it_along() -> None:
    assert not living(orphan(killed_first=False))


def test_one_that_was_killed_before_does_too() -> None:
    assert not living(orphan(killed_first=True))
