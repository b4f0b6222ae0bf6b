"""Instances of a script: a long-lived command-line PHP that performs operations on command."""

import contextlib
import functools
import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from phpdyno.errors import DynoError
from phpdyno.host.cgroup import CpuGroups
from phpdyno.host.cores import Cores
from phpdyno.host.processes.memory import MemoryUnreadable, read_own_kib_of
from phpdyno.host.sockets.channel import Channel
from phpdyno.knobs.secrets import masked
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.decoding import NOT_JSON
from phpdyno.model.facts import WorkerFacts
from phpdyno.package import PHP_FILES
from phpdyno.server_files.php import render_ini
from phpdyno.servers.bench import component_cgroup, component_meter
from phpdyno.servers.bottle.sight import show_arm
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.facts.meter import Meter, await_idle
from phpdyno.servers.facts.worker import MAY_LOOK, ProbeAnswer, facts_of
from phpdyno.servers.instance import REFUSED, ArmFailed
from phpdyno.servers.own_ini import OWN_INI, askable, of_php, with_own_places
from phpdyno.servers.placement import ini_options, place_php, with_own_preload
from phpdyno.servers.programs.php import IniFiles, ini_files
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor

HOST_FILES = ("script_host.php", "script_operations.php", "channel.php", "probe.php")
HOST_INI = {
    # php-fpm's default, so that a script is measured as what runs in production is.
    "opcache.enable_cli": "1",
    # Our copy is complete before it is run; else opcache leaves out, and the JIT with it, what was
    # written two seconds ago.
    "opcache.file_update_protection": "0",
}
SETUP_S = 120.0
HELLO_S = 10.0
END_S = 0.3
TOLD = "phpdyno: "


class HostCommand(Struct, frozen=True):
    """How the host of a script is started under an arm's settings. `originals` maps each file
    placed for it to what it stands for."""

    argv: list[str]
    env: dict[str, str]
    originals: dict[str, str]


def host_command(supervisor: Supervisor, app: PreparedApp, arm: Arm, *, mode: str, place: Path, directory: Path) -> HostCommand:
    """The host with `app`'s script, in a `mode` of script_host.php that needs `place`; what PHP
    reads is placed below `directory`.

    Raises ArmFailed for an extension that cannot be one, DynoError when the PHP does not run.
    """
    ini, own = with_own_places({**OWN_INI, **HOST_INI, **of_php(arm.php), **app.ini, **arm.layer("ini")}, arm, supervisor.directory)
    ini, preloaded = with_own_preload(askable(ini), arm, app)
    php = command_line_php(supervisor, arm, ini, directory=directory, shown=app.ini)
    host = [str(_place_host(supervisor)), mode, str(place), str(app.docroot / app.front_controller)]
    return HostCommand([*php.argv, *host], {**app.env, **php.env}, php.originals | own | preloaded)


def command_line_php(
    supervisor: Supervisor, arm: Arm, ini: Mapping[str, str], *, directory: Path, shown: Mapping[str, str] | None = None
) -> HostCommand:
    """An arm's PHP with these settings, to be given a script: what it reads is placed below
    `directory`; `shown` are settings whose files it must see. Raises ArmFailed for an extension
    that cannot be one, DynoError when the PHP does not run."""
    fragment = directory / "ini"
    fragment.mkdir()
    files = _read_by(arm.php.fpm, *ini_options(arm.settings))
    show_arm(supervisor, arm, files, ini=shown)
    placement = place_php(arm, files, directory, fragment, supervisor.user)
    told = dict(ini)
    if told.get("open_basedir"):
        told["open_basedir"] += f":{supervisor.live}"
    (fragment / "phpdyno.ini").write_text(render_ini(told, arm.php.extension_dir, placement.lines))
    env = {"PHP_INI_SCAN_DIR": placement.scan_dir, **arm.layer("env")}
    return HostCommand([arm.php.fpm, *placement.options], env, placement.originals)


@functools.cache
def _read_by(php: str, options: tuple[str, ...], scan_dir: str | None) -> IniFiles:
    """Asked once: an answer costs as much CPU as a start."""
    return ini_files(php, options, scan_dir)


def last_words(child: Child) -> str:
    """What the host said last of what went wrong; '' when nothing did."""
    told = [line.removeprefix(TOLD) for line in child.said().splitlines() if line.startswith(TOLD)]
    return told[-1] if told else ""


def _place_host(supervisor: Supervisor) -> Path:
    """The host where the servers' account can read it; this package may lie in a directory that is
    closed to it."""
    folder = supervisor.live / "host"
    if not folder.exists():
        folder.mkdir(mode=0o755)
        for name in HOST_FILES:
            shutil.copy2(PHP_FILES / name, folder / name)
            (folder / name).chmod(0o644)
    return folder / HOST_FILES[0]


class _Hello(Struct, frozen=True):
    operations: tuple[str, ...]
    jit_free_bytes: int


class ScriptInstance:
    """A started arm: a process, or several that share each slot; `paths` are the unix sockets on
    which their hosts listen."""

    def __init__(
        self,
        arm: Arm,
        number: int,
        directory: Path,
        *,
        children: Sequence[Child],
        paths: Sequence[Path],
        php_meter: Meter,
        originals: Mapping[str, str],
    ) -> None:
        self.arm = arm
        self.number = number
        self.directory = directory
        self.children = tuple(children)
        self.paths = tuple(paths)
        self.path = self.paths[0]
        self.php_meter = php_meter
        self.web_meter: Meter | None = None
        self._originals = originals
        self._jit_free_at_start = 0

    def await_ready(self, operations: Sequence[str]) -> None:
        """Wait until the script is set up. Raises ArmFailed when it does not come so far, or offers
        other operations."""
        deadline = time.monotonic() + SETUP_S
        for child, path in zip(self.children, self.paths, strict=True):
            hello = self._hello_of(child, path, deadline)
            if self.arm.layer("ext") and (refused := [line.strip() for line in child.said().splitlines() if REFUSED.search(line)]):
                raise ArmFailed(self.arm, f"PHP runs without an extension: {' | '.join(refused[:4])}")
            if hello.operations != tuple(operations):
                theirs, ours = (", ".join(names) for names in (hello.operations, operations))
                raise ArmFailed(self.arm, f"the script offers the operations {theirs} here, and {ours} when it was listed")
            self._jit_free_at_start = hello.jit_free_bytes

    @property
    def php_pid(self) -> int:
        """The process that performs the operations, the first of several."""
        return self.children[0].pid

    def await_idle(self) -> None:
        """Wait until neither a process of it nor a child of one is on a CPU: what an operation
        leaves to be done belongs to it."""
        for child in self.children:
            await_idle(child.pid, itself=True)

    def read_facts(self, env_names: tuple[str, ...]) -> WorkerFacts:
        """Facts of the process, from itself and from /proc. Raises ArmFailed."""
        try:
            answer = msgspec.json.decode(_ask(self.path, b"I" + json.dumps(env_names).encode()), type=ProbeAnswer)
            facts = self._as_shown(facts_of(answer, pid=self.php_pid, family="unix", workers=1))
        except (OSError, *NOT_JSON) as error:
            what = f"the script's process tells no facts: {self.complaint() or error}"
            raise ArmFailed(self.arm, what, next_step=MAY_LOOK if isinstance(error, PermissionError) else "") from error
        if facts.opcache is None or facts.opcache.jit is None:
            return facts
        jit = structs.replace(facts.opcache.jit, free_at_start_bytes=self._jit_free_at_start)
        return structs.replace(facts, opcache=structs.replace(facts.opcache, jit=jit))

    def _as_shown(self, facts: WorkerFacts) -> WorkerFacts:
        """The facts with originals for placed files, and no secret."""
        told = {name: self._originals.get(value, value) for name, value in facts.ini.items()}
        return structs.replace(
            facts,
            ini=masked(told, self.arm.layer("ini"), {}, guess=True),
            mapped_extensions=tuple(self._originals.get(path, path) for path in facts.mapped_extensions),
            ini_files=tuple(self._originals.get(path, path) for path in facts.ini_files),
        )

    def worker_kib(self) -> int | None:
        """What the process holds for itself; None where it may not be read."""
        try:
            return read_own_kib_of(self.php_pid)
        except MemoryUnreadable:
            return None

    def crashes(self) -> str:
        """The signal by which it ended, in words; '' when by none."""
        return self.broken() if any(child.wait(END_S) and (child.status or 0) < 0 for child in self.children) else ""

    def complaint(self) -> str:
        """How it ended, else what an operation failed of; '' when neither."""
        return self.broken() or next((words for child in self.children if (words := last_words(child))), "")

    def broken(self) -> str:
        """How the first of its processes that is gone ended, in words; '' while all run."""
        for child in self.children:
            # Its socket closes a moment before the guardian tells of its end.
            if child.wait(END_S):
                return f"{child.name} {child.ended_how()}: {last_words(child) or child.tail()}"
        return ""

    def ask_to_end(self) -> None:
        """Signal its processes without waiting."""
        for child in self.children:
            child.terminate()

    def stop(self) -> None:
        """End its processes and close its meter."""
        for child in self.children:
            child.stop(timeout_s=3.0)
        with contextlib.suppress(OSError):
            self.php_meter.close()

    def _hello_of(self, child: Child, path: Path, deadline: float) -> _Hello:
        while (hello := _hello(path)) is None:
            if not child.alive():
                raise ArmFailed(self.arm, f"the script does not start: {child.ended_how()}: {last_words(child) or child.tail()}")
            if time.monotonic() > deadline:
                raise ArmFailed(self.arm, f"the script was not set up within {SETUP_S:.0f} s")
            time.sleep(0.005)
        return hello


def _hello(path: Path) -> _Hello | None:
    try:
        return msgspec.json.decode(_ask(path, b"O"), type=_Hello)
    except (OSError, *NOT_JSON):
        return None


def _ask(path: Path, message: bytes) -> bytes:
    with contextlib.closing(Channel(path)) as channel:
        channel.send(message)
        return channel.receive(HELLO_S)


def end_side_by_side(supervisor: Supervisor, groups: CpuGroups | None, instances: Sequence[ScriptInstance]) -> None:
    """End instances, all at once, and remove their directories and cgroups."""
    for instance in instances:
        instance.ask_to_end()
    for instance in instances:
        instance.stop()
        shutil.rmtree(instance.directory, ignore_errors=True)
        for group in component_cgroup(supervisor, groups, f"php{instance.number}", make=False):
            with contextlib.suppress(OSError):
                group.rmdir()


class ScriptBench:
    """Starts and stops instances of a script, as `Bench` does those of an app. Processes belong to
    the supervisor."""

    def __init__(self, supervisor: Supervisor, app: PreparedApp, *, cores: Cores, groups: CpuGroups | None) -> None:
        self.supervisor = supervisor
        self.app = app
        self.cores = cores
        self.database: Database | None = None
        self._groups = groups
        self._started = 0

    def start(self, arms: Sequence[Arm]) -> list[ScriptInstance]:
        """Start one instance of each arm, all at once, and wait until each is set up. Raises
        ArmFailed; then none is left running."""
        operations = [target.path for target in self.app.workload.targets]
        instances: list[ScriptInstance] = []
        try:
            for arm in arms:
                instances.append(self._launch(arm))  # noqa: PERF401 (what was started must be stopped when a later one fails)
            for instance in instances:
                instance.await_ready(operations)
        except BaseException:
            self.stop(instances)
            raise
        return instances

    def stop(self, instances: Sequence[ScriptInstance]) -> None:
        """End them side by side, and remove their directories and cgroups."""
        end_side_by_side(self.supervisor, self._groups, instances)

    @contextlib.contextmanager
    def running(self, arm: Arm, *, before: Sequence[str] = ()) -> Iterator[ScriptInstance]:
        """One instance of an arm, started with these words `before` its command. Raises
        ArmFailed."""
        instance = self._launch(arm, before=before)
        try:
            instance.await_ready([target.path for target in self.app.workload.targets])
            yield instance
        finally:
            self.stop([instance])

    def _launch(self, arm: Arm, *, before: Sequence[str] = ()) -> ScriptInstance:
        self._started += 1
        number = self._started
        directory = self.supervisor.live / f"i{number}"
        directory.mkdir()
        path = self.supervisor.directory(f"i{number}/run") / "host.sock"
        command = host_command(self.supervisor, self.app, arm, mode="serve", place=path, directory=directory)
        name = f"php{number}"
        try:
            child = self.supervisor.spawn(
                f"php-script-{number}",
                [*before, *command.argv],
                env=command.env,
                cwd=self.app.docroot,
                binds=self.app.binds,
                cores=self.cores.measured,
                cgroups=component_cgroup(self.supervisor, self._groups, name),
            )
        except DynoError as error:
            raise ArmFailed(arm, f"{error.where}: {error.what}") from error
        meter = component_meter(self.supervisor, self._groups, name, child)
        return ScriptInstance(arm, number, directory, children=[child], paths=[path], php_meter=meter, originals=command.originals)
