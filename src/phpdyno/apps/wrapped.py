"""An app as another one has it: what is asked of it goes on to that one."""

from pathlib import Path

from phpdyno.apps.source import App, Progress
from phpdyno.model.app import AppSetting, PreparedApp
from phpdyno.model.workload import Workload
from phpdyno.servers.supervision.supervisor import Supervisor


class WrappedApp:
    """Passes everything on; what differs is said by those who inherit from it."""

    def __init__(self, app: App) -> None:
        self.app = app

    @property
    def name(self) -> str:
        """The app's."""
        return self.app.name

    @property
    def workload(self) -> Workload:
        """The app's."""
        return self.app.workload

    @property
    def settings(self) -> dict[str, AppSetting]:
        """The app's."""
        return self.app.settings

    @property
    def fixed(self) -> frozenset[str]:
        """The app's."""
        return self.app.fixed

    def version(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> str:
        """The app's."""
        return self.app.version(supervisor, cache=cache, progress=progress)

    def prepare(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> PreparedApp:
        """Prepare the app. Raises DynoError."""
        return self.app.prepare(supervisor, cache=cache, progress=progress)
