"""A command-line script as an app: its directory is copied, its operations are the targets."""

import re
import tempfile
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from phpdyno.apps.data.services import start_services
from phpdyno.apps.folder import FolderApp
from phpdyno.apps.project.root import find_root
from phpdyno.apps.source import Progress
from phpdyno.config.app_toml import AppFile
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.files.plain import read_plain
from phpdyno.host.sockets.network import allowed
from phpdyno.model.app import AppSetting, PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.decoding import NOT_JSON
from phpdyno.model.workload import OPERATION_DONE, Target, Workload
from phpdyno.servers.facts.outside import in_own_paths
from phpdyno.servers.script import SETUP_S, host_command, last_words
from phpdyno.servers.services.addresses import addresses_of
from phpdyno.servers.supervision.supervisor import Supervisor

LIST_LOG = "list-operations"
LEAST_PHP = 8
REFUSED = 3
"""Exit code of php_files/script_host.php for a file that returns what it may not."""


class _Operation(Struct, frozen=True):
    name: str
    weight: float


class ScriptApp:
    """A PHP file that returns a callable, or an array of named ones. Which ones is known when it
    was run, under the control's settings."""

    def __init__(self, script: Path, control: Arm) -> None:
        """Raises UsageError when there is no such file, or its directory, or that of what it loads,
        is one that nobody wants copied."""
        where = f"--script {script}"
        script = script.expanduser().absolute()
        if not script.is_file():
            what = "this is a directory" if script.is_dir() else "there is no such file"
            raise UsageError(what, where=where, next_step="name a PHP file that returns a callable")
        self.script = script
        self.control = control
        self._found = find_root(script.parent, script.name, where=where, alone=True)
        if self._found is None and script.parent.resolve() in {Path("/"), Path.home().resolve(), Path(tempfile.gettempdir()).resolve()}:
            raise UsageError(
                f"the directory of the script is copied, and {script.parent} holds more than the script needs",
                where=where,
                next_step="put the script, with what it needs, into a directory of its own",
            )
        if int(control.php.version.split(".")[0]) < LEAST_PHP:
            raise UsageError(f"a script needs PHP {LEAST_PHP} or later", where=control.php.fpm, next_step="name one with php=PATH")

    @property
    def name(self) -> str:
        """The file's name, without its suffix."""
        return (re.sub(r"[^A-Za-z0-9._-]+", "-", self.script.stem).strip("-._") or "script")[:64]

    @property
    def workload(self) -> Workload:
        """Empty: the operations are in what `prepare` returns."""
        return Workload(())

    @property
    def settings(self) -> dict[str, AppSetting]:
        """None: a script is configured by its environment."""
        return {}

    @property
    def fixed(self) -> frozenset[str]:
        """Nothing: no running pool lies below its arms."""
        return frozenset()

    def version(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> str:
        """A version made of its directory as it is copied."""
        return self.prepare(supervisor, cache=cache, progress=progress).version

    def prepare(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> PreparedApp:
        """Copy the script's directory and ask the script for its operations. Raises UsageError when
        it returns no callable, DynoError."""
        found, folder = self._found, self.script.parent
        described = AppFile(
            file=self.script,
            name=self.name,
            root=found.root if found else folder,
            docroot=found.docroot if found else folder,
            targets=(),
            front_controller=self.script.name,
            network=allowed(),
            notices=(found.words,) if found else (),
        )
        app = FolderApp(described).prepare(supervisor, cache=cache, progress=progress)
        with ExitStack() as stack:
            start_services(stack, supervisor, (), addresses_of((), app.peers))
        progress(f"asking {self.script.name} for its operations")
        return structs.replace(app, workload=Workload(self._operations(supervisor, app)))

    def _operations(self, supervisor: Supervisor, app: PreparedApp) -> tuple[Target, ...]:
        directory = supervisor.live / "listing"
        directory.mkdir()
        place = supervisor.directory("listing/out") / "operations.json"
        command = host_command(supervisor, app, self.control, mode="list", place=place, directory=directory)
        child = supervisor.run(LIST_LOG, command.argv, env=command.env, cwd=app.docroot, binds=app.binds, timeout_s=SETUP_S)
        if child.status != 0 or not place.is_file():
            kind = UsageError if child.status == REFUSED else DynoError
            what = in_own_paths(last_words(child), app) or f"the script {child.ended_how()}: {child.tail()}"
            raise kind(what, where=str(self.script), next_step="" if child.status == REFUSED else f"see {child.log}")
        try:
            found = msgspec.json.decode(read_plain(place), type=tuple[_Operation, ...])
        except (OSError, *NOT_JSON) as error:
            what = f"the list of its operations cannot be read: {error}"
            raise DynoError(what, where=str(self.script), next_step=f"see {child.log}") from error
        return tuple(Target(each.name, each.weight, status=OPERATION_DONE) for each in found)
