"""What the runner tells an onlooker. It never prints."""

from typing import Protocol


class Progress(Protocol):
    """Observer of a run; called between slots only, so it must return at once."""

    def phase(self, text: str) -> None:
        """A new phase began."""

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None:
        """Time went by in the measurement; `text` says what is settled so far."""


class Silent:
    """Says nothing."""

    def phase(self, text: str) -> None:
        """Nothing."""

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None:
        """Nothing."""
