"""What every kind of app offers."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from phpdyno.model.app import PreparedApp
from phpdyno.model.workload import Workload
from phpdyno.stack.supervise import Supervisor

PHP_FILES = Path(__file__).resolve().parent.parent / "php_files" / "apps"

Progress = Callable[[str], None]
"""Told in one line what preparing is busy with."""


class App(Protocol):
    """An app that was found and whose description is valid; nothing of it runs yet."""

    @property
    def name(self) -> str:
        """Short name, fit for a directory."""

    @property
    def workload(self) -> Workload:
        """What is asked of it."""

    def prepare(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> PreparedApp:
        """Copy it into the supervisor's live directory and make its database ready. Raises DynoError."""


def silent(_: str) -> None:
    """Progress for nobody."""
