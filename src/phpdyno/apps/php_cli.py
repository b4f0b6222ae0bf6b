"""The command-line PHP that runs an app's installer."""

import re
import shutil
import subprocess
from pathlib import Path

from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.stack.programs import program_path

_ASK = 'echo PHP_MAJOR_VERSION, ".", PHP_MINOR_VERSION, extension_loaded("mysqli") ? " mysqli" : "";'


class PhpCli(Struct, frozen=True):
    """Its path, and its version without the patch level."""

    path: str
    minor: str


def find_php_cli() -> PhpCli:
    """`php` of the PATH, else the newest php8.2-like program. Raises DynoError when there is none, or none with mysqli."""
    path = shutil.which("php", path=program_path()) or _newest()
    if path is None:
        raise DynoError(
            "there is no command-line PHP", next_step="install it with: sudo apt-get install --no-install-recommends php8.2-cli"
        )
    answer = subprocess.run([path, "-r", _ASK], capture_output=True, text=True, timeout=30, check=False)
    match = re.match(r"(\d+\.\d+)( mysqli)?", answer.stdout)
    if answer.returncode != 0 or match is None:
        raise DynoError(f"this PHP does not run: {(answer.stderr or answer.stdout).strip()[-200:]}", where=path)
    if match[2] is None:
        package = f"php{match[1]}-mysql"
        raise DynoError(
            "this PHP has no mysqli", where=path, next_step=f"install it with: sudo apt-get install --no-install-recommends {package}"
        )
    return PhpCli(path, match[1])


def _newest() -> str | None:
    found = [path for folder in program_path().split(":") if folder for path in Path(folder).glob("php[0-9].[0-9]*")]
    return str(max(found, key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)])) if found else None
