"""Where the server comes from: Debian's package, unpacked into the cache, or a binary that the user
names."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from phpdyno.apps.built_in.debian import PackageRecipe, prepared
from phpdyno.apps.built_in.packages import fetch_packages
from phpdyno.apps.source import Progress
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.checkup.check import install
from phpdyno.servers.programs.finding import find_program, told
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.servers.tarantool.server import TarantoolProgram

PACKAGES = ("tarantool", "libicu72", "libreadline8", "libunwind8", "libyaml-0-2", "libzstd1")
"""The server, and libraries of its that a host may be without."""
BINARY = Path("usr/bin/tarantool")
LIBRARIES = Path("usr/lib")
_MISSING = re.compile(r"^\s*(\S+) => not found$", re.MULTILINE)


def find_server(named: Path | None, supervisor: Supervisor, *, cache: Path, progress: Progress) -> TarantoolProgram:
    """The server that was `named`, else Debian's. (Installed, its package takes over the name
    `lua`.) Raises UsageError, DynoError."""
    if named is not None:
        return _named(named)

    def build(place: Path, versions: Mapping[str, str]) -> None:
        progress("fetching Tarantool")
        fetch_packages(supervisor, versions, place)

    entry, _ = prepared(PackageRecipe("tarantool", "Tarantool", PACKAGES, {}, build), cache, progress)
    libraries = tuple(sorted({path.parent for path in (entry / LIBRARIES).rglob("*.so*")}))
    program = TarantoolProgram(entry / BINARY, libraries)
    if missing := missing_libraries(program):
        raise DynoError(
            f"Tarantool needs {', '.join(missing)}",
            where=str(program.binary),
            next_step=f"install it with: {install('libcurl4', 'libgomp1')}",
        )
    return program


def missing_libraries(program: TarantoolProgram) -> tuple[str, ...]:
    """Shared libraries that a binary is linked with and that are not there."""
    said = told([find_program("ldd"), str(program.binary)], env={**os.environ, **program.env, "LC_ALL": "C"}).stdout.decode(
        errors="replace"
    )
    return tuple(_MISSING.findall(said))


def _named(binary: Path) -> TarantoolProgram:
    where = f"--server {binary}"
    path = binary.expanduser().absolute()
    if not path.is_file() or not os.access(path, os.X_OK):
        raise UsageError("there is no such program", where=where, next_step="name the binary of a Tarantool")
    said = told([str(path), "--version"]).stdout.decode(errors="replace")
    if not said.startswith("Tarantool"):
        raise UsageError("this is no Tarantool: it does not answer --version as one does", where=where)
    return TarantoolProgram(path)
