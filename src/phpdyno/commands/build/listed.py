"""Finished builds as they are listed, and what a shell starts one with."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from rich.table import Table

from phpdyno.bundle.manifest import PROGRAM
from phpdyno.commands.build.training_stack import OWN_PLACE
from phpdyno.commands.build.words import missing_words, taught_words
from phpdyno.model.build import Build, BuildCheck
from phpdyno.report.terminal_parts import inert
from phpdyno.report.words import duration
from phpdyno.servers.placement import ini_options, loading
from phpdyno.session.builds import settings_of_build


class Listed(Struct, frozen=True):
    """A build as JSON shows it."""

    directory: str
    build: Build
    package: str = ""


def wrong_in(build: Build) -> tuple[BuildCheck, ...]:
    """Checks of a build that found something wrong."""
    return tuple(check for check in build.checks if not check.ok)


def started(place: Path, build: Build) -> str:
    """Give what a shell starts the php-fpm of a finished build with, so that it finds its
    extensions, reads its php.ini, and knows what only the distribution's knows. Of conf.d one that
    stands alone has nothing then: that loads extensions which it has in itself."""
    settings = settings_of_build(place, build)
    options, scan_dir = ini_options(settings)
    given = {OWN_PLACE: settings["php.extension_dir"], **build.places}
    told = [word for name, value in given.items() for word in ("-d", f"{name}={value}")]
    words = (settings[PROGRAM], *told, *options, *loading(settings))
    return f"{'PHP_INI_SCAN_DIR= ' if scan_dir == '' else ''}{shlex.join(words)}"


def cells(each: Listed) -> tuple[str, ...]:
    """Name, PHP, what it stands in for, what trained it, its checks, and the time that it took."""
    made = each.build
    good = f"{sum(check.ok for check in made.checks)} of {len(made.checks)}"
    of = f"{Path(made.like).name or '–'}{'*' if made.measuring_only else ''}"
    return made.name, made.php_version, of, taught_words(made) or "–", good, duration(made.seconds)


def listing(found: Sequence[Listed]) -> Table:
    """A row for each build."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("build", "PHP", "of", "trained on", "checks", "took"):
        table.add_column(name, overflow="fold", no_wrap=name == "build")
    for each in found:
        table.add_row(*map(inert, cells(each)))
    return table


def lines_below(found: Sequence[Listed]) -> Iterator[str]:
    """Tell below the rows what is missing or wrong in each, and how it is used."""
    if any(each.build.measuring_only for each in found):
        yield "* for measuring only: it is no drop-in of the PHP that is installed now"
    for each in found:
        yield from missing_words(each.build.name, each.build.skipped)
        yield from (f"{each.build.name}: {check.name}: {check.seen}" for check in wrong_in(each.build))
        yield f"use it: build={each.build.name}"
        yield f"it is in: {each.directory}"
