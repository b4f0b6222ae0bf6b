"""An app made ready to be served: a copy of its files and, where it has one, a prepared database."""

from pathlib import Path

from msgspec import Struct, field

from phpdyno.model.workload import Workload


class AppSetting(Struct, frozen=True):
    """A setting that the app offers as `app.NAME`: an environment variable, its values (any when empty), its default."""

    env: str
    values: tuple[str, ...] = ()
    default: str = ""


class PreparedApp(Struct, frozen=True):
    """An app on disk, ready for any arm of it to be started.

    `docroot` is our copy; it lies in `root`, the copy of the app's own root `original` (both None for an app without files elsewhere).
    `front_controller` is relative to it (`index.php`); requests for paths that are no file go there.
    `datadir` is a prepared MariaDB data directory to be copied for a run, or None for an app without a database.
    `settings` are those that an arm may change as `app.NAME`. `commit` is set for the export of one commit: its id.
    `ini` and `env` are settings that the app itself needs in every arm; `{db_socket}` in them stands for the database's socket.
    """

    name: str
    docroot: Path
    workload: Workload
    front_controller: str = "index.php"
    datadir: Path | None = None
    ini: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    version: str = ""
    settings: dict[str, AppSetting] = field(default_factory=dict)
    commit: str = ""
    root: Path | None = None
    original: Path | None = None
