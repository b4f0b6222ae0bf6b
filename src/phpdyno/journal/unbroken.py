"""What must not be torn in the middle: a signal that ends the command waits until it is done."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


@contextmanager
def unbroken() -> Iterator[None]:
    """Within it, no signal raises; the first that came is raised again after it, also where an
    error leaves it.

    For libraries whose cleaning up fails where a KeyboardInterrupt passes through (zipfile: "an
    open writing handle"), which would put its own error in the interrupt's place. Only for
    milliseconds. Signals that are ignored stay so. Python calls its handlers in the main thread
    only, so it does nothing in another.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {}
    try:
        for number in ENDING:
            if callable(handler := signal.getsignal(number)):
                handlers[number] = handler
                signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
