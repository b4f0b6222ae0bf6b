"""The command-line PHP that runs an app's installer."""

import re
import shutil
from collections.abc import Sequence

from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.host.checkup.check import install_servers
from phpdyno.host.system import php_package
from phpdyno.servers.programs.finding import program_path, told
from phpdyno.servers.programs.php import newest_cli

_ASK = "echo PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION, ' ', strtolower(implode(' ', get_loaded_extensions()));"
_PACKAGES = {"mysqli": "mysql", "pdo_sqlite": "sqlite3", "dom": "xml", "simplexml": "xml"}
"""Debian's package of an extension (after `php8.2-`) where it is not called like the extension."""


class PhpCli(Struct, frozen=True):
    """Its path, and its version without the patch level."""

    path: str
    minor: str


def php_on_path() -> str:
    """The name, or the path, of the command-line PHP that this machine has; `php` without one."""
    return "php" if shutil.which("php", path=program_path()) else newest_cli() or "php"


def find_php_cli(extensions: Sequence[str]) -> PhpCli:
    """The command-line PHP of the version that is measured unless a SPEC says otherwise; where it
    has none, `php` of the PATH. Raises DynoError when there is none, or one without these
    extensions."""
    path = newest_cli() or shutil.which("php", path=program_path())
    if path is None:
        raise DynoError("there is no command-line PHP", next_step=f"install it with: {install_servers(php_package('cli'))}")
    answer = told([path, "-r", _ASK])
    output = answer.stdout.decode(errors="replace")
    match = re.match(r"(\d+\.\d+)((?: \S+)*)", output)
    if answer.returncode != 0 or match is None:
        raise DynoError(f"this PHP does not run: {(answer.stderr.decode(errors='replace') or output).strip()[-200:]}", where=path)
    missing = [name for name in extensions if name not in match[2].split()]
    if missing:
        packages = dict.fromkeys(f"php{match[1]}-{_PACKAGES.get(name, name)}" for name in missing)
        raise DynoError(
            f"this PHP has no {', '.join(missing)}",
            where=path,
            next_step=f"install it with: {install_servers(*packages)}",
        )
    return PhpCli(path, match[1])
