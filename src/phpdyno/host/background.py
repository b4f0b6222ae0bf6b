"""A thread of ours beside what a block does."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Background:
    """Runs `work` in a thread while a context is open.

    `work` gets an event that is set when the block ends, and returns soon after: the end of the
    context waits for it.
    """

    def __init__(self, work: Callable[[threading.Event], None], *, name: str) -> None:
        self._end = threading.Event()
        self._thread = threading.Thread(target=work, args=(self._end,), name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end.set()
        self._thread.join()
