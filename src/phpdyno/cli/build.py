"""`phpdyno build`: options checked, built, shown."""

import sys
from pathlib import Path

from msgspec import Struct, json, structs
from rich.console import Console
from rich.table import Table

from phpdyno.build.added import parse_added
from phpdyno.build.training import Course
from phpdyno.build.workshop import finished_builds
from phpdyno.cli.live import LiveProgress
from phpdyno.cli.options import GroundOptions, RequestOptions
from phpdyno.cli.requests import own_requests
from phpdyno.cli.units import checked_seed, seconds
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import UsageError
from phpdyno.model.build import Build
from phpdyno.report.build_view import taught_words
from phpdyno.report.words import duration
from phpdyno.workflows.build import Made, Wanted, build, package, refresh
from phpdyno.workflows.build_ground import Foundation
from phpdyno.workflows.build_site import LOGS, Trainee, parse_trainee

NO_EXTENSIONS = "none"


class Options(Struct, frozen=True):
    """The options of the command as they were typed."""

    train: tuple[str, ...]
    ground: GroundOptions
    requests: RequestOptions
    recipe: str
    training: str
    seed: int
    runs: Path
    listed: bool
    refresh: bool
    package: Path | None
    run_tests: bool
    json: bool


class Listed(Struct, frozen=True):
    """A build as JSON shows it."""

    directory: str
    build: Build
    package: str = ""


def run(options: Options) -> int:
    """Carry out the command."""
    if options.listed:
        return _show([Listed(str(place), each) for place, each in finished_builds()], as_json=options.json)
    if options.refresh and options.train:
        raise UsageError("builds are made anew for the apps that they were trained on", where="--refresh", next_step="leave --train out")
    checked_seed(options.seed)
    logs = options.runs.absolute() / LOGS
    if options.refresh:
        with LiveProgress(Console(stderr=True), quiet=options.json, notes="") as progress:
            made = refresh(options.ground.like, logs=logs, progress=progress)
    else:
        wanted = wanted_of(options, Console(stderr=True))
        with LiveProgress(Console(stderr=True), quiet=options.json, notes="") as progress:
            made = [build(wanted, logs=logs, progress=progress)]
    return _show([_listed(each, options, logs) for each in made], as_json=options.json)


def wanted_of(options: Options, console: Console) -> Wanted:
    """What is to be built; requests of a log are told of. Raises UsageError."""
    course = Course(seconds=seconds(options.training, option="--training"), seed=options.seed)
    trainees, foundation = trainees_of(options.train), foundation_of(options.ground)
    recipe = parse_recipe(options.recipe)
    if options.requests.given:
        if len(trainees) > 1:
            raise UsageError("requests of a file are those of one app", where=options.requests.given, next_step="train on one at a time")
        own = own_requests(options.requests, console)
        trainees = (structs.replace(trainees[0], workload=own.workload, requests=own.file),)
    return Wanted(trainees, recipe, foundation, course, options.run_tests)


def foundation_of(ground: GroundOptions) -> Foundation:
    """What the options say is built of. Raises UsageError."""
    if ground.checksum and ground.source is None:
        raise UsageError("a checksum belongs to --source", where=f"--checksum {ground.checksum}", next_step="name the tarball")
    source = ground.source.expanduser().absolute() if ground.source else None
    named = None if not ground.extension else () if ground.extension == (NO_EXTENSIONS,) else ground.extension
    return Foundation(ground.like, source, ground.checksum, ground.standalone, named, parse_added(ground.with_extension), ground.zts)


def trainees_of(texts: tuple[str, ...], *, where: str = "--train") -> tuple[Trainee, ...]:
    """The apps that train. Raises UsageError: none, one twice."""
    if not texts:
        raise UsageError("a build needs an app to be tried and trained on", where=where, next_step="give one, for instance wordpress")
    found = tuple(parse_trainee(text) for text in texts)
    names = [each.reference for each in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{twice[0]} is named twice", where=where, next_step="give one of them a weight: APP=3")
    return found


def _listed(made: Made, options: Options, logs: Path) -> Listed:
    place, finished = made
    packed = str(package(made, options.package.absolute(), logs=logs)) if options.package else ""
    return Listed(str(place), finished, packed)


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
        good = sum(check.ok for check in made.checks)
        checks = f"{good} of {len(made.checks)}"
        table.add_row(made.name, made.php_version, made.like or "–", taught_words(made) or "–", checks, duration(made.seconds))
    console.print(table)
    for each in found:
        for step, why in each.build.skipped.items():
            console.print(f"{each.build.name}: without {step}: {why}", soft_wrap=True, markup=False, highlight=False)
        console.print(f"use it: build={each.build.name}", soft_wrap=True, markup=False, highlight=False)
        console.print(f"its php-fpm: {each.directory}/php-fpm", soft_wrap=True, markup=False, highlight=False)
        if each.package:
            console.print(f"package: {each.package}", soft_wrap=True, markup=False, highlight=False)
    return 0
