"""What a manifest may say: where a file of each kind goes, with which mode, and which php-fpm it is
for. Pure.

A manifest is input from elsewhere, and apply works as root. So all that it names is one of a list
or has a pattern: what `division` and `making` write, and nothing else.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from phpdyno.bundle.manifest import Kind, Manifest, PhpPlace, ShippedFile
from phpdyno.bundle.write.division import BEFORE_WORKERS
from phpdyno.errors import UsageError
from phpdyno.php_build.compile.dropin import EXTENSIONS

MODES = (0o644, 0o640, 0o600, 0o444, 0o440, 0o400)
"""Mode bits of a configuration file: nobody executes it, and its owner alone writes it."""
PRELOAD_FILE = "phpdyno-preload.php"
SECRET_PLACES = ("/var/lib/phpdyno", "/proc", "/sys", "/dev")
"""Where no bundle places anything."""
AS_MADE = "make a bundle of this version with phpdyno tune, or place its files by hand"

_FIXED: dict[Kind, str] = {"nginx": "/etc/nginx/conf.d", "sysctl": "/etc/sysctl.d"}
_SUFFIX: dict[Kind, str] = {"ini": ".ini", "preload": PRELOAD_FILE}
_MODE = re.compile(r"0?[0-7]{3}")
_PACKAGED = r"/usr/lib/phpdyno/[\w.+-]+"
_PREFIX = r"/(?:etc|usr/local|opt)(?:/[\w.+-]+)*?"
_INI_DIR = re.compile(
    rf"(?!.*/(?:cli|apache2|cgi|phpdbg|embed)/){_PREFIX}/(?:(?:ea-)?php[\w.-]*/(?:[\w.+-]+/)*conf\.d|php[\w.-]*\.d)|{_PACKAGED}/ini"
)
_POOL_DIR = re.compile(rf"{_PREFIX}/(?:php[\w.-]*/(?:[\w.+-]+/)*(?:pool|fpm)\.d|php[\w.-]*fpm[\w.-]*\.d)")
_CONFIG = re.compile(r"/(?:|usr/local/|opt/(?:[\w.+-]+/)+)etc/(?:[\w.+-]+/)*[\w.+-]+\.conf")
_UNIT = re.compile(r".*(?:php|fpm).*", re.IGNORECASE)
_FIELDS: dict[str, tuple[re.Pattern[str], str]] = {
    "version": (re.compile(r"\d+\.\d+\.\d+[\w.+~-]*"), "version of PHP"),
    "executable": (re.compile(r"/(?:[^/]+/)*[\w.+-]*fpm[\w.+-]*"), "path of a php-fpm"),
    "config": (re.compile(r"/.+"), "path of a configuration file"),
    "ini_dir": (re.compile(r"|/.+"), "directory of ini files"),
    "pool_dir": (re.compile(r"/.+"), "directory of pools"),
    "pool_file": (re.compile(r"|/.+"), "path of a pool's file"),
    "pool": (re.compile(r"\w[\w.@:+ -]*"), "name of a pool"),
    "unit": (re.compile(r"[A-Za-z0-9_][A-Za-z0-9:_.\\@-]*"), "name of a systemd service"),
    "user": (re.compile(r"|\w[\w.@\\-]*\$?"), "name of an account"),
    "live": (re.compile(r"|[\w.@:+][\w.@:+ -]*(?:/[\w.@:+ -]+)?"), "name of a running pool"),
}
_PATHS = ("executable", "config", "ini_dir", "pool_dir", "pool_file")
_DEFINED = re.compile(r"\w[\w.-]*")
_OWN_EXTENSIONS = re.compile(rf"extension_dir={_PACKAGED}/{EXTENSIONS}")
_ALONE = ("-n", "--no-php-ini")
_READS = ("-c", "--php-ini", "-p", "--prefix", "-y", "--fpm-config")


def check_places(manifest: Manifest, *, where: str) -> None:
    """Raises UsageError for a target, a mode, or something of the php-fpm that no bundle of ours
    would name."""
    _check_php(manifest.php, where)
    for based in manifest.based_on:
        if not based.target.isprintable():
            raise UsageError(f"{based.target!r} is no path of a configuration file", where=where, next_step=AS_MADE)
    targets = [each.target for each in manifest.files]
    for each in manifest.files:
        _check_target(each, manifest.php, where)
        if targets.count(each.target) > 1:
            raise UsageError(f"two files for {each.target}", where=where, next_step=AS_MADE)
        if mode_bits(each.mode) is None:
            known = ", ".join(f"{mode:04o}" for mode in MODES)
            raise UsageError(f"{each.mode!r} are no mode bits of a configuration file", where=where, next_step=f"they are: {known}")


def mode_bits(text: str) -> int | None:
    """Octal mode bits of a configuration file; None for any other text."""
    return int(text, 8) if _MODE.fullmatch(text) and int(text, 8) in MODES else None


def unusual(manifest: Manifest) -> dict[str, str]:
    """What of the php-fpm's places is used and not like those of any distribution, in words, by the
    name of its field.

    Such places are an operator's own: a pool that runs has to say that they are.
    """
    kinds, php = {each.kind for each in manifest.files}, manifest.php
    usual: dict[str, tuple[bool, Callable[[str], object], str]] = {
        "ini_dir": ("ini" in kinds, _INI_DIR.fullmatch, "directory of PHP's ini files"),
        "pool_dir": (not kinds.isdisjoint({"pool-first", "pool-last"}), _POOL_DIR.fullmatch, "directory of php-fpm's pools"),
        "config": ("preload" in kinds, _CONFIG.fullmatch, "configuration of php-fpm"),
        "unit": (bool(kinds - {"nginx"}), _UNIT.fullmatch, "service of php-fpm"),
    }
    return {name: words for name, (used, fits, words) in usual.items() if used and not fits(getattr(php, name))}


def read_by(php: PhpPlace) -> tuple[str, ...]:
    """Paths of files and directories that php-fpm is told to read when it tests its
    configuration."""
    told = [value for option, value in _options(php.options) if option in _READS]
    return (*told, *(part for part in php.scan_dir.split(":") if part))


def _check_target(each: ShippedFile, php: PhpPlace, where: str) -> None:
    target, place = each.target, _home(each.kind, php)
    if not _is_path(target) or any(PurePosixPath(target).is_relative_to(other) for other in SECRET_PLACES):
        raise UsageError(f"nothing may be placed at {target!r}", where=where, next_step=AS_MADE)
    name, suffix = PurePosixPath(target).name, _SUFFIX.get(each.kind, ".conf")
    fits = name == suffix if each.kind == "preload" else name.endswith(suffix) and name != suffix
    if str(PurePosixPath(target).parent) != place or not fits:
        what = f"nothing of the kind {each.kind} may be placed at {target!r}"
        pattern = suffix if each.kind == "preload" else f"*{suffix}"
        raise UsageError(what, where=where, next_step=f"its place is {place or 'no directory'}/{pattern}; {AS_MADE}")
    if each.kind == "systemd":
        _check_variables(each, where)


def _home(kind: Kind, php: PhpPlace) -> str:
    """The one directory for files of a kind; '' where there is none."""
    if kind == "ini":
        return php.ini_dir
    if kind == "preload":
        return str(PurePosixPath(php.config).parent)
    if kind == "systemd":
        return f"/etc/systemd/system/{php.unit}.service.d"
    return _FIXED.get(kind, php.pool_dir)


def _check_variables(each: ShippedFile, where: str) -> None:
    """Those of a service are known ones: apply tests php-fpm with them."""
    for name in each.settings:
        layer, _, rest = name.partition(".")
        if layer != "env" or not BEFORE_WORKERS.fullmatch(rest):
            raise UsageError(f"{name} is no variable of php-fpm's service", where=f"{where}: {each.path}", next_step=AS_MADE)


def _check_php(php: PhpPlace, where: str) -> None:
    for name, (pattern, words) in _FIELDS.items():
        value = getattr(php, name)
        odd = name in _PATHS and value and not _is_path(value)
        if odd or not value.isprintable() or not pattern.fullmatch(value):
            raise UsageError(f"{value!r} is no {words}", where=f"{where}: php.{name}", next_step=AS_MADE)
    for part in php.scan_dir.split(":"):
        if part and not _is_path(part.rstrip("/")):
            raise UsageError(f"{part!r} is no directory of ini files", where=f"{where}: php.scan_dir", next_step=AS_MADE)
    for part in php.defined:
        if not _DEFINED.fullmatch(part):
            raise UsageError(f"{part!r} is no name of a php.ini setting", where=f"{where}: php.defined", next_step=AS_MADE)
    for option, value in _options(php.options):
        own = option == "-d" and _OWN_EXTENSIONS.fullmatch(value)
        if not own and option not in _ALONE and not (option in _READS and _is_path(value)):
            shown = f"{option} {value}".strip()
            what = f"php-fpm is not tested with {shown!r}"
            known = f"{', '.join((*_ALONE[:1], *_READS))} and the extension_dir of a packaged build are what may stand there"
            raise UsageError(what, where=f"{where}: php.options", next_step=f"{known}; {AS_MADE}")


def _options(options: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each option with its value, '' for one without."""
    rest = list(options)
    while rest:
        option = rest.pop(0)
        takes = option in _READS or option == "-d"
        yield option, rest.pop(0) if takes and rest else ""


def _is_path(text: str) -> bool:
    """Whether it is an absolute path as it would be written: no doubled slash, no dots, nothing
    that cannot be seen."""
    pure = PurePosixPath(text)
    return pure.is_absolute() and ".." not in pure.parts and str(pure) == text and len(pure.parts) > 2 and text.isprintable()
