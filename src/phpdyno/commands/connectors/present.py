"""What of the clients and engines of others is here: asked of the PHPs themselves."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from phpdyno.commands.connectors.clients import THREADS, Here
from phpdyno.errors import UsageError
from phpdyno.php_build.source.installed import modules_of
from phpdyno.servers.placement import ini_options, loading
from phpdyno.servers.programs.php import inspect_php, read_traits
from phpdyno.session.builds import place_of_build

CLI_BESIDE = "php"
"""The command-line PHP of a finished build, beside its php-fpm."""


def divided_zts(given: Sequence[str]) -> tuple[str, list[str]]:
    """The PHP for threads that is given, a path or the name of a build ('' for none), and all else
    that is."""
    start = f"{THREADS}="
    named = [text.removeprefix(start) for text in given if text.startswith(start)]
    return named[-1] if named else "", [text for text in given if not text.startswith(start)]


def look_around(php: str, paths: Mapping[str, Path], *, zts: str = "") -> Here:
    """What rows can have, with the run's PHP and what was given by paths; `zts` is a PHP for
    threads, its path or the name of a build.

    Raises UsageError where that is none, DynoError.
    """
    settings = _of_threads(zts) if zts else {}
    built_in_zts = _abilities(settings) if settings else frozenset[str]()
    if settings and THREADS not in built_in_zts:
        how = "build one with: phpdyno build --train hello --standalone --zts"
        raise UsageError("this PHP is not built for threads", where=f"--with {THREADS}={zts}", next_step=how)
    return Here(dict(paths), _abilities({"php": php}), built_in_zts, settings)


def _of_threads(named: str) -> dict[str, str]:
    path = Path(named).expanduser().absolute()
    if path.is_file():
        return {"php": str(path)}
    if "/" in named:
        what = "there is no such file"
        raise UsageError(what, where=f"--with {THREADS}={named}", next_step="name a command-line PHP, or a build of phpdyno build --list")
    settings = place_of_build(named)
    return {**settings, "php": str(Path(settings["php"]).with_name(CLI_BESIDE))}


def _abilities(settings: Mapping[str, str]) -> frozenset[str]:
    options, scan_dir = ini_options(settings)
    asked = (*options, *loading(settings))
    php, place = settings["php"], settings.get("php.extension_dir")
    inspect_php(php, place, cli=True, options=asked, scan_dir=scan_dir)
    extensions = modules_of(php, place or "", options=asked, scan_dir=scan_dir)
    threads = read_traits(php, place, options=asked, scan_dir=scan_dir).threads
    return frozenset({name.lower() for name in extensions} | ({THREADS} if threads else set()))
