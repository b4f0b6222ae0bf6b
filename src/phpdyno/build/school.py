"""Where builds are trained and examined, as the steps of a build see it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from phpdyno.build.training import Trained
from phpdyno.model.build import Check


class School(Protocol):
    """Trains and examines builds on one app's real stack."""

    def train(self, settings: dict[str, str], *, environment: dict[str, str], by_signals: bool) -> Trained:
        """Train the build that these settings of an arm run. Raises WrongAnswer, DynoError."""

    def examine(self, settings: dict[str, str], *, compiled_in: Sequence[str] | None) -> Sequence[Check]:
        """Start it, and look at what it loads, maps and answers; `compiled_in`: the extensions of one that stands alone.

        Raises DynoError where it does not start.
        """

    def writable(self, name: str) -> Path:
        """An empty directory that the workers may write to; it goes with the school."""


Schools = Callable[[str], AbstractContextManager[School]]
"""The school of an app, by its name, for as long as it is entered: its servers run while something is trained or examined, no longer."""
