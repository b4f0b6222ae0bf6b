"""The clock of a budget."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager


class BudgetClock:
    """Seconds of a budget that are used up, those of earlier sessions (`before_s`) included."""

    def __init__(self, before_s: float = 0.0, *, budget_s: float = math.inf) -> None:
        self.budget_s = budget_s
        self._before_s = before_s
        self._start = time.monotonic()
        self._end: float | None = None

    def spent_s(self) -> float:
        """Seconds that were spent so far."""
        return self._before_s + (time.monotonic() if self._end is None else self._end) - self._start

    def left_s(self) -> float:
        """Seconds of the budget that are left, at least 0."""
        return max(0.0, self.budget_s - self.spent_s())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock for as long as this is entered: what is done meanwhile is not the
        budget's."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._start += time.monotonic() - began

    def stop(self) -> None:
        """What follows is not the budget's."""
        self._end = time.monotonic()
