"""An app made ready to be served: a copy of its files and, where it has one, a prepared
database."""

from pathlib import Path

from msgspec import Struct, field

from phpdyno.model.nginx import NginxSite
from phpdyno.model.services.service import PreparedService, Tcp
from phpdyno.model.workload import Workload


class AppSetting(Struct, frozen=True):
    """A setting that the app offers as `app.NAME`: an environment variable, its values (any when
    empty), its default."""

    env: str
    values: tuple[str, ...] = ()
    default: str = ""


class PreparedApp(Struct, frozen=True):
    """An app on disk, ready for any arm of it to be started.

    `docroot` is our copy; it lies in `root`, the copy of the app's own root `original` (both None
    for an app without files elsewhere). `front_controller` is relative to it (`index.php`);
    requests for paths that are no file go there. `datadir` is a prepared MariaDB data directory to
    be copied for a run, or None for an app without a database. `settings` are those that an arm may
    change as `app.NAME`. `commit` is set for the export of one commit: its id. `services` stand at
    production's addresses while it is measured. `place` is where our copy lies in the live
    directory, and `seen_at` where the servers see it instead: at the path of its original, so that
    `docroot` and `root` are the original's own paths (None for both where the servers see the copy
    itself). `written` is set where `place` is no copy but stands for the original, in the servers'
    file system alone: what is written to it lies there, in the live directory. `begun_ns` is when
    its preparation began, since 1970, and `left_out` the paths in its original that it goes
    without. `linked` are places outside that its links lead to, seen at their own paths. `peers` of
    the host's network may be reached from the bottle. `site` is its own server block for nginx.
    `ini` and `env` are settings that the app itself needs in every arm; `{db_socket}` in them
    stands for the database's socket. `notices` are lines that a report begins with. `also` are
    copies of what the app has outside of its root, each with the path that it is seen at.
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
    services: tuple[PreparedService, ...] = ()
    place: Path | None = None
    seen_at: Path | None = None
    written: Path | None = None
    begun_ns: int = 0
    left_out: tuple[str, ...] = ()
    linked: tuple[Path, ...] = ()
    peers: tuple[Tcp, ...] = ()
    site: NginxSite | None = None
    notices: tuple[str, ...] = ()
    also: tuple[tuple[Path, Path], ...] = ()

    @property
    def copy(self) -> Path:
        """Where our copy of the root lies."""
        return self.place or self.root or self.docroot

    @property
    def copied_docroot(self) -> Path:
        """Where the document root lies in our copy."""
        return self.place / self.docroot.relative_to(self.root) if self.place and self.root else self.docroot

    @property
    def real_root(self) -> Path:
        """The root as PHP knows it, without links."""
        return self.seen_at or self.root or self.docroot

    @property
    def real_docroot(self) -> Path:
        """The document root as PHP knows it, where the links on the way to the root are
        concerned."""
        return self.seen_at / self.docroot.relative_to(self.root) if self.seen_at and self.root else self.docroot

    @property
    def binds(self) -> dict[Path, Path]:
        """What has to be seen elsewhere than where it lies, by where that is."""
        return {**({self.place: self.seen_at} if self.place and self.seen_at else {}), **dict(self.also)}
