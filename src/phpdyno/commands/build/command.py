"""`phpdyno build`: options checked, built, shown."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import json, structs
from rich.console import Console

from phpdyno.commands.build.answer import build_answer
from phpdyno.commands.build.builder import LOGS, Trainee, parse_trainee
from phpdyno.commands.build.listed import Listed, lines_below, listing, wrong_in
from phpdyno.commands.build.options import BuildOptions
from phpdyno.commands.build.refresh import refresh
from phpdyno.commands.build.run import BuildRequest, Made, build, directory_for, of_one_package, package, refuse_failed, refuse_outdated
from phpdyno.commands.build.sources import SourceRequest
from phpdyno.commands.common.app_source import absolute_reference
from phpdyno.commands.common.live import LiveProgress, print_line
from phpdyno.commands.common.options import RECIPE, BuildSourceOptions
from phpdyno.commands.common.requests import own_requests
from phpdyno.commands.common.show import print_answer
from phpdyno.commands.common.units import checked_seed, seconds
from phpdyno.config.recipe import parse_recipe
from phpdyno.config.values import absolute
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.lock import holding_on
from phpdyno.php_build.source.added_extensions import parse_added
from phpdyno.php_build.train.training import TrainingLength
from phpdyno.php_build.workshop import finished_builds, named_build
from phpdyno.session.run_directory import check_place

NO_EXTENSIONS = "none"


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
    app = shlex.quote(options.train[0].partition("=")[0]) if options.train else ""
    _show([Listed(str(place), each, packed.get(place, "")) for place, each in made], as_json=options.json, app=app)
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


def _show(found: list[Listed], *, as_json: bool, listed: bool = False, app: str = "") -> int:
    """Print builds: all that there are, or those that were made just now, trained on `app`."""
    if as_json:
        sys.stdout.write(json.format(json.encode(found), indent=2).decode() + "\n")
    elif listed:
        console = Console()
        console.print(listing(found))
        for line in lines_below(found):
            print_line(console, line)
    elif found:
        print_answer(build_answer(found, app))
    return 0
