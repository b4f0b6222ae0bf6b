"""Live progress on a terminal: one line, drawn between slots only and at most twice a second."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from phpdyno.report.words import visible

SPARE_S = 0.5


def print_line(console: Console, text: str) -> None:
    """One line, however long it is, of which nothing is markup and no terminal obeys anything."""
    console.print(visible(text), markup=False, highlight=False, soft_wrap=True)


class LiveProgress:
    """Observer of a run. Where standard error is no terminal only the notes are written, as lines.
    What it is told may hold names and words from outside: they are shown as they are, whatever they
    mean to the library or to the terminal."""

    def __init__(self, console: Console, *, quiet: bool = False, notes: str = "plan: ") -> None:
        """`notes` stands before each note."""
        self._console = console
        self._notes = notes
        self._quiet = quiet
        self._last = 0.0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[state]}", markup=False),
            TimeRemainingColumn(compact=True),
            console=console,
            auto_refresh=False,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._task = self._bar.add_task("preparing", total=None, state="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()

    def phase(self, text: str) -> None:
        """Show what is being done."""
        self._bar.update(self._task, description=visible(text))
        if self._console.is_terminal and not self._quiet:
            self._draw(force=True)

    def note(self, text: str) -> None:
        """A line that stays; one that is indented goes on with the one before."""
        if not self._quiet:
            print_line(self._console, text if text.startswith("  ") else f"{self._notes}{text}")

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None:
        """Move the bar; the rest of the budget is the latest end, undecided treatments end it
        earlier."""
        if elapsed_s < self._bar.tasks[0].completed:
            # Another step began: the bar takes one that was full for the end of all, with no time
            # left.
            self._bar.reset(self._task)
        self._bar.update(self._task, completed=min(elapsed_s, budget_s), total=budget_s, state=visible(text))
        self._draw(force=False)

    def _draw(self, *, force: bool) -> None:
        now = time.monotonic()
        if force or now - self._last >= SPARE_S:
            self._last = now
            self._bar.refresh()
