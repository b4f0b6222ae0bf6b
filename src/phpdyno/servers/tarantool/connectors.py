"""Instances of a connector: command-line PHPs that perform operations on one shared Tarantool, on
command."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.host.cgroup import CpuGroups
from phpdyno.host.cores import Cores
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.runs.connector import CEILING, ConnectorRow
from phpdyno.package import PHP_FILES
from phpdyno.servers.bench import component_cgroup, component_meter
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.facts.meter import Meter, SumMeter
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.own_ini import OWN_INI
from phpdyno.servers.script import HOST_INI, ScriptInstance, command_line_php, end_side_by_side
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.servers.tarantool.ceiling import CeilingInstance
from phpdyno.servers.tarantool.server import SharedSpace, Tarantool, is_change

FILES = ("channel.php", "probe.php", "connectors")
HOST = Path("connectors/host.php")
JIT = {"opcache.jit": "tracing", "opcache.jit_buffer_size": "64M"}
"""What a long-lived process of PHP has, unless the arm says otherwise."""


class ConnectorInstance(ScriptInstance):
    """A started row, on one server with all others."""

    def __init__(
        self,
        arm: Arm,
        number: int,
        directory: Path,
        *,
        children: Sequence[Child],
        paths: Sequence[Path],
        php_meter: Meter,
        space: SharedSpace,
        originals: Mapping[str, str],
    ) -> None:
        super().__init__(arm, number, directory, children=children, paths=paths, php_meter=php_meter, originals=originals)
        self.space = space


class ConnectorBench:
    """Starts and stops instances of rows on one server, as `Bench` does those of an app. `rows` is
    by the arm's name, `package` our own client's classes."""

    def __init__(
        self,
        supervisor: Supervisor,
        app: PreparedApp,
        server: Tarantool,
        rows: Mapping[str, ConnectorRow],
        *,
        package: Path,
        cores: Cores,
        groups: CpuGroups | None,
    ) -> None:
        self.supervisor = supervisor
        self.app = app
        self.cores = cores
        self.database: Database | None = None
        self._server = server
        self._space = SharedSpace(server, changes=any(is_change(target.path) for target in app.workload.targets))
        self._rows = rows
        self._groups = groups
        self._started = 0
        self._files = _placed(supervisor, package)

    def start(self, arms: Sequence[Arm]) -> list[ConnectorInstance | CeilingInstance]:
        """Start one instance of each arm, and wait until each is connected. Raises ArmFailed; then
        none is left running."""
        operations = [target.path for target in self.app.workload.targets]
        instances: list[ConnectorInstance | CeilingInstance] = []
        try:
            for transport in ("unix", "tcp"):
                here = [arm for arm in arms if self._rows[arm.name].transport == transport]
                if not here:
                    continue
                # The server listens in one place at a time, and those that are connected stay.
                address = self._server.listen_on_unix() if transport == "unix" else self._server.listen_on_tcp()
                for arm in here:
                    if self._rows[arm.name].connector == CEILING:
                        instances.append(self._ceiling(arm, address))
                    else:
                        self._launch(arm, address, instances)
                for instance in instances:
                    if isinstance(instance, ConnectorInstance) and self._rows[instance.arm.name].transport == transport:
                        instance.await_ready(operations)
        except BaseException:
            self.stop(instances)
            raise
        by_name: dict[str, list[ConnectorInstance | CeilingInstance]] = {}
        for instance in instances:
            by_name.setdefault(instance.arm.name, []).append(instance)
        return [by_name[arm.name].pop(0) for arm in arms]

    def stop(self, instances: Sequence[ConnectorInstance | CeilingInstance]) -> None:
        """End them side by side, and remove their directories and cgroups."""
        end_side_by_side(self.supervisor, self._groups, [each for each in instances if isinstance(each, ConnectorInstance)])
        for instance in instances:
            if isinstance(instance, CeilingInstance):
                instance.stop()

    def _ceiling(self, arm: Arm, address: str) -> CeilingInstance:
        self._started += 1
        (target,) = self.app.workload.targets
        native = address.replace("unix://", "unix:").replace("tcp://", "tcp:")
        in_flight = self._rows[arm.name].in_flight
        return CeilingInstance(arm, self._started, self._space, native, target.path, in_flight=in_flight)

    def _launch(self, arm: Arm, address: str, instances: list[ConnectorInstance | CeilingInstance]) -> None:
        self._started += 1
        number, row = self._started, self._rows[arm.name]
        directory = self.supervisor.live / f"i{number}"
        directory.mkdir()
        run = self.supervisor.directory(f"i{number}/run")
        php = command_line_php(self.supervisor, arm, {**OWN_INI, **HOST_INI, **JIT, **arm.layer("ini")}, directory=directory)
        told = directory / "row.json"
        told.write_text(json.dumps(self._told(row, address, run)))
        for file in row.autoload:
            self.supervisor.show(Path(file).parent)
        cgroups = component_cgroup(self.supervisor, self._groups, f"php{number}")
        children: list[Child] = []
        paths: list[Path] = []
        for process in range(row.processes):
            path = run / f"host-{process}.sock"
            try:
                child = self.supervisor.spawn(
                    f"connector-{number}-{process}",
                    [*php.argv, str(self._files / HOST), str(path), str(told)],
                    env=php.env,
                    cwd=run,
                    cores=self.cores.measured,
                    cgroups=cgroups,
                )
            except DynoError as error:
                for started in children:
                    started.stop(timeout_s=3.0)
                raise ArmFailed(arm, f"{error.where}: {error.what}") from error
            children.append(child)
            paths.append(path)
        instance = ConnectorInstance(
            arm,
            number,
            directory,
            children=children,
            paths=paths,
            php_meter=self._meter(f"php{number}", children),
            space=self._space,
            originals=php.originals,
        )
        instances.append(instance)

    def _meter(self, name: str, children: Sequence[Child]) -> Meter:
        if self._groups is None:
            return SumMeter([component_meter(self.supervisor, None, name, child) for child in children])
        return component_meter(self.supervisor, self._groups, name, children[0])

    def _told(self, row: ConnectorRow, address: str, run: Path) -> dict[str, object]:
        """What host.php is told of a row."""
        return {
            "connector": row.connector.replace("-", "_"),
            "packer": row.packer,
            "engine": row.engine,
            "in_flight": row.in_flight,
            "address": address,
            "tuples": self._server.settings.tuples,
            "operations": [target.path for target in self.app.workload.targets],
            "package": str(self._files / "package"),
            "autoload": list(row.autoload),
            "code_cache": str(run),
        }


def _placed(supervisor: Supervisor, package: Path) -> Path:
    """Our PHP files where the servers' account can read them: this package may lie in a directory
    that is closed to it."""
    place = supervisor.live / "lab"
    place.mkdir(mode=0o755)
    for name in FILES:
        if (PHP_FILES / name).is_dir():
            shutil.copytree(PHP_FILES / name, place / name)
        else:
            shutil.copy2(PHP_FILES / name, place / name)
    shutil.copytree(package, place / "package")
    return place
