"""What a php-fpm says of itself, asked once before planning."""

import os
import re
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from phpdyno.config.fpm_conf import Variables, ini_text
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.files.plain import read_led
from phpdyno.host.system import usual_php
from phpdyno.model.arm import PhpBuild
from phpdyno.servers.programs.finding import find_program, newest_program, program_path
from phpdyno.servers.supervision.tethered import run_tethered

_INI_LINE = re.compile(r"^([a-z_][a-z0-9_.]*) => .* => ", re.IGNORECASE | re.MULTILINE)
_SETTING = re.compile(r"^([a-z_][a-z0-9_.]*) => (.*?) => .*$", re.IGNORECASE | re.MULTILINE)
_PRELOAD_LINE = re.compile(r"^[ \t]*opcache\.preload[ \t]*=([^\r\n]*)", re.MULTILINE)
_NT_GNU_BUILD_ID = 3
NO_PRELOADING = ("-d", "opcache.preload=")
"""A question executes no script of the site: PHP preloads before it answers anything, even -h."""


def default_fpm() -> str:
    """The distribution's newest php-fpm. Raises DynoError with the line that installs one."""
    return newest_program("php-fpm[0-9]*") or shutil.which("php-fpm", path=program_path()) or find_program(f"php-fpm{usual_php()}")


def newest_cli() -> str | None:
    """The newest command-line PHP of the distribution (`php8.2`), None where there is none."""
    return newest_program("php[0-9].[0-9]*")


def default_cli() -> str:
    """The newest command-line PHP, else `php`. Raises DynoError with the line that installs one."""
    return newest_cli() or shutil.which("php", path=program_path()) or find_program(f"php{usual_php()}")


def fpm_prefix(fpm: str) -> Path:
    """The compiled-in directory from which php-fpm's relative includes start; /usr where it does
    not say."""
    found = re.search(r"\(default: (/[^)\n]*)\)", _told([fpm, "-h"], None, "php-fpm"))
    return Path(found[1] if found else "/usr")


def fpm_version(fpm: str) -> tuple[int, int]:
    """Major and minor version of a php-fpm. Raises DynoError when it does not run."""
    found = re.match(r"PHP (\d+)\.(\d+)\.", _told([fpm, "-n", "-v"], None, "php-fpm"))
    if found is None:
        raise DynoError("this is not a working php-fpm: it tells no version", where=fpm)
    return int(found[1]), int(found[2])


class Traits(Struct, frozen=True):
    """What a PHP says of itself: whether it is thread-safe, the version of its time-zone database
    (`0.system` for the system's), and the value of every php.ini setting that it knows, '' where it
    has none."""

    threads: bool
    timezones: str
    values: Mapping[str, str] = field(default_factory=dict)


def read_traits(fpm: str, extension_dir: str | None = None, *, options: Sequence[str] = (), scan_dir: str | None = None) -> Traits:
    """What a php-fpm says of itself, started with these options and PHP_INI_SCAN_DIR. Raises
    DynoError when it does not run."""
    place = [] if extension_dir is None else ["-d", f"extension_dir={extension_dir}"]
    return traits_in(_told([fpm, *place, *options, "-i"], scan_dir, "php-fpm"))


def traits_in(text: str) -> Traits:
    """What the output of -i says."""
    threads = re.search(r"^Thread Safety => (\S+)", text, re.MULTILINE)
    zones = re.search(r'^"Olson" Timezone Database Version => (.*\S)', text, re.MULTILINE)
    values = {name: "" if value == "no value" else value for name, value in _SETTING.findall(text)}
    return Traits(threads=threads is not None and threads[1] == "enabled", timezones=zones[1] if zones else "", values=values)


class IniFiles(Struct, frozen=True):
    """What this PHP reads by itself: its php.ini ('' when none), the scanned files in order, and
    where it looks for extensions."""

    main: str
    scanned: tuple[str, ...]
    extension_dir: str


def ini_files(fpm: str, options: Sequence[str] = (), scan_dir: str | None = None) -> IniFiles:
    """The files as PHP lists them, when it is started with these options and PHP_INI_SCAN_DIR.
    Raises DynoError when it does not run."""
    return _files_in(_told([fpm, *options, "-i"], scan_dir, "PHP"))


def _files_in(text: str) -> IniFiles:
    main = re.search(r"^Loaded Configuration File => (.*)$", text, re.MULTILINE)
    scanned = re.search(r"^Additional \.ini files parsed => ((?:.*,\n)*.*)$", text, re.MULTILINE)
    place = re.search(r"^extension_dir => (.*?) => ", text, re.MULTILINE)
    several = [part.strip() for part in scanned[1].split(",")] if scanned else []
    return IniFiles(
        main=main[1] if main and main[1] != "(none)" else "",
        scanned=tuple(part for part in several if part and part != "(none)"),
        extension_dir=place[1] if place else "",
    )


def _preload_in(files: IniFiles) -> str:
    """What opcache.preload is in these files; the last one counts."""
    found = ""
    for path in (files.main, *files.scanned):
        try:
            text = Path(path).read_text(encoding="utf-8", errors="surrogateescape") if path else ""
        except OSError:
            continue  # PHP, which listed it, says what is wrong with it
        for value in _PRELOAD_LINE.findall(text):
            try:
                found = ini_text(value, Variables({}), where=path)
            except UsageError:
                found = value.strip()
    return found


def scanning(scan_dir: str | None) -> dict[str, str] | None:
    """The environment of a PHP that is to scan a directory for ini files; None for one that scans
    the compiled-in one."""
    return None if scan_dir is None else {**os.environ, "PHP_INI_SCAN_DIR": scan_dir}


def _told(argv: Sequence[str], scan_dir: str | None, kind: str) -> str:
    """What a PHP prints of itself when its standard options are followed by the question, the last
    word of `argv`."""
    argv = [*argv[:-1], *NO_PRELOADING, argv[-1]]
    try:
        answer = run_tethered(argv, timeout_s=30, env=scanning(scan_dir))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DynoError(f"this {kind} does not run: {error}", where=argv[0]) from error
    output, errors = answer.stdout.decode(errors="replace"), answer.stderr.decode(errors="replace")
    if answer.returncode != 0:
        lines = (errors or output).strip().splitlines() or ["no output"]
        raise DynoError(f"this is not a working {kind}: {lines[-1]}", where=argv[0])
    return output


def inspect_php(
    fpm: str, extension_dir: str | None = None, *, cli: bool = False, options: Sequence[str] = (), scan_dir: str | None = None
) -> PhpBuild:
    """Version, build id and the php.ini names that this php-fpm (or command-line PHP) knows. Raises
    DynoError when it is none or fails."""
    kind, mark = ("command-line PHP", "Command Line Interface") if cli else ("php-fpm", "FPM")
    if not Path(fpm).is_file():
        raise DynoError(f"there is no such {kind}", where=fpm, next_step=f"give the path of a {kind} binary with php=PATH")
    place = [] if extension_dir is None else ["-d", f"extension_dir={extension_dir}"]
    told = _told([fpm, *place, *options, "-i"], scan_dir, kind)
    api = re.search(r"^Server API => (.*)$", told, re.MULTILINE)
    if api and mark not in api[1]:
        raise DynoError(f"this is not a {kind}: its server API is {api[1]}", where=fpm, next_step=f"name a {kind} with php=PATH")
    version = re.search(r"^PHP Version => (\S+)", told, re.MULTILINE)
    if version is None or api is None:
        raise DynoError(f"this is not a working {kind}: {(told.strip().splitlines() or ['no output'])[-1]}", where=fpm)
    names = sorted({*_INI_LINE.findall(told), "zend_extension", "extension"})
    return PhpBuild(
        fpm=str(Path(fpm).resolve()),
        version=version[1],
        extension_dir=extension_dir,
        build_id=read_build_id(Path(fpm)),
        ini_names=tuple(names),
        preload=_preload_in(_files_in(told)),
        disabled=_value_in(told, "disable_functions"),
        fence=_value_in(told, "open_basedir"),
    )


def _value_in(told: str, name: str) -> str:
    """A setting in the output of -i, which shows it twice: as it is here, and everywhere."""
    found = re.search(rf"^{re.escape(name)} => (.*) => \1$", told, re.MULTILINE)
    return "" if found is None or found[1] == "no value" else found[1]


def read_build_id(binary: Path) -> str:
    """The GNU build id of an ELF file in hexadecimal; '' where it has none."""
    data = read_led(binary)[: 1 << 16]
    at = data.find(b"GNU\0")
    while at >= 12:
        name_size, size, kind = struct.unpack_from("<III", data, at - 12)
        if name_size == 4 and kind == _NT_GNU_BUILD_ID:
            return data[at + 4 : at + 4 + size].hex()
        at = data.find(b"GNU\0", at + 1)
    return ""
