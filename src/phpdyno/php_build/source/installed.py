"""The PHP that is there: which package its php-fpm is of, how that was configured, whether a build
still fits beside it."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.built_in.packages import fetch_packages
from phpdyno.errors import DynoError
from phpdyno.model.build import Build, series_of
from phpdyno.php_build.compile.dropin import installed_since
from phpdyno.php_build.compile.options import options_in
from phpdyno.php_build.source.versions import is_below
from phpdyno.servers.programs.choosing import named_php
from phpdyno.servers.programs.finding import find_program, told
from phpdyno.servers.programs.php import NO_PRELOADING, default_fpm, ini_files, inspect_php, scanning
from phpdyno.servers.supervision.supervisor import Supervisor

_PACKAGED = re.compile(r"^(\S+?)(?::\S+)?: ")


class Installed(Struct, frozen=True):
    """`package` is the binary package of php-fpm, `source` that of its source. Binaries that were
    only compiled again (8.4.11-1+b1) have another version than their source (8.4.11-1).

    `version` is PHP's own (`8.2.36`), `extension_dir` where it looks for extensions when no php.ini
    tells it another place.
    """

    fpm: str
    version: str
    package: str
    source: str
    package_version: str
    source_version: str
    extension_dir: str


def find_fpm(name: str) -> str:
    """The path of an installed php-fpm, by its name, version or path, '' for the newest. Raises
    DynoError with the line that installs it."""
    return str(Path(shutil.which(name) or find_program(named_php(name)) if name else default_fpm()).resolve())


def modules_of(php: str, extension_dir: str = "", *, options: Sequence[str] = (), scan_dir: str | None = None) -> tuple[str, ...]:
    """Extensions that a php-fpm (or php, php-cgi) has with the ini files that it reads by itself or
    with PHP_INI_SCAN_DIR and options, as it names them; `extension_dir` is where it looks for them
    ('' for its own place). Raises DynoError when it does not run."""
    place = ["-d", f"extension_dir={extension_dir}"] if extension_dir else []
    answer = told([php, *NO_PRELOADING, *place, *options, "-m"], scanning(scan_dir))
    if answer.returncode != 0:
        raise DynoError(f"this is not a working {Path(php).name}: it names no extensions", where=php)
    # Between them stand headings in brackets, and what PHP has to say of a file that does not load.
    lines = (line.strip() for line in answer.stdout.decode(errors="replace").splitlines())
    return tuple(dict.fromkeys(line for line in lines if line and not line.startswith("[") and ":" not in line))


def look_at(name: str) -> Installed:
    """What is known of an installed php-fpm, by its name or path, '' for the newest. Raises
    DynoError: none there, of no package."""
    fpm = find_fpm(name)
    version = inspect_php(fpm).version
    package = _package_of(fpm)
    shown = told(["dpkg-query", "-W", "-f", "${source:Package} ${source:Version} ${Version}", package]).stdout.decode().split()
    if len(shown) != 3:
        raise DynoError(f"dpkg knows no version of {package}", where=fpm)
    source, source_version, package_version = shown
    return Installed(
        fpm=fpm,
        version=version,
        package=package,
        source=source,
        package_version=package_version,
        source_version=source_version,
        extension_dir=ini_files(fpm, ("-n",)).extension_dir,
    )


def configured(php: Installed, supervisor: Supervisor, cache: Path) -> tuple[str, ...]:
    """The options that a php-fpm was configured with, as php-config of its version tells them.
    Raises DynoError where there is none."""
    config = _php_config(php, supervisor, cache)
    return options_in(told(["sh", str(config), "--configure-options"]).stdout.decode().strip())


def built_in_source(source: str) -> tuple[str, ...]:
    """The installed packages that are of a source package."""
    listed = told(["dpkg-query", "-W", "-f", "${source:Package} ${Package} ${db:Status-Status}\n"]).stdout.decode().splitlines()
    return tuple(words[1] for words in map(str.split, listed) if words[0] == source and words[-1] == "installed")


def modules_besides(packages: tuple[str, ...], extension_dir: Path) -> tuple[Path, ...]:
    """Files in a directory of extensions that none of these packages has brought: those of other
    source packages, and of nobody."""
    brought = set(told(["dpkg-query", "-L", *packages]).stdout.decode(errors="replace").splitlines())
    return tuple(path for path in sorted(extension_dir.glob("*.so")) if str(path) not in brought)


def upgraded_to(build: Build) -> str:
    """The version of the package that a build was made for, where that was upgraded since; '' where
    it was not, or is not recorded.

    Raises DynoError.
    """
    if not build.package:
        return ""
    now = told(["dpkg-query", "-W", "-f", "${Version}", build.package]).stdout.decode()
    return now if is_below(build.package_version, now) else ""


def why_outdated(place: Path, build: Build, version: str) -> str:
    """Why the build in `place` is not to be deployed beside the PHP of this version that is
    installed now; '' where it may be.

    A drop-in loads the extensions of one version, and all of them; one that stands alone must not
    lack what a newer one mended. Neither outlives the package that it was made for. Raises
    DynoError.
    """
    if build.alone and is_below(build.php_version, version):
        return f"this build is PHP {build.php_version}, older than the installed {version}, which has holes mended"
    if not build.alone and build.loads != version:
        return f"this build was made beside PHP {build.loads}, and now {version} is installed: it would step aside"
    if upgraded := upgraded_to(build):
        return f"this build was made for {build.package} {build.package_version}, and now {upgraded} is installed: it would step aside"
    if more := ", ".join(Path(name).stem for name in installed_since(place)):
        return f"this build was made before {more} was installed, and would step aside where that is loaded"
    return ""


def _package_of(fpm: str) -> str:
    answer = told(["dpkg", "-S", fpm])
    found = _PACKAGED.match(answer.stdout.decode(errors="replace"))
    if answer.returncode != 0 or found is None:
        raise DynoError(
            "this php-fpm is of no Debian package, so nobody says how it was configured",
            where=fpm,
            next_step="give a source of your own: phpdyno build --standalone --source DIR",
        )
    return found[1]


def _php_config(php: Installed, supervisor: Supervisor, cache: Path) -> Path:
    """php-config of exactly this version, the installed one or the development package's, unpacked
    in the cache; where neither is to be had, the installed one of another version of the series,
    whose options hardly ever change. Raises DynoError."""
    name = f"php-config{series_of(php.version)}"
    here = shutil.which(name)
    if here and told([here, "--version"]).stdout.decode().strip() == php.version:
        return Path(here)
    place = cache / "builds" / "php-config" / php.package_version
    script = place / "usr" / "bin" / name
    if not script.is_file():
        place.mkdir(parents=True, exist_ok=True)
        try:
            fetch_packages(supervisor, {php.package.replace("-fpm", "-dev"): php.package_version}, place)
        except DynoError:
            if not here:
                raise
            return Path(here)
    if not script.is_file():
        raise DynoError(f"the development package of {php.package} holds no {name}", where=str(place))
    return script
