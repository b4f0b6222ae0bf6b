"""`phpdyno build`: options checked, built, shown."""

import sys
from pathlib import Path

from msgspec import Struct, json
from rich.console import Console
from rich.table import Table

from phpdyno.apps.source import silent
from phpdyno.build.dropin import php_of
from phpdyno.build.training import Course
from phpdyno.build.workshop import Workshop
from phpdyno.cli.live import LiveProgress
from phpdyno.cli.units import checked_seed, seconds
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import UsageError
from phpdyno.model.build import Build
from phpdyno.paths import cache_path
from phpdyno.report.words import duration
from phpdyno.workflows.build import Wanted, build


class Options(Struct, frozen=True):
    """The options of the command as they were typed."""

    train: str
    like: str
    recipe: str
    training: str
    seed: int
    runs: Path
    listed: bool
    json: bool


class Listed(Struct, frozen=True):
    """A build as JSON shows it."""

    directory: str
    build: Build


def run(options: Options) -> int:
    """Carry out the command."""
    if options.listed:
        return _show([Listed(str(place), each) for place, each in Workshop(cache_path(), silent).builds()], as_json=options.json)
    if not options.train:
        raise UsageError(
            "a build needs an app to be tried and trained on", where="--train", next_step="give one, for instance --train wordpress"
        )
    checked_seed(options.seed)
    recipe = parse_recipe(options.recipe)
    course = Course(seconds=seconds(options.training, option="--training"), seed=options.seed)
    with LiveProgress(Console(stderr=True), quiet=options.json, notes="") as progress:
        place, made = build(
            Wanted(options.train, recipe, options.like, course), logs=options.runs.absolute() / "build-logs", progress=progress
        )
    return _show([Listed(str(place), made)], as_json=options.json)


def _show(found: list[Listed], *, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(json.format(json.encode(found), indent=2).decode() + "\n")
        return 0
    console = Console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("build", "PHP", "of", "trained on", "checks", "took"):
        table.add_column(name, overflow="fold")
    for each in found:
        made = each.build
        taught = f"{made.lesson.app}, {made.lesson.requests} requests" if made.lesson else "–"
        good = sum(check.ok for check in made.checks)
        table.add_row(made.name, made.php_version, made.like or "–", taught, f"{good} of {len(made.checks)}", duration(made.seconds))
    console.print(table)
    for each in found:
        for step, why in each.build.skipped.items():
            console.print(f"{each.build.name}: without {step}: {why}", soft_wrap=True, markup=False, highlight=False)
        php = php_of(Path(each.directory))
        spec = f"php={php['fpm']};php.extension_dir={php['extension_dir']}"
        console.print(f"use it: {spec}", soft_wrap=True, markup=False, highlight=False)
    return 0
