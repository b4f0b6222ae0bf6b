"""All that runs for one measurement: the database, and instances of any number of arms beside each
other."""

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from phpdyno.config.spec import LIVE
from phpdyno.errors import DynoError
from phpdyno.host.cgroup import CpuGroups
from phpdyno.host.cores import Cores
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Transport
from phpdyno.package import PHP_FILES
from phpdyno.server_files.apache import is_apache
from phpdyno.server_files.fastcgi import server_name
from phpdyno.server_files.nginx import render_nginx
from phpdyno.server_files.php import render_fpm, render_ini
from phpdyno.server_files.preload import ROOT_VARIABLE
from phpdyno.servers.apache import launch_apache
from phpdyno.servers.bottle.sight import show_arm
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.facts.meter import CgroupMeter, Meter, SchedstatMeter
from phpdyno.servers.facts.pool_status import status_listen
from phpdyno.servers.host_settings import HostSettings, in_order, thp_off, wants_settings
from phpdyno.servers.instance import PRELOAD, ArmFailed, Instance, names_manager
from phpdyno.servers.launching import free_port
from phpdyno.servers.live.pool import secrets_behind
from phpdyno.servers.own_ini import OWN_INI, askable, led_to_copy, of_php, with_own_places
from phpdyno.servers.placement import Placement, ini_options, place_php, texts_in, with_own_preload, write_as_read
from phpdyno.servers.programs.finding import find_program
from phpdyno.servers.programs.ini_reading import Parser
from phpdyno.servers.programs.php import IniFiles, ini_files
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.servers.under import ALONE, Under

PROBE = PHP_FILES / "probe.php"
IN_APP = "in_app.php"
"""Beside the probe: what reads settings within a request of the app."""
PORT_ATTEMPTS = 3
PORT_TAKEN = "ddress already in use"


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
        apps: Mapping[str, PreparedApp] | None = None,
        status: bool = False,
    ) -> None:
        """`apps` names the app of each arm that serves another one than `app`; `status` gives each
        pool a status page."""
        self.supervisor = supervisor
        self.app = app
        self.apps = apps or {}
        self.cores = cores
        self.transport = transport
        self.database = database
        self._status = status
        self._groups = groups
        self._host = HostSettings(supervisor)
        self.nginx_workers = 1
        """Processes of nginx for arms that do not name their number."""
        self._started = 0
        self._ini_files: dict[tuple[str, ...], IniFiles] = {}
        self._live_values: dict[str, dict[str, str]] = {}
        self._app_ini: dict[tuple[object, ...], dict[str, str]] = {}
        self.probe = supervisor.live / "probe" / PROBE.name
        self.probe.parent.mkdir()
        shutil.copyfile(PROBE, self.probe)
        shutil.copyfile(PROBE.with_name(IN_APP), self.probe.with_name(IN_APP))

    def start(self, arms: Sequence[Arm], *, under: Under = ALONE) -> list[Instance]:
        """Start one instance of each arm, all at once, and wait until each answers. Raises
        ArmFailed; then none is left running.

        `under`: what php-fpm is started under; Apache cannot be.
        """
        order: list[int] = []
        instances: list[Instance] = []
        try:
            for group in in_order(arms):
                # What holds for the whole host must not reach those that do not want it: they have
                # taken theirs once they answer.
                alike = all(wants_settings(arms[place]) for place in group)
                with contextlib.nullcontext() if alike else self._host.taken_back():
                    order += group
                    self._start_group([arms[place] for place in group], instances, under)
        except BaseException:
            self.stop(instances)
            raise
        return [instances[order.index(place)] for place in range(len(arms))]

    def _start_group(self, arms: Sequence[Arm], instances: list[Instance], under: Under) -> None:
        ready = len(instances)
        for arm in arms:
            if wants_settings(arm):
                self._await_all(instances, ready)
                ready = len(instances)
            instances.append(self._launch(arm, under))
        self._await_all(instances, ready)

    def _await_all(self, instances: list[Instance], ready: int) -> None:
        for position in range(ready, len(instances)):
            self._await(instances, position)

    @contextlib.contextmanager
    def running(self, arms: Sequence[Arm], *, under: Under = ALONE) -> Iterator[list[Instance]]:
        """`start` for the length of a block."""
        instances = self.start(arms, under=under)
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
            self._host.give_back(instance.number)
            shutil.rmtree(instance.directory, ignore_errors=True)
            for component in ("php", "web"):
                for group in self.cgroup(f"{component}{instance.number}", make=False):
                    with contextlib.suppress(OSError):
                        group.rmdir()

    def _await(self, instances: list[Instance], position: int) -> None:
        """Wait for one; where somebody else took its port in the meantime, another one on another
        port takes its place."""
        for _ in range(PORT_ATTEMPTS):
            try:
                return instances[position].await_ready()
            except ArmFailed as failure:
                if PORT_TAKEN not in failure.what:
                    raise
                self.stop([instances[position]])
                instances[position] = self._launch(instances[position].arm, instances[position].under)
        return instances[position].await_ready()

    # ---- one instance -------------------------------------------------------------------------

    def _launch(self, arm: Arm, under: Under) -> Instance:
        self._started += 1
        number = self._started
        try:
            self._host.take(number, arm)
            return self._launched(arm, number, under)
        except BaseException:
            self._host.give_back(number)
            raise

    def _launched(self, arm: Arm, number: int, under: Under) -> Instance:
        # What configures a server lies beside, not in, the directory that the server's account may
        # write to.
        directory = self.supervisor.live / f"i{number}"
        directory.mkdir()
        run = self.supervisor.directory(f"i{number}/run")
        if is_apache(arm):
            if under != ALONE:
                raise ArmFailed(arm, "only php-fpm can be looked into so, and this is Apache")
            return launch_apache(self, arm, number, directory, run)
        listen = f"127.0.0.1:{free_port()}" if arm.layer("web").get("socket") == "tcp" else str(run / "fpm.sock")
        real = self.real_values(arm)
        self.show(arm, real)
        placement = place_php(arm, self.files_of(arm), directory, directory / "ini", self.supervisor.user)
        resolved = structs.replace(arm, settings={**arm.settings, **real})  # never journaled
        status = status_listen(arm.php.version, run) if self._status else "" if names_manager(arm) else None
        originals = self._configure(resolved, directory, listen, placement, texts=texts_in(real), status=status)
        fpm = self._start_fpm(resolved, number, directory, placement, under)
        instance = Instance(
            arm,
            number,
            directory,
            fpm=fpm,
            fastcgi=f"unix:{listen}" if listen.startswith("/") else f"tcp:{listen}",
            php_meter=self.meter(f"php{number}", fpm),
            probe=self.probe,
            app=self.app_of(arm),
            originals=originals,
            real=real,
            status=status,
            under=under,
        )
        if self.transport == "http":
            try:
                self._start_nginx(instance)
            except BaseException:
                self.stop([instance])
                raise
        return instance

    def app_of(self, arm: Arm) -> PreparedApp:
        """The app that this arm serves."""
        return self.apps.get(arm.name, self.app)

    def files_of(self, arm: Arm) -> IniFiles:
        """The ini files that the arm's PHP reads by itself, asked once."""
        options, scan_dir = ini_options(arm.settings)
        key = (arm.php.fpm, *options, str(scan_dir))
        if key not in self._ini_files:
            self._ini_files[key] = ini_files(arm.php.fpm, options, scan_dir)
        return self._ini_files[key]

    def real_values(self, arm: Arm) -> dict[str, str]:
        """What the arm's markers stand for in the running pool, by full setting name. Raises
        DynoError when the pool is gone."""
        real = {}
        for key, value in arm.settings.items():
            if value.startswith(LIVE):
                if value not in self._live_values:
                    self._live_values[value] = secrets_behind(value)
                if key not in self._live_values[value]:
                    pool = value.removeprefix(LIVE)
                    raise DynoError(f"the running pool {pool} has no such value any more", where=key, next_step="start a new run")
                real[key] = self._live_values[value][key]
        return real

    def show(self, arm: Arm, real: Mapping[str, str]) -> None:
        """Let the arm's servers see what it names; `real` as `real_values` gives it."""
        resolved = structs.replace(arm, settings={**arm.settings, **real})
        show_arm(self.supervisor, resolved, self.files_of(arm), ini=self.app_of(arm).ini)

    def _configure(
        self, arm: Arm, directory: Path, listen: str, placement: Placement, *, texts: frozenset[str], status: str | None
    ) -> dict[str, str]:
        """Write php.ini fragment and php-fpm.conf; what every file placed for the instance stands
        for."""
        originals = self.write_ini(arm, directory, placement, texts)
        pool, led = led_to_copy(arm.layer("pool"), self.app_of(arm))
        text = render_fpm(listen, askable(self.reachable(pool)), texts, status=status)
        write_as_read(directory / "fpm.conf", text)
        return originals | led

    def write_ini(self, arm: Arm, directory: Path, placement: Placement, texts: frozenset[str]) -> dict[str, str]:
        """Write the php.ini fragment; what every file placed for the instance stands for."""
        app = self.app_of(arm)
        told = self._read_ini(arm, app)
        ini = {**OWN_INI, **of_php(arm.php), **told, **arm.layer("ini")}
        ini, own = with_own_places(ini, arm, self.supervisor.directory)
        ini, led = led_to_copy(ini, app)
        ini, preloaded = with_own_preload(ini, arm, app)
        fragment = directory / "ini"
        fragment.mkdir(exist_ok=True)
        text = render_ini(askable(self.reachable(ini)), arm.php.extension_dir, placement.lines, texts)
        write_as_read(fragment / "phpdyno.ini", text)
        return placement.originals | own | led | preloaded

    def _read_ini(self, arm: Arm, app: PreparedApp) -> dict[str, str]:
        """The app's own php.ini values as the arm's PHP reads them, which is asked once."""
        options, scan_dir = ini_options(arm.settings)
        ini, env = self.placed(app.ini), {**self.placed(app.env), **arm.layer("env")}
        key = (arm.php.fpm, options, scan_dir, tuple(ini.items()), tuple(env.items()))
        if key not in self._app_ini:
            self._app_ini[key] = Parser(arm.php.fpm, options, scan_dir, env, frozenset(arm.php.ini_names)).read(ini, where=app.name)
        return self._app_ini[key]

    def environment(self, arm: Arm, placement: Placement) -> dict[str, str]:
        """The environment of the server that has PHP in it."""
        app = self.app_of(arm)
        chosen = {app.settings[name].env: value for name, value in arm.layer("app").items() if name in app.settings}
        preloading = {ROOT_VARIABLE: str(app.root or app.docroot)} if f"ini.{PRELOAD}" in arm.settings else {}
        return {"PHP_INI_SCAN_DIR": placement.scan_dir, **preloading, **self.placed(app.env), **chosen, **arm.layer("env")}

    def _start_fpm(self, arm: Arm, number: int, directory: Path, placement: Placement, under: Under) -> Child:
        return self.spawn(
            arm,
            f"php-fpm-{number}",
            [*under.words, arm.php.fpm, "--nodaemonize", "--force-stderr", *placement.options, "--fpm-config", str(directory / "fpm.conf")],
            env=self.environment(arm, placement),
            cwd=directory,
            binds=self.app_of(arm).binds,
            cores=self.cores.measured,
            cgroups=self.cgroup(f"php{number}"),
            thp_off=thp_off(arm),
        )

    def _start_nginx(self, instance: Instance) -> None:
        port = free_port()
        app = instance.app
        prefix = self.supervisor.directory(f"i{instance.number}/nginx")
        configuration = instance.directory / "nginx.conf"
        configuration.write_text(
            render_nginx(
                listen=f"127.0.0.1:{port}",
                fastcgi=instance.fastcgi.removeprefix("tcp:"),
                docroot=app.docroot,
                front_controller=app.front_controller,
                prefix=prefix,
                marker=instance.marker,
                web={"workers": str(self.nginx_workers), **instance.arm.layer("web")},
                scheme=app.workload.scheme,
                site=app.site,
                root=app.root,
                host=server_name(app.workload.host),
            )
        )
        name = f"web{instance.number}"
        instance.web = self.spawn(
            instance.arm,
            f"nginx-{instance.number}",
            [find_program("nginx"), "-p", str(prefix), "-c", str(configuration), "-e", "stderr", "-g", "daemon off;"],
            cwd=prefix,
            binds=app.binds,
            cores=self.cores.nginx or self.cores.helpers,
            cgroups=self.cgroup(name),
        )
        instance.http = f"tcp:127.0.0.1:{port}"
        instance.web_meter = self.meter(name, instance.web)

    def spawn(self, arm: Arm, name: str, argv: Sequence[str], **options: Any) -> Child:
        """A server of an arm that cannot be executed is that arm's failure."""
        try:
            return self.supervisor.spawn(name, argv, **options)
        except DynoError as error:
            raise ArmFailed(arm, f"{error.where}: {error.what}") from error

    def reachable(self, settings: Mapping[str, str]) -> dict[str, str]:
        """The settings with our own files within open_basedir, where there is one."""
        fenced = {name: value for name, value in settings.items() if value and "open_basedir" in name}
        return {**settings, **{name: f"{value}:{self.supervisor.live}" for name, value in fenced.items()}}

    def placed(self, values: dict[str, str]) -> dict[str, str]:
        """The app's own settings with the database's socket put in."""
        place = str(self.database.socket) if self.database else ""
        return {name: value.replace("{db_socket}", place) for name, value in values.items()}

    def cgroup(self, name: str, *, make: bool = True) -> list[Path]:
        """Where a component of an instance runs; empty where cgroups cannot be made."""
        return component_cgroup(self.supervisor, self._groups, name, make=make)

    def meter(self, name: str, child: Child) -> Meter:
        """The meter of a component that runs in the cgroup `name`."""
        return component_meter(self.supervisor, self._groups, name, child)


def component_cgroup(supervisor: Supervisor, groups: CpuGroups | None, name: str, *, make: bool = True) -> list[Path]:
    """The cgroup of a component, made below the run's own (which the guardian removes); none where
    groups cannot be made."""
    if groups is None:
        return []
    root = groups.home / supervisor.live.name
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
