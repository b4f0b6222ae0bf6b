"""What every kind of app offers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from phpdyno.model.app import AppSetting, PreparedApp
from phpdyno.model.workload import Workload
from phpdyno.servers.supervision.supervisor import Supervisor

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

    @property
    def settings(self) -> dict[str, AppSetting]:
        """What an arm may set as `app.NAME`, by name."""

    @property
    def fixed(self) -> frozenset[str]:
        """What it is told in every arm, by full setting name (`env.DB_HOST`,
        `ini.mysqli.default_socket`): a running pool's own values of these would lead a copy to the
        database of the live site."""

    def version(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> str:
        """The version of what `prepare` would give now, without copying it where that is not what
        tells. Raises DynoError."""

    def prepare(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> PreparedApp:
        """Copy it into the supervisor's live directory and make its database ready. Raises
        DynoError."""


def default_env(settings: Mapping[str, AppSetting]) -> dict[str, str]:
    """The environment in which every setting has its default: what prepares the app, and an arm
    that sets nothing, see it."""
    return {setting.env: setting.default for setting in settings.values()}


def silent(_: str) -> None:
    """Progress for nobody."""
