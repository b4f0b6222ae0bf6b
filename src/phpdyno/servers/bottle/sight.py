"""What an arm names outside the system is shown in the bottle; what PHP writes outside the app's
tree has private places there."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from phpdyno.model.arm import Arm
from phpdyno.servers.programs.php import IniFiles
from phpdyno.servers.supervision.supervisor import Supervisor

READ = frozenset(
    {
        "php.ini",
        "php.scan_dir",
        "ini.auto_append_file",
        "ini.auto_prepend_file",
        "ini.browscap",
        "ini.curl.cainfo",
        "ini.extension_dir",
        "ini.include_path",
        "ini.opcache.jit_blacklist",
        "ini.opcache.preload",
        "ini.openssl.cafile",
        "ini.openssl.capath",
        "env.LD_PRELOAD",
    }
)
"""Settings whose values are files or directories that PHP reads."""
WRITTEN = frozenset(
    {
        "ini.opcache.file_cache",
        "ini.opcache.lockfile_path",
        "ini.session.save_path",
        "ini.soap.wsdl_cache_dir",
        "ini.sys_temp_dir",
        "ini.upload_tmp_dir",
    }
)
"""Settings whose values are directories that PHP writes to: what is there on the host is the live
site's."""
LOGS = frozenset({"ini.error_log", "ini.mail.log", "ini.opcache.error_log", "pool.access.log", "pool.slowlog"})
"""Settings whose values are files that PHP writes to."""
BESIDE_PROGRAMS = ("etc", "lib", "lib64", "libexec", "share")


def show_arm(supervisor: Supervisor, arm: Arm, files: IniFiles | None = None, *, ini: Mapping[str, str] | None = None) -> None:
    """Let what this arm starts see what it names; `ini` are further php.ini settings that it is
    started with. Raises DynoError."""
    if supervisor.no_bottle:
        return
    settings = {**{f"ini.{name}": value for name, value in (ini or {}).items()}, **_pool_ini(arm), **arm.settings}
    places = [
        *_of_program(Path(arm.php.fpm)),
        *([Path(arm.php.extension_dir)] if arm.php.extension_dir else []),
        *map(Path, _ini_files(files)),
    ]
    places += [path for name, value in settings.items() if name in READ or name.startswith("ext.") for path in _paths(value)]
    for place in places:
        if place.is_absolute() and place.exists():
            supervisor.show(place)
    for name, value in settings.items():
        for path in _paths(value) if name in WRITTEN else (path.parent for path in _paths(value)) if name in LOGS else ():
            supervisor.make_private(path)


def _pool_ini(arm: Arm) -> dict[str, str]:
    """php.ini settings that a pool gives its workers (`php_admin_value[error_log]`), by their names
    as settings."""
    found = {}
    for name, value in arm.layer("pool").items():
        kind, bracket, rest = name.partition("[")
        if bracket and kind.startswith("php_"):
            found[f"ini.{rest.removesuffix(']')}"] = value
    return found


def _of_program(program: Path) -> Iterator[Path]:
    """The directory of a program, and those beside it that it may need."""
    yield program.parent
    if program.parent.name in {"bin", "sbin"}:
        yield from (program.parent.parent / name for name in BESIDE_PROGRAMS)


def _ini_files(files: IniFiles | None) -> Iterator[str]:
    if files is not None:
        yield from (path for path in (files.main, *files.scanned) if path)


def _paths(value: str) -> Iterator[Path]:
    """The absolute paths in a value that is one, or several with `:` between them; `N;/path` is how
    session.save_path may be written."""
    for part in value.rpartition(";")[2].split(":"):
        text = part.strip().strip('"')
        if text.startswith("/") and "\0" not in text and os.path.normpath(text) != "/":
            yield Path(text)
