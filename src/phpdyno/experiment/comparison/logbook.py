"""What happens is journaled, counted and told, in this order; and how much of the budget is
spent."""

import time

from phpdyno.experiment.common.clock import BudgetClock
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.comparison.state import RunState
from phpdyno.journal.records import Incident, Record
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.plan import Plan

TICK_S = 0.5
CLOCK_STEP_S = 0.05
BEFORE_BLOCKS = -1
"""The block of what happened before the first one."""


class Logbook:
    """The journal, the tally of what is in it, the onlooker, and the clock of the budget."""

    def __init__(self, state: RunState, journal: JournalWriter, progress: Progress) -> None:
        self.state = state
        self.plan: Plan = state.plan
        self._journal = journal
        self._progress = progress
        self._clock = BudgetClock(state.spent_s, budget_s=state.plan.budget_s)
        self._last_tick = 0.0

    def record(self, record: Record) -> None:
        """Write one line and account for it."""
        self._journal.append(record)
        self.state.take(record)

    def incident(self, arm: str, kind: str, detail: str, *, block: int | None = None) -> None:
        """Something that happened, in the block that is due unless another is named, and is not a
        number."""
        self.record(Incident(self.state.next_block if block is None else block, arm, kind, detail))

    def take_clock(self, step_s: float, *, block: int) -> None:
        """Take note of how many seconds the clock of the day moved against the steady one: an
        incident where it was set."""
        if abs(step_s) > CLOCK_STEP_S:
            what = f"the clock of the day was set by {step_s:+.2f} s; we measure with another, but answers may depend on it"
            self.incident("", "clock step", what, block=block)

    def spent_s(self) -> float:
        """Seconds of the budget that are used up, earlier sessions of the run included."""
        return self._clock.spent_s()

    def left_s(self) -> float:
        """Seconds of the budget that are left, at least 0."""
        return self._clock.left_s()

    def phase(self, text: str) -> None:
        """A new phase began."""
        self._progress.phase(text)

    def note(self, text: str) -> None:
        """Something the user should read before the measurement goes on."""
        self._progress.note(text)

    def tick(self) -> None:
        """Time went by; told twice a second at most."""
        now = time.monotonic()
        if now - self._last_tick >= TICK_S:
            self._last_tick = now
            settled = len(self.state.verdicts)
            self._progress.tick(self.spent_s(), self.plan.budget_s, f"{settled} of {len(self.plan.treatments)} settled")
