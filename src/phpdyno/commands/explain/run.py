"""The command carried out: nothing else measures meanwhile."""

from collections.abc import Sequence
from pathlib import Path

from phpdyno.apps.source import App
from phpdyno.commands.explain.passes import ExplainRequest, explain
from phpdyno.experiment.common.progress import Progress
from phpdyno.host.lock import MeasuringLock
from phpdyno.model.arm import Arm
from phpdyno.model.inside.explained import Explained


def look_inside(definition: App, arms: Sequence[Arm], wanted: ExplainRequest, *, logs: Path, progress: Progress) -> Explained:
    """Look at the arms; see `workflows.explaining.explain`. Raises DynoError."""
    with MeasuringLock():
        return explain(definition, arms, wanted, logs=logs, progress=progress)
