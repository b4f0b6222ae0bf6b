"""Where a running pool's files lie, and what they say: what `--control live` adds to a bundle."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from phpdyno.bundle.manifest import PhpPlace, debian_place
from phpdyno.config.spec import NONE
from phpdyno.config.trusted import read_trusted
from phpdyno.errors import DynoError
from phpdyno.servers.live.masters import LiveMaster
from phpdyno.servers.live.pool import LivePool, import_pool
from phpdyno.servers.live.taken_over import options_of
from phpdyno.servers.placement import ini_options
from phpdyno.servers.programs.php import IniFiles, ini_files

_SERVICE = re.compile(r"/([^/\s]+)\.service$", re.MULTILINE)
_KEPT = "cnpy"
"""Options of php-fpm's command line that say which files it reads."""


def place_of_live(pool: LivePool, files: IniFiles, version: str) -> PhpPlace:
    """The php-fpm of an imported pool; `files` are those that it reads, `version` is PHP's own.
    Raises DynoError: no master."""
    master = pool.master
    if master is None:
        raise DynoError("the php-fpm of this pool is not known", where=f"live:{pool.selector}")
    usual = debian_place(version, master.exe, pool=pool.section)
    options = list(options_of(master.argv or ()))
    opened = pool.opened_in or master.config
    elsewhere = opened.parent != master.config.parent
    return PhpPlace(
        version=version,
        executable=master.exe,
        config=str(master.config),
        ini_dir=_ini_dir(pool.settings.get("php.scan_dir"), files, usual.ini_dir),
        pool_dir=str(opened.parent if elsewhere else master.config.parent / "pool.d"),
        pool=pool.section,
        pool_file=os.path.normpath(opened),
        unit=_unit(master.pid) or usual.unit,
        user=pool.user,
        options=_test_options(options, master),
        scan_dir=_scan_dir(pool.settings.get("php.scan_dir")),
        defined=tuple(sorted({value.partition("=")[0] for letter, value in options if letter == "d"})),
        live=pool.selector,
    )


def place_here(php: PhpPlace) -> PhpPlace:
    """Where the files of the running pool lie that a bundle was made of. Raises as `import_pool`
    does: no such pool runs."""
    pool = import_pool(php.live)
    options, scan_dir = ini_options(pool.settings)
    return place_of_live(pool, ini_files(pool.settings["php"], options, scan_dir), php.version)


def basis_of_live(pool: LivePool, files: IniFiles) -> dict[str, str]:
    """The configuration files of a pool with their text, by path. A file that cannot be read is
    left out."""
    found = {}
    for path in _each(pool, files):
        try:
            found[os.path.normpath(path)] = read_trusted(Path(path)).decode("utf-8", "surrogateescape")
        except OSError:
            continue
    return found


def _each(pool: LivePool, files: IniFiles) -> Iterable[str]:
    return dict.fromkeys([*map(str, pool.files), *(path for path in (files.main, *files.scanned) if path)])


def _ini_dir(given: str | None, files: IniFiles, usual: str) -> str:
    """The directory that is scanned last: what is read there outdoes all else."""
    if given == NONE:
        return ""
    last = given.split(os.pathsep)[-1] if given else ""
    if last:
        return os.path.normpath(last)
    return str(Path(files.scanned[-1]).parent) if files.scanned else usual


def _scan_dir(given: str | None) -> str:
    return "" if given in {None, NONE} else str(given)


def _test_options(options: Iterable[tuple[str, str]], master: LiveMaster) -> tuple[str, ...]:
    """What `php-fpm -t` has to be given to read what the running one reads; relative paths are the
    master's."""
    found: list[str] = []
    named = False
    for letter, value in options:
        if letter and letter in _KEPT:
            named = named or letter == "y"
            found += [f"-{letter}", *([os.path.normpath(master.cwd / value)] if value else [])]
    return tuple(found if named else [*found, "-y", str(master.config)])


def _unit(pid: int) -> str:
    """The systemd service of a process, from its cgroup; '' where it belongs to none."""
    try:
        found = _SERVICE.search(Path(f"/proc/{pid}/cgroup").read_text(errors="replace"))
    except OSError:
        return ""
    return found[1] if found else ""
