"""What the runner tells an onlooker. It never prints."""

from typing import Protocol


class Progress(Protocol):
    """Observer of a run; called between slots only, so it must return at once."""

    def phase(self, text: str) -> None:
        """A new phase began."""

    def note(self, text: str) -> None:
        """Something that the user should read before the measurement goes on: the plan for the
        budget.

        A line that is indented goes on with the one before.
        """

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None:
        """Time went by in the measurement; `text` says what is settled so far."""
