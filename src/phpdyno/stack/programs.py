"""Finding the servers' programs, and the line that installs one that is missing."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from phpdyno.errors import DynoError

PACKAGES = {
    "nginx": "nginx",
    "mariadbd": "mariadb-server-core",
    "mariadb-install-db": "mariadb-server-core",
    "mariadb": "mariadb-client-core",
    "php-fpm8.2": "php8.2-fpm",
    "php8.2": "php8.2-cli",
}
STARTS_A_SERVICE = frozenset({"nginx", "php8.2-fpm"})
"""Packages whose service apt-get would start on the user's host; setup.sh forbids it."""

_NO_DATABASE = "only wordpress and an app.toml with `database` need MariaDB"
WITHOUT = {
    "nginx": "`--transport fastcgi` measures without nginx",
    **dict.fromkeys(("mariadbd", "mariadb-install-db", "mariadb"), _NO_DATABASE),
}


def program_path() -> str:
    """Where programs are looked for: $PHPDYNO_PATH, else PATH and the system directories that an ordinary user's PATH leaves out."""
    return os.environ.get("PHPDYNO_PATH") or os.pathsep.join(
        [os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"]
    )


def find_program(name: str) -> str:
    """Absolute path of a program. Raises DynoError with the line that installs it and what works without it."""
    found = shutil.which(name, path=program_path())
    if found:
        return found
    package = PACKAGES.get(name, name)
    command = "sh scripts/setup.sh --packages-only" if package in STARTS_A_SERVICE else "apt-get install --no-install-recommends"
    hint = WITHOUT.get(name)
    raise DynoError(f"{name} is not installed", next_step=f"install it with: sudo {command} {package}" + (f" ({hint})" if hint else ""))


def version_key(text: str) -> list[int]:
    """The numbers in a name or version, to sort by."""
    return [int(part) for part in re.findall(r"\d+", text)]


def newest_program(pattern: str) -> str | None:
    """The program with the highest version in its name among those that a pattern such as `php-fpm[0-9]*` names, None where none is."""
    found = [path for place in program_path().split(":") if place for path in Path(place).glob(pattern)]
    return str(max(found, key=lambda path: version_key(path.name))) if found else None


def nginx_version() -> str:
    """Version of the installed nginx, as it prints it."""
    answer = subprocess.run([find_program("nginx"), "-v"], capture_output=True, text=True, check=False)
    return answer.stderr.strip().removeprefix("nginx version: ")
