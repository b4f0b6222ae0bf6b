"""Apache with mod_php: PHP in the web server's own processes, started as the one server of an arm.

It reads the very ini files that the arm's php-fpm would read, so that two arms differ in the kind
of server alone.
"""

import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from phpdyno.errors import DynoError, UsageError
from phpdyno.host.checkup.check import install_servers
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Transport
from phpdyno.server_files.apache import check_apache, ini_at_start, processes_of, render_apache
from phpdyno.servers.facts.worker import PROBE_TIMEOUT_NS, ProbeAnswer, probe_over_http
from phpdyno.servers.host_settings import thp_off
from phpdyno.servers.instance import ArmFailed, Instance
from phpdyno.servers.launching import Launching, free_port
from phpdyno.servers.placement import NO_INI, Placement, place_php, texts_in, write_as_read
from phpdyno.servers.programs.finding import find_program, program_path, told
from phpdyno.servers.programs.php import IniFiles

MODULES = Path("/usr/lib/apache2/modules")
_PHP_VERSION = re.compile(rb"X-Powered-By: PHP/(\d+\.\d+\.\d+[^\0]{0,40})\0")
_ENDED_BY_SIGNAL = " exit signal "


class ModPhp(Struct, frozen=True):
    """Apache's program and its module for one PHP."""

    binary: str
    module: Path


class ApachePlace(Struct, frozen=True):
    """Where one Apache listens, where it answers for the probe, its configuration, and the
    directory that it may write to."""

    listen: str
    probe_path: str
    configuration: Path
    run: Path


class ApacheInstance(Instance):
    """A started arm whose PHP runs in Apache. `fastcgi` is the address where its workers listen:
    the same as `http`."""

    server = "Apache"
    keeps_workers = True

    def __init__(self, *arguments: Any, probe_path: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.http = self.fastcgi
        self._probe_path = probe_path

    def ask_probe(
        self, env_names: Sequence[str] = (), *, root: Path | None = None, timeout_ns: int = PROBE_TIMEOUT_NS
    ) -> ProbeAnswer | None:
        """What the process that accepts next says of itself; None when none answers as the probe
        does."""
        return probe_over_http(self.http, self._probe_path, env_names, root=root, timeout_ns=timeout_ns)

    def workers_at_start(self) -> int:
        """How many processes there are once it has started."""
        return processes_of(self.arm.layer("pool")).start

    def keeps(self, concurrency: int) -> bool:
        """Whether there is a process for each: a kept connection holds one, and whoever finds none
        would wait until Apache gives up another connection that is idle (5 s)."""
        return concurrency <= processes_of(self.arm.layer("pool")).sure

    def crashes(self) -> str:
        """What Apache's log says of processes that a signal ended; '' when none was."""
        return " | ".join(line.strip() for line in self.fpm.said().splitlines() if _ENDED_BY_SIGNAL in line)


def launch_apache(bench: Launching, arm: Arm, number: int, directory: Path, run: Path) -> ApacheInstance:
    """Start an arm's Apache on a free port, in `directory` (which configures it) and `run` (which
    it may write to). Raises ArmFailed."""
    real = bench.real_values(arm)
    bench.show(arm, real)
    files = bench.files_of(arm)
    placement = with_scanned(place_php(arm, files, directory, directory / "ini", bench.supervisor.user), files)
    resolved = structs.replace(arm, settings={**arm.settings, **real})  # never journaled
    originals = _write_ini(bench, resolved, directory, placement, texts_in(real))
    place = ApachePlace(f"127.0.0.1:{free_port()}", f"/.phpdyno/{secrets.token_hex(16)}.php", directory / "httpd.conf", run)
    environment = bench.environment(resolved, placement)
    try:
        found = find_mod_php(arm)
        text = _configuration(bench, resolved, place, mod_php=found.module, php_ini=main_ini(placement, files), environment=environment)
        write_as_read(place.configuration, text)
    except DynoError as error:
        raise ArmFailed(arm, str(error)) from error
    server = bench.spawn(
        resolved,
        f"apache-{number}",
        [found.binary, "-d", str(run), "-f", str(place.configuration), "-D", "FOREGROUND"],
        env=environment,
        cwd=run,
        binds=bench.app_of(arm).binds,
        cores=bench.cores.measured,
        cgroups=bench.cgroup(f"php{number}"),
        thp_off=thp_off(arm),
    )
    return ApacheInstance(
        arm,
        number,
        directory,
        fpm=server,
        fastcgi=f"tcp:{place.listen}",
        php_meter=bench.meter(f"php{number}", server),
        probe=bench.probe,
        app=bench.app_of(arm),
        originals=originals,
        real=real,
        probe_path=place.probe_path,
    )


def _write_ini(bench: Launching, arm: Arm, directory: Path, placement: Placement, texts: frozenset[str]) -> dict[str, str]:
    """The php.ini fragment, with those of the pool's own settings that mod_php cannot have for
    itself; what placed files stand for."""
    early = ini_at_start(arm.layer("pool"))
    settings = {**arm.settings, **{f"ini.{name}": value for name, value in early.items()}}
    return bench.write_ini(structs.replace(arm, settings=settings), directory, placement, texts | frozenset(early))


def _configuration(bench: Launching, arm: Arm, place: ApachePlace, *, mod_php: Path, php_ini: str, environment: Mapping[str, str]) -> str:
    app = bench.app_of(arm)
    return render_apache(
        listen=place.listen,
        modules=MODULES,
        mod_php=mod_php,
        php_ini=php_ini,
        docroot=app.docroot,
        front_controller=app.front_controller,
        run=place.run,
        probe_path=place.probe_path,
        probe=bench.probe,
        pool=bench.reachable(arm.layer("pool")),
        variables=tuple(name for name in environment if name != "PHP_INI_SCAN_DIR"),
        scheme=app.workload.scheme,
    )


def require_apache(transport: Transport, arm: Arm) -> None:
    """Raise UsageError for a transport and for settings that Apache has nothing for, DynoError
    where it is not installed."""
    check_apache(arm.settings, arm.changed or arm.settings, where=arm.name)
    if "php" in arm.changed:
        what = "which php-fpm Apache's PHP goes with is not to be seen in its processes, so this would never be proved"
        raise UsageError(what, where=arm.name, next_step="compare PHPs by php=PATH behind nginx, or name the same php=PATH with --control")
    if transport != "http":
        what = f"Apache with mod_php speaks HTTP only, not {transport}"
        raise UsageError(what, where=arm.name, next_step="measure with --transport http")
    find_mod_php(arm)


def find_mod_php(arm: Arm) -> ModPhp:
    """Apache and its module for the version of the arm's PHP. Raises DynoError: not installed, or
    of another version."""
    major, minor = arm.php.version.split(".")[:2]
    module = MODULES / f"libphp{major}.{minor}.so"
    binary = shutil.which("apache2", path=program_path())
    if binary is None or not module.is_file():
        command = install_servers("apache2-bin", f"libapache2-mod-php{major}.{minor}")
        what = f"Apache with a module for PHP {major}.{minor} is not installed"
        raise DynoError(what, where=str(module), next_step=f"install both with: {command}")
    version = module_version(module.read_bytes())
    if version != arm.php.version:
        raise DynoError(
            f"this module is PHP {version or 'of no known version'}, the arm's php-fpm is {arm.php.version}",
            where=str(module),
            next_step="install both from one source",
        )
    return ModPhp(binary, module)


def module_version(data: bytes) -> str:
    """The version of PHP that a server module was built from, as it would tell it in a header; ''
    where it holds none."""
    found = _PHP_VERSION.search(data)
    return found[1].decode("ascii", "replace") if found else ""


def apache_version() -> str:
    """Version of the installed Apache, as it prints it."""
    first = told([find_program("apache2"), "-v"]).stdout.decode(errors="replace").partition("\n")[0]
    return first.removeprefix("Server version: ").strip()


def main_ini(placement: Placement, files: IniFiles) -> str:
    """The php.ini that php-fpm would read with these options; /dev/null where it would read
    none."""
    named = placement.options[placement.options.index("-c") + 1] if "-c" in placement.options else files.main
    if named and Path(named).is_dir():
        return str(Path(named) / "php.ini")
    return named or NO_INI


def with_scanned(placement: Placement, files: IniFiles) -> Placement:
    """The placement with php-fpm's compiled-in directory of ini files written out: Apache's module
    has another one of its own."""
    entries = placement.scan_dir.split(":")
    own = next((place for place in (str(Path(file).parent) for file in files.scanned) if place not in entries), "")
    # An empty entry is the compiled-in one. Where php-fpm reads nothing there, the module's is not
    # to be read in its place.
    kept = [entry or own for entry in entries]
    return structs.replace(placement, scan_dir=":".join(entry for entry in kept if entry))
