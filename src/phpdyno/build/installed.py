"""The PHP that is there: which package its php-fpm is of, and how that was configured."""

import re
import shutil
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.packages import fetch_packages
from phpdyno.build.options import options_in
from phpdyno.build.versions import is_below
from phpdyno.errors import DynoError
from phpdyno.model.build import Build, series_of
from phpdyno.stack.php import NO_PRELOADING, inspect_php
from phpdyno.stack.programs import find_program, told
from phpdyno.stack.supervise import Supervisor

_PACKAGED = re.compile(r"^(\S+?)(?::\S+)?: ")


class Installed(Struct, frozen=True):
    """`package` is the binary package of php-fpm, `source` that of its source. Binaries that were only compiled again (8.4.11-1+b1) have
    another version than their source (8.4.11-1).

    `version` is PHP's own (`8.2.36`), `options` is how it was configured.
    """

    fpm: str
    version: str
    package: str
    source: str
    package_version: str
    source_version: str
    extension_dir: str
    options: tuple[str, ...]


def find_fpm(name: str) -> str:
    """The path of an installed php-fpm, by its name or path. Raises DynoError with the line that installs it."""
    return str(Path(shutil.which(name) or find_program(name)).resolve())


def modules_of(fpm: str) -> tuple[str, ...]:
    """Extensions that a php-fpm has with the distribution's ini files, as it names them itself. Raises DynoError when it does not run."""
    answer = told([fpm, *NO_PRELOADING, "-m"])
    if answer.returncode != 0:
        raise DynoError("this is not a working php-fpm: it names no extensions", where=fpm)
    lines = (line.strip() for line in answer.stdout.decode(errors="replace").splitlines())
    return tuple(dict.fromkeys(line for line in lines if line and not line.startswith("[")))


def look_at(name: str, supervisor: Supervisor, cache: Path) -> Installed:
    """What is known of an installed php-fpm, by its name or path. Raises DynoError: none there, of no package, no php-config for it."""
    fpm = find_fpm(name)
    php = inspect_php(fpm)
    package = _package_of(fpm)
    shown = told(["dpkg-query", "-W", "-f", "${source:Package} ${source:Version} ${Version}", package]).stdout.decode().split()
    if len(shown) != 3:
        raise DynoError(f"dpkg knows no version of {package}", where=fpm)
    source, source_version, version = shown
    config = _php_config(php.version, package, version, supervisor, cache)
    answers = {word: told(["sh", str(config), f"--{word}"]).stdout.decode().strip() for word in ("configure-options", "extension-dir")}
    return Installed(
        fpm=fpm,
        version=php.version,
        package=package,
        source=source,
        package_version=version,
        source_version=source_version,
        extension_dir=answers["extension-dir"],
        options=options_in(answers["configure-options"]),
    )


def upgraded_to(build: Build) -> str:
    """The version of the package that a build was made for, where that was upgraded since; '' where it was not, or is not recorded.

    Raises DynoError.
    """
    if not build.package:
        return ""
    now = told(["dpkg-query", "-W", "-f", "${Version}", build.package]).stdout.decode()
    return now if is_below(build.package_version, now) else ""


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


def _php_config(version: str, package: str, package_version: str, supervisor: Supervisor, cache: Path) -> Path:
    """php-config of exactly this version: the installed one, else the development package's, unpacked in the cache."""
    name = f"php-config{series_of(version)}"
    here = shutil.which(name)
    if here and told([here, "--version"]).stdout.decode().strip() == version:
        return Path(here)
    place = cache / "builds" / "php-config" / package_version
    script = place / "usr" / "bin" / name
    if not script.is_file():
        place.mkdir(parents=True, exist_ok=True)
        fetch_packages(supervisor, {package.replace("-fpm", "-dev"): package_version}, place)
    if not script.is_file():
        raise DynoError(f"the development package of {package} holds no {name}", where=str(place))
    return script
