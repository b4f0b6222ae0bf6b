"""`phpdyno build`: options checked, built, shown."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, json, structs
from rich.console import Console
from rich.table import Table

from phpdyno.bundle.manifest import PROGRAM
from phpdyno.commands.build.builder import LOGS, Trainee, parse_trainee
from phpdyno.commands.build.options import BuildOptions
from phpdyno.commands.build.refresh import refresh
from phpdyno.commands.build.run import BuildRequest, Made, build, directory_for, of_one_package, package, refuse_failed, refuse_outdated
from phpdyno.commands.build.sources import SourceRequest
from phpdyno.commands.build.training_stack import OWN_PLACE
from phpdyno.commands.build.words import missing_words, taught_words
from phpdyno.commands.common.app_source import absolute_reference
from phpdyno.commands.common.live import LiveProgress, print_line
from phpdyno.commands.common.options import RECIPE, BuildSourceOptions
from phpdyno.commands.common.requests import own_requests
from phpdyno.commands.common.units import checked_seed, seconds
from phpdyno.config.recipe import parse_recipe
from phpdyno.config.values import absolute
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.lock import holding_on
from phpdyno.model.build import Build, BuildCheck
from phpdyno.php_build.package.texts import unhardened
from phpdyno.php_build.source.added_extensions import parse_added
from phpdyno.php_build.train.training import TrainingLength
from phpdyno.php_build.workshop import finished_builds, named_build
from phpdyno.report.terminal_parts import inert
from phpdyno.report.words import duration
from phpdyno.servers.placement import ini_options, loading
from phpdyno.session.builds import settings_of_build
from phpdyno.session.run_directory import check_place

NO_EXTENSIONS = "none"


class Listed(Struct, frozen=True):
    """A build as JSON shows it."""

    directory: str
    build: Build
    package: str = ""


def run(options: BuildOptions) -> int:
    """Carry out the command."""
    if options.listed:
        _refuse_beside_listing(options)
        return _show([Listed(str(place), each) for place, each in finished_builds()], as_json=options.json, listed=True)
    if options.refresh:
        _refuse_other_options(options)
    checked_seed(options.seed)
    logs = check_place(options.runs.absolute()) / LOGS
    if options.finished and not options.refresh:
        return _package_finished(options, logs)
    wanted = None if options.refresh else wanted_of(options, Console(stderr=True))
    into = directory_for(options.package) if options.package else None
    with holding_on():
        with LiveProgress(Console(stderr=True), quiet=options.json, notes="") as progress:
            if wanted is None:
                made, failed = refresh(options.build_source.like, only=options.finished, logs=logs, progress=progress)
            else:
                made, failed = [build(wanted, logs=logs, progress=progress)], []
        packed, unpacked = _packed(made, into, logs) if into else ({}, [])
    _show([Listed(str(place), each, packed.get(place, "")) for place, each in made], as_json=options.json)
    # With --json nothing was said on the way.
    for each in (*(failed if options.json else ()), *unpacked):
        print_line(Console(stderr=True), each)
    return 1 if failed or unpacked or any(wrong_in(each) for _, each in made) else 0


def _packed(made: Sequence[Made], into: Path, logs: Path) -> tuple[dict[Path, str], list[str]]:
    """The packages of builds, by their directories, and why others have none: what PHP's own tests
    find wrong deploys nowhere, and of two that are one package the later one would win."""
    wrong = [each.name for _, each in made if wrong_in(each)]
    several = of_one_package([each for _, each in made if not wrong_in(each)])
    why = [f"not packaged: {', '.join(wrong)}"] if wrong else []
    why += [f"not packaged: {' and '.join(names)} would be one package, {name}: package one by its name" for name, names in several.items()]
    left = {*wrong, *(name for names in several.values() for name in names)}
    packed: dict[Path, str] = {}
    for place, each in made:
        if each.name not in left:
            try:
                packed[place] = str(package((place, each), into, logs=logs))
            except DynoError as error:
                why.append(f"{each.name} is not packaged: {error}")
    return packed, why


def wrong_in(build: Build) -> tuple[BuildCheck, ...]:
    """Checks of a build that found something wrong."""
    return tuple(check for check in build.checks if not check.ok)


def _refuse_other_options(options: BuildOptions) -> None:
    """Builds are made anew by their own recipes, for their own apps. Raises UsageError."""
    build_source = BuildSourceOptions(like=options.build_source.like)
    alone = BuildOptions(
        refresh=True, build_source=build_source, runs=options.runs, package=options.package, json=options.json, finished=options.finished
    )
    if options != alone:
        what = "builds are made anew as they were made, for the apps that they were made for"
        raise UsageError(what, where="--refresh", next_step="leave all other options out but --like, --package, --runs and --json")
    if options.finished and options.build_source.like:
        raise UsageError(
            "a build has its own php-fpm", where=f"--like {options.build_source.like}", next_step=f"leave it out, or {options.finished}"
        )


def _refuse_beside_listing(options: BuildOptions) -> None:
    """Raises UsageError."""
    if options != BuildOptions(listed=True, json=options.json, runs=options.runs):
        raise UsageError(
            "--list shows what is there, and does nothing else", where="--list", next_step="leave all other options out but --json"
        )


def _package_finished(options: BuildOptions, logs: Path) -> int:
    alone = BuildOptions(finished=options.finished, package=options.package, runs=options.runs, json=options.json)
    if options.package is None or options != alone:
        what = "a finished build is packaged as it is"
        step = f"write: phpdyno build {options.finished} --package DIR; to build for an app: phpdyno build --train {options.finished}"
        raise UsageError(what, where=options.finished, next_step=step)
    place, made = named_build(options.finished)
    refuse_outdated((place, made))
    refuse_failed((place, made))
    packed = package((place, made), directory_for(options.package), logs=logs)
    return _show([Listed(str(place), made, str(packed))], as_json=options.json)


def wanted_of(options: BuildOptions, console: Console) -> BuildRequest:
    """What is to be built; requests of a log are told of. Raises UsageError."""
    training_length = TrainingLength(seconds=seconds(options.training, option="--training"), seed=options.seed)
    trainees = trainees_of(options.train)
    foundation = structs.replace(foundation_of(options.build_source), to_be_kept=options.package is not None)
    recipe = parse_recipe(options.recipe or RECIPE)
    if options.requests.way:
        raise UsageError("an app is trained as it says itself", where=options.requests.way, next_step="write it into its app.toml")
    if options.requests.given:
        if len(trainees) > 1:
            raise UsageError("requests of a file are those of one app", where=options.requests.given, next_step="train on one at a time")
        own = own_requests(options.requests, console)
        trainees = (structs.replace(trainees[0], workload=own.workload, requests=own.file),)
    return BuildRequest(trainees, recipe, foundation, training_length, options.run_tests)


def foundation_of(build_source: BuildSourceOptions) -> SourceRequest:
    """What the options say is built of. Raises UsageError."""
    if build_source.checksum and build_source.source is None:
        raise UsageError("a checksum belongs to --source", where=f"--checksum {build_source.checksum}", next_step="name the tarball")
    source = absolute(Path(), str(build_source.source), where="--source") if build_source.source else None
    named = None if not build_source.extension else () if build_source.extension == (NO_EXTENSIONS,) else build_source.extension
    return SourceRequest(
        like=build_source.like,
        source=source,
        checksum=build_source.checksum,
        alone=build_source.standalone,
        extensions=named,
        added=parse_added(build_source.with_extension),
        zts=build_source.zts,
    )


def trainees_of(texts: tuple[str, ...], *, where: str = "--train") -> tuple[Trainee, ...]:
    """The apps that train, so named that they are found from anywhere. Raises UsageError: none, one
    twice."""
    if not texts:
        raise UsageError("a build needs an app to be tried and trained on", where=where, next_step="give one, for instance wordpress")
    parsed = (parse_trainee(text) for text in texts)
    found = tuple(structs.replace(each, reference=absolute_reference(each.reference)) for each in parsed)
    names = [each.reference for each in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{twice[0]} is named twice", where=where, next_step="give one of them a weight: APP=3")
    return found


def started(place: Path, build: Build) -> str:
    """What a shell starts the php-fpm of a finished build with, so that it finds its extensions,
    reads its php.ini, and knows what only the distribution's knows. Of conf.d one that stands alone
    has nothing then: that loads extensions which it has in itself."""
    settings = settings_of_build(place, build)
    options, scan_dir = ini_options(settings)
    given = {OWN_PLACE: settings["php.extension_dir"], **build.places}
    told = [word for name, value in given.items() for word in ("-d", f"{name}={value}")]
    words = (settings[PROGRAM], *told, *options, *loading(settings))
    return f"{'PHP_INI_SCAN_DIR= ' if scan_dir == '' else ''}{shlex.join(words)}"


def _stands_in_for(build: Build) -> str:
    """`php-fpm8.2`; that of a pair lies in the cache, where nobody looks for it."""
    return f"{Path(build.like).name or '–'}{', for measuring only' if build.measuring_only else ''}"


def _show(found: list[Listed], *, as_json: bool, listed: bool = False) -> int:
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
        cells = (made.name, made.php_version, _stands_in_for(made), taught_words(made) or "–", checks, duration(made.seconds))
        table.add_row(*map(inert, cells))
    console.print(table)
    for each in found:
        for missing in missing_words(each.build.name, each.build.skipped):
            print_line(console, missing)
        for check in wrong_in(each.build):
            print_line(console, f"{each.build.name}: {check.name}: {check.seen}")
        print_line(console, f"use it: build={each.build.name}")
        where = f"it is in: {each.directory}" if listed else f"its php-fpm: {started(Path(each.directory), each.build)}"
        print_line(console, where)
        if each.package:
            print_line(console, f"package: {each.package}")
            print_line(console, f"before you deploy it: {unhardened(each.build)}")
    return 0
