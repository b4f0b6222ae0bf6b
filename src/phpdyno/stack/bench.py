"""All that runs for one measurement: the database, and instances of any number of arms beside each other."""

import contextlib
import shutil
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from phpdyno.errors import DynoError
from phpdyno.host.cgroup import CpuGroups
from phpdyno.host.cores import Cores
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Transport
from phpdyno.render.nginx import render_nginx
from phpdyno.render.php import render_fpm, render_ini, scan_path
from phpdyno.stack.instance import ArmFailed, Instance
from phpdyno.stack.mariadb import Database
from phpdyno.stack.meter import CgroupMeter, Meter, SchedstatMeter
from phpdyno.stack.programs import find_program
from phpdyno.stack.supervise import Child, Supervisor

PROBE = Path(__file__).resolve().parent.parent / "php_files" / "probe.php"
PORT_ATTEMPTS = 3
PORT_TAKEN = "ddress already in use"


def free_port() -> int:
    """A TCP port on loopback that is free at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Bench:
    """Starts and stops instances. Processes belong to the supervisor, so nothing outlives it."""

    def __init__(
        self,
        supervisor: Supervisor,
        app: PreparedApp,
        *,
        cores: Cores,
        groups: CpuGroups | None,
        transport: Transport,
        database: Database | None = None,
    ) -> None:
        self.supervisor = supervisor
        self.app = app
        self.cores = cores
        self.transport = transport
        self.database = database
        self._groups = groups
        self._started = 0
        self.probe = supervisor.live / "probe" / PROBE.name
        self.probe.parent.mkdir()
        shutil.copyfile(PROBE, self.probe)
        self.sessions = supervisor.directory("sessions")

    def start(self, arms: Sequence[Arm]) -> list[Instance]:
        """Start one instance of each arm, all at once, and wait until each answers. Raises ArmFailed; then none is left running."""
        instances: list[Instance] = []
        try:
            for arm in arms:
                instances.append(self._launch(arm))  # noqa: PERF401 (what was started must be stopped when a later one fails)
            for position, instance in enumerate(instances):
                instances[position] = self._await(instance)
        except BaseException:
            self.stop(instances)
            raise
        return instances

    @contextlib.contextmanager
    def running(self, arms: Sequence[Arm]) -> Iterator[list[Instance]]:
        """`start` for the length of a block."""
        instances = self.start(arms)
        try:
            yield instances
        finally:
            self.stop(instances)

    def stop(self, instances: Sequence[Instance]) -> None:
        """End them side by side, and remove their directories and cgroups."""
        for instance in instances:
            instance.ask_to_end()
        for instance in instances:
            instance.stop()
            shutil.rmtree(instance.directory, ignore_errors=True)
            for component in ("php", "web"):
                for group in self._cgroup(f"{component}{instance.number}", make=False):
                    with contextlib.suppress(OSError):
                        group.rmdir()

    def _await(self, instance: Instance) -> Instance:
        """Wait for it; where somebody else took its port in the meantime, start it again on another."""
        for _ in range(PORT_ATTEMPTS):
            try:
                instance.await_ready()
            except ArmFailed as failure:
                if PORT_TAKEN not in failure.what:
                    raise
                self.stop([instance])
                instance = self._launch(instance.arm)
            else:
                return instance
        instance.await_ready()
        return instance

    # ---- one instance -------------------------------------------------------------------------

    def _launch(self, arm: Arm) -> Instance:
        self._started += 1
        number = self._started
        # What configures a server lies beside, not in, the directory that the server's account may write to.
        directory = self.supervisor.live / f"i{number}"
        directory.mkdir()
        run = self.supervisor.directory(f"i{number}/run")
        listen = f"127.0.0.1:{free_port()}" if arm.layer("web").get("socket") == "tcp" else str(run / "fpm.sock")
        fpm = self._start_fpm(arm, number, directory, listen)
        instance = Instance(
            arm,
            number,
            directory,
            fpm=fpm,
            fastcgi=f"unix:{listen}" if listen.startswith("/") else f"tcp:{listen}",
            php_meter=self.meter(f"php{number}", fpm),
            probe=self.probe,
        )
        if self.transport == "http":
            self._start_nginx(instance)
        return instance

    def _start_fpm(self, arm: Arm, number: int, directory: Path, listen: str) -> Child:
        fragment = directory / "ini"
        fragment.mkdir()
        ini = {"session.save_path": str(self.sessions), **self._placed(self.app.ini), **arm.layer("ini")}
        (fragment / "phpdyno.ini").write_text(render_ini(ini, arm.php.extension_dir))
        configuration = directory / "fpm.conf"
        configuration.write_text(render_fpm(listen, arm.layer("pool")))
        return self._spawn(
            arm,
            f"php-fpm-{number}",
            [arm.php.fpm, "--nodaemonize", "--force-stderr", "--fpm-config", str(configuration)],
            env={"PHP_INI_SCAN_DIR": scan_path(fragment), **self._placed(self.app.env), **arm.layer("env")},
            cwd=directory,
            cores=self.cores.measured,
            cgroups=self._cgroup(f"php{number}"),
        )

    def _start_nginx(self, instance: Instance) -> None:
        port = free_port()
        prefix = self.supervisor.directory(f"i{instance.number}/nginx")
        configuration = instance.directory / "nginx.conf"
        configuration.write_text(
            render_nginx(
                listen=f"127.0.0.1:{port}",
                fastcgi=instance.fastcgi.removeprefix("tcp:"),
                docroot=self.app.docroot,
                front_controller=self.app.front_controller,
                prefix=prefix,
                marker=instance.marker,
                web=instance.arm.layer("web"),
            )
        )
        name = f"web{instance.number}"
        instance.web = self._spawn(
            instance.arm,
            f"nginx-{instance.number}",
            [find_program("nginx"), "-p", str(prefix), "-c", str(configuration), "-e", "stderr", "-g", "daemon off;"],
            cwd=prefix,
            cores=self.cores.helpers,
            cgroups=self._cgroup(name),
        )
        instance.http = f"tcp:127.0.0.1:{port}"
        instance.web_meter = self.meter(name, instance.web)

    def _spawn(self, arm: Arm, name: str, argv: Sequence[str], **options: Any) -> Child:
        """A server of an arm that cannot be executed is that arm's failure."""
        try:
            return self.supervisor.spawn(name, argv, **options)
        except DynoError as error:
            raise ArmFailed(arm, f"{error.where}: {error.what}") from error

    def _placed(self, values: dict[str, str]) -> dict[str, str]:
        """The app's own settings with the database's socket put in."""
        place = str(self.database.socket) if self.database else ""
        return {name: value.replace("{db_socket}", place) for name, value in values.items()}

    def _cgroup(self, name: str, *, make: bool = True) -> list[Path]:
        return component_cgroup(self.supervisor, self._groups, name, make=make)

    def meter(self, name: str, child: Child) -> Meter:
        """The meter of a component that runs in the cgroup `name`."""
        return component_meter(self.supervisor, self._groups, name, child)


def component_cgroup(supervisor: Supervisor, groups: CpuGroups | None, name: str, *, make: bool = True) -> list[Path]:
    """The cgroup of a component, made below the run's own (which the guardian removes); none where groups cannot be made."""
    if groups is None:
        return []
    root = groups.root / supervisor.live.name
    if make and not root.exists():
        supervisor.own_cgroups([root])
    if make:
        (root / name).mkdir(parents=True, exist_ok=True)
    return [root / name]


def component_meter(supervisor: Supervisor, groups: CpuGroups | None, name: str, child: Child) -> Meter:
    """CPU time from the component's cgroup, else from the schedstat of its processes."""
    if groups is None:
        return SchedstatMeter(child.pid)
    return CgroupMeter(groups, component_cgroup(supervisor, groups, name)[0])
