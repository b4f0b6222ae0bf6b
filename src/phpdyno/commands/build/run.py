"""phpdyno build: the PHP that is there, rebuilt for an app or several."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from phpdyno.commands.build.builder import Trainee, open_build_session, refuse_unknown
from phpdyno.commands.build.sources import SourceRequest
from phpdyno.commands.build.training_stack import PLACES
from phpdyno.config.values import absolute
from phpdyno.errors import DynoError
from phpdyno.experiment.common.progress import Progress
from phpdyno.host.lock import MeasuringLock
from phpdyno.model.build import Build
from phpdyno.model.recipe import Recipe
from phpdyno.php_build.package.debian import make_package
from phpdyno.php_build.package.naming import package_name, refuse_unpackable
from phpdyno.php_build.pipeline import earlier_tests
from phpdyno.php_build.source.installed import why_outdated
from phpdyno.php_build.train.training import TrainingLength
from phpdyno.servers.programs.finding import find_program, told
from phpdyno.servers.programs.php import inspect_php
from phpdyno.servers.supervision.supervisor import Supervisor

Made = tuple[Path, Build]
"""A finished build and its directory."""


class BuildRequest(Struct, frozen=True):
    """What the user asked to build."""

    trainees: tuple[Trainee, ...]
    recipe: Recipe
    foundation: SourceRequest = SourceRequest()
    training_length: TrainingLength = TrainingLength()
    run_tests: bool = False


def build(wanted: BuildRequest, *, logs: Path, progress: Progress) -> Made:
    """Build, and return the directory and its record. Raises DynoError."""
    refuse_unknown(each.reference for each in wanted.trainees)
    foundation = structs.replace(wanted.foundation, laid_out=wanted.recipe.bolt)
    with open_build_session(foundation, logs=logs, progress=progress) as builder:
        teachings = [builder.taught_by(each, wanted.training_length) for each in wanted.trainees]
        return builder.build(wanted.recipe, teachings, run_tests=wanted.run_tests)


def _looked_for_places(build: Build) -> bool:
    return any(check.name.partition(",")[0] == PLACES for check in build.checks)


def of_one_package(builds: Sequence[Build]) -> dict[str, list[str]]:
    """The builds that would be the same package, by its name, where they are several: whoever
    installs both has the later one."""
    found: dict[str, list[str]] = {}
    for each in builds:
        found.setdefault(package_name(each), []).append(each.name)
    return {name: several for name, several in found.items() if len(several) > 1}


def refuse_outdated(made: Made) -> None:
    """Raises DynoError for a finished build that is not to be packaged now: for measuring only,
    made for a php-fpm that was upgraded since or beside fewer extensions, or by an earlier version
    that did not look for what its package must tell it."""
    place, build = made
    refuse_unpackable(build)
    if not (build.as_packaged or _looked_for_places(build)):
        what = "this build was made before places were looked for that only the distribution's php-fpm knows"
        raise DynoError(what, where=build.name, next_step="build it anew")
    if why := why_outdated(place, build, inspect_php(build.like).version):
        how = "" if build.alone else f" (of the package's source: phpdyno build --refresh --like {Path(build.like).name})"
        raise DynoError(why, where=build.name, next_step=f"build it anew{how}")


def refuse_failed(made: Made) -> None:
    """Raises DynoError for a finished build in which PHP's own tests, where they were run, found
    something wrong."""
    place, build = made
    tested = earlier_tests(place)
    if tested and not tested.ok:
        raise DynoError(f"this build is not packaged: {tested.name}: {tested.seen}", where=build.name)


def directory_for(packages: Path) -> Path:
    """The directory, made where it is not there: asked for before anything is built for it. Raises
    DynoError, UsageError."""
    into = absolute(Path(), str(packages), where="--package")
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DynoError(f"cannot make this directory: {error.strerror}", where=str(into)) from error
    return into


def package(made: Made, into: Path, *, logs: Path) -> Path:
    """The `.deb` of a build in a directory; nothing is measured meanwhile. Raises DynoError, for
    one that is for measuring only too."""
    place, build = made
    with MeasuringLock(), Supervisor(logs) as supervisor:
        architecture = told([find_program("dpkg"), "--print-architecture"]).stdout.decode().strip()
        return make_package(place, build, into, supervisor, architecture=architecture)
