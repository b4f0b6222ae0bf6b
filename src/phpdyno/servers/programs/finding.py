"""Finding the servers' programs, and the line that installs one that is missing."""

import contextlib
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.host.checkup.check import install, install_servers
from phpdyno.host.system import postgresql_package
from phpdyno.servers.supervision.tethered import run_tethered

PACKAGES = {
    "nginx": "nginx",
    "apache2": "apache2-bin",
    "mariadbd": "mariadb-server-core",
    "mariadb-install-db": "mariadb-server-core",
    "mariadb": "mariadb-client-core",
    "postgres": postgresql_package(),
    "redis-server": "redis-server",
    "memcached": "memcached",
    "php-fpm": "php-fpm",
    "php": "php-cli",
}
SERVERS = frozenset(PACKAGES.values())
"""Packages for which apt-get would start a service on the user's host, or start one again; setup.sh
forbids it."""
TOOL_PACKAGES = {"gcov-tool": "gcc", "dpkg-source": "dpkg-dev", "perf": "linux-perf", "setarch": "util-linux"}
"""Packages of programs that start no service, where the names differ."""

_PHP = re.compile(r"php(-fpm)?(\d+\.\d+)")

_NO_DATABASE = "only wordpress and an app.toml with `database` need MariaDB"
WITHOUT = {
    "nginx": "`--transport fastcgi` measures without nginx",
    "apache2": "only web.server=apache-mod_php needs it",
    **dict.fromkeys(("mariadbd", "mariadb-install-db", "mariadb"), _NO_DATABASE),
    "postgres": 'only a service of kind = "postgresql" needs it',
    "redis-server": 'only a service of kind = "redis" needs it',
    "memcached": 'only a service of kind = "memcached" needs it',
}


ASK_S = 30.0
"""Most that a question to a program takes: its version, what it knows."""


def program_path() -> str:
    """Where programs are looked for: $PHPDYNO_PATH, else PATH and the system directories that an
    ordinary user's PATH leaves out."""
    return os.environ.get("PHPDYNO_PATH") or os.pathsep.join(
        [os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"]
    )


def find_program(name: str, path: str | None = None) -> str:
    """Absolute path of a program, looked for where `path` says (None: where the user's programs
    are). Raises DynoError with the line that installs it and what works without it."""
    found = shutil.which(name, path=program_path() if path is None else path)
    if found:
        return found
    package = package_of(name)
    command = install_servers(package) if package in SERVERS or _PHP.fullmatch(name) else install(package)
    hint = WITHOUT.get(name)
    raise DynoError(f"{name} is not installed", next_step=f"install it with: {command}" + (f" ({hint})" if hint else ""))


def package_of(name: str) -> str:
    """The package that brings a program: `php8.4-fpm` brings php-fpm8.4, `php8.4-cli` php8.4."""
    php = _PHP.fullmatch(name)
    return f"php{php[2]}-{'fpm' if php[1] else 'cli'}" if php else PACKAGES.get(name) or TOOL_PACKAGES.get(name, name)


def told(argv: Sequence[str], env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """What a program answers to a question. Raises DynoError where it does not run, or not to its
    end."""
    try:
        return run_tethered(argv, timeout_s=ASK_S, env=env)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DynoError(f"this program does not run: {error}", where=argv[0]) from error


def version_key(text: str) -> list[int]:
    """The numbers in a name or version, to sort by."""
    return [int(part) for part in re.findall(r"\d+", text)]


def newest_program(pattern: str) -> str | None:
    """The program with the highest version in its name among those that a pattern such as
    `php-fpm[0-9]*` names, None where none is."""
    found: list[Path] = []
    for place in filter(None, program_path().split(":")):
        # Of whoever became another user by su, PATH may name a directory of the user before.
        with contextlib.suppress(OSError):
            found += Path(place).glob(pattern)
    return str(max(found, key=lambda path: version_key(path.name))) if found else None


def nginx_version() -> str:
    """Version of the installed nginx, as it prints it."""
    return told([find_program("nginx"), "-v"]).stderr.decode(errors="replace").strip().removeprefix("nginx version: ")


@functools.cache
def nginx_number() -> str:
    """The number alone (`1.22.1`), as nginx tells PHP; '' where nginx is not installed."""
    try:
        return nginx_version().removeprefix("nginx/").split()[0]
    except (DynoError, IndexError):
        return ""
