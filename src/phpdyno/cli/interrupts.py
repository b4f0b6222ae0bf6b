"""Ctrl-C and its like end the command in order, wherever in the code they arrive."""

import signal
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

AGAIN_S = 0.01


def end_in_order() -> None:
    """Make SIGTERM and SIGHUP the same KeyboardInterrupt as SIGINT, and let none of them be lost.

    Python drops an exception that is raised where none can pass: in a finalizer, or in a hook that
    runs at a fork (the standard library's own lie around each start of a command with a
    `preexec_fn`). Such an interrupt is raised again a moment later. A signal that whoever started
    us wants to be ignored (nohup) stays ignored.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    signal.signal(signal.SIGALRM, _interrupt)
    sys.unraisablehook = _again


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _again(dropped: "UnraisableHookArgs") -> None:
    if not issubclass(dropped.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)
        return
    # Not at once: it would be raised in here, where none can pass either.
    signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
