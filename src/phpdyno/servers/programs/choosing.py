"""Which of several PHPs beside each other is meant: named by its version or its program, else the
newest, which is said."""

import re
import shutil
from pathlib import Path

from phpdyno.errors import UsageError
from phpdyno.servers.programs.finding import package_of, program_path, version_key

_SERIES = re.compile(r"(?:php-fpm|php)?(\d+)\.(\d+)")
_FPM, _CLI = re.compile(r"php-fpm(\d+\.\d+)"), re.compile(r"php(\d+\.\d+)")


def installed_phps(*, cli: bool = False) -> dict[str, str]:
    """The path of each php-fpm (or command-line PHP) whose name has its version in it, newest
    first: `{"8.4": "/usr/sbin/php-fpm8.4"}`."""
    kind = _CLI if cli else _FPM
    found: dict[str, str] = {}
    for place in filter(None, program_path().split(":")):
        for name in _listed(place):
            named = kind.fullmatch(name)
            path = f"{place}/{name}"
            if named and shutil.which(path):
                found.setdefault(named[1], path)
    return dict(sorted(found.items(), key=lambda one: version_key(one[0]), reverse=True))


def named_php(name: str, *, cli: bool = False) -> str:
    """The path of the PHP that `8.4`, `php-fpm8.4` or `php8.4` stands for. Raises UsageError with
    those that are there."""
    series = _SERIES.fullmatch(name)
    if series is None:
        return name
    version = f"{series[1]}.{series[2]}"
    there = installed_phps(cli=cli)
    if version in there:
        return there[version]
    program = f"php{version}" if cli else f"php-fpm{version}"
    # As Alpine and others call it. That it is of this version is asked later.
    other = shutil.which(program.replace(".", ""), path=program_path())
    if other:
        return other
    known = f"installed are {', '.join(there)}: write for instance php={next(iter(there))}" if there else "none is installed"
    raise UsageError(f"there is no {program} here", where=f"php={name}", next_step=f"{known}; {package_of(program)} would bring it")


def others_beside(path: str, *, cli: bool = False) -> str:
    """A note for where this PHP was taken unasked and others are installed: `PHP 8.4 is measured,
    the newest of 8.4 and 8.3; php=8.3 in a SPEC measures another one`. Empty where it is alone."""
    there = installed_phps(cli=cli)
    mine = next((version for version, each in there.items() if Path(each).resolve() == Path(path).resolve()), "")
    rest = [version for version in there if version != mine]
    if not mine or not rest:
        return ""
    return f"PHP {mine} is measured, the newest of {_joined([mine, *rest])}; php={rest[0]} in a SPEC or --control measures another one"


def _joined(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _listed(place: str) -> list[str]:
    """The names in a directory; none where it cannot be read."""
    try:
        return [each.name for each in Path(place).iterdir()]
    except OSError:
        return []
