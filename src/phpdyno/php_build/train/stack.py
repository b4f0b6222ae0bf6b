"""Where builds are trained and examined, as the steps of a build see it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from phpdyno.model.build import BuildCheck
from phpdyno.php_build.order import Expected
from phpdyno.php_build.train.training import Trained

TRAINED, EXAMINED = "training", "build"
"""What the arms of a training stack that run a build are called; another one is the control's."""


class StackFound(Struct, frozen=True):
    """What was seen of a build, and the places that the control knows by itself and the build does
    not (`Build.places`)."""

    checks: tuple[BuildCheck, ...]
    places: Mapping[str, str] = field(default_factory=dict)


class TrainingStack(Protocol):
    """Trains and examines builds on one app's real stack."""

    def train(self, settings: dict[str, str], *, environment: dict[str, str], by_signals: bool) -> Trained:
        """Train the build that these settings of an arm run. Raises WrongAnswer, ArmFailed (of the
        arm TRAINED, or of the control)."""

    def start(self, settings: dict[str, str]) -> None:
        """Do all that a training of a build that obeys no signals does but its
        measured length: start it, warm it up, check its answers, have it end. Raises as `train`
        does."""

    def examine(self, settings: dict[str, str], expected: Expected) -> StackFound:
        """Start it, and look at what it is, loads, maps and answers.

        Raises WrongAnswer, ArmFailed (of the arm EXAMINED where the build does not start, or of the
        control).
        """

    def writable(self, name: str) -> Path:
        """An empty directory that the workers may write to; it goes with the training stack."""


TrainingStacks = Callable[[str], AbstractContextManager[TrainingStack]]
"""The training stack of an app, by its name, for as long as it is entered: its servers run while
something is trained or examined, no longer."""
