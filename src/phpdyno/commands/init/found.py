"""What `phpdyno init` finds in a directory, as data."""

from pathlib import Path

from msgspec import Struct, field

from phpdyno.model.services.kinds import Kind
from phpdyno.model.workload import Target


class ServiceFound(Struct, frozen=True):
    """A service that the app's configuration names.

    `at` are addresses as an app.toml has them. `said_in` is the file that names it. `dump_file`
    is what `made_by`, a command for a shell, writes; None where nothing needs to be in it.
    `password_of` is the variable that holds Redis's password, '' without one.
    """

    name: str
    kind: Kind
    at: tuple[str, ...]
    said_in: str
    database: str = ""
    user: str = ""
    dump_file: Path | None = None
    made_by: str = ""
    password_of: str = ""


class Configuration(Struct, frozen=True):
    """What a framework's own files say: services, variables to set in every arm with the reason,
    the command that prepares a copy (`suggested`: not without being asked), the name that it is
    asked by, and remarks. `secrets` are values of variables by name, which no file may hold."""

    services: tuple[ServiceFound, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    env_why: str = ""
    prepare: tuple[str, ...] = ()
    prepare_why: str = ""
    suggested: tuple[str, ...] = ()
    host: str = ""
    host_from: str = ""
    remarks: tuple[str, ...] = ()
    secrets: dict[str, str] = field(default_factory=dict)


class ProjectLayout(Struct, frozen=True):
    """A framework by the name that people know it by, the project's root, the document root in it
    and the front controller in that."""

    framework: str
    root: Path
    docroot: Path
    front: str = "index.php"


class AppFound(Struct, frozen=True):
    """All that goes into an app.toml; `targets_from` says where the targets are from."""

    name: str
    layout: ProjectLayout
    configuration: Configuration
    targets: tuple[Target, ...]
    targets_from: str
