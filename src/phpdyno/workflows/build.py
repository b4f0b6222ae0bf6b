"""phpdyno build: the PHP that is there, rebuilt for an app or several."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from phpdyno.build.installed import find_fpm, why_outdated
from phpdyno.build.package import make_package
from phpdyno.build.package_texts import package_name, refuse_unpackable
from phpdyno.build.pipeline import earlier_tests
from phpdyno.build.training import Course
from phpdyno.build.workshop import finished_builds, named_build
from phpdyno.config.values import absolute
from phpdyno.errors import DynoError, UsageError
from phpdyno.experiment.progress import Progress
from phpdyno.host.lock import MeasuringLock
from phpdyno.model.build import Build
from phpdyno.model.recipe import Recipe
from phpdyno.stack.php import inspect_php
from phpdyno.stack.programs import find_program, told
from phpdyno.stack.supervise import Supervisor
from phpdyno.workflows.build_ground import Foundation
from phpdyno.workflows.build_site import Trainee, open_site

Made = tuple[Path, Build]
"""A finished build and its directory."""


class Wanted(Struct, frozen=True):
    """What the user asked to build."""

    trainees: tuple[Trainee, ...]
    recipe: Recipe
    foundation: Foundation = Foundation()
    course: Course = Course()
    run_tests: bool = False


def build(wanted: Wanted, *, logs: Path, progress: Progress) -> Made:
    """Build, and return the directory and its record. Raises DynoError."""
    foundation = structs.replace(wanted.foundation, laid_out=wanted.recipe.bolt)
    with open_site(foundation, logs=logs, progress=progress) as site:
        teachings = [site.taught_by(each, wanted.course) for each in wanted.trainees]
        return site.build(wanted.recipe, teachings, run_tests=wanted.run_tests)


def refresh(like: str, *, only: str = "", logs: Path, progress: Progress) -> tuple[list[Made], list[str]]:
    """Builds that stood in for a php-fpm, made anew for what it is now; `only` one of them, by its name. Those that still fit are found in
    the cache. One that cannot be made is noted, and the others go on; gives those that are made, and why the others are not.

    Raises UsageError where there are none, DynoError where there is no such php-fpm.
    """
    if only:
        like = named_build(only)[1].like
    fpm = find_fpm(like)
    stood_in = [build for _, build in finished_builds() if build.like == fpm and only in {"", build.name} and not build.measuring_only]
    packaged = [build for build in stood_in if build.origin.kind == "debian" and not build.alone]
    orders = dict.fromkeys((build.recipe, build.known) for build in packaged)
    if not any(teachings for _, teachings in orders):
        what = f"there is no build that stood in for {fpm}"
        raise UsageError(
            what, where=only or "--refresh", next_step="name its php-fpm with --like, or make one with: phpdyno build --train APP"
        )
    made: dict[Path, Build] = {}
    failed: list[str] = []

    def fails(why: str) -> None:
        failed.append(why)
        progress.note(why)

    for build in stood_in:
        if build not in packaged:
            fails(f"{build.name} {'stands alone' if build.alone else 'is of a source of its own'}: build it again as you did")
    foundation = Foundation(like, to_be_kept=True, laid_out=any(recipe.bolt for recipe, _ in orders))
    with open_site(foundation, logs=logs, progress=progress) as site:
        for number, (recipe, teachings) in enumerate(orders, 1):
            progress.phase(f"build {number} of {len(orders)}: {recipe.name}")
            if not teachings:
                # Of builds made before this was recorded.
                fails(f"it is not known on which app {recipe.name} was examined: give it one with --train")
                continue
            if any(each.requests for each in teachings):
                fails(f"{recipe.name} was trained on requests of {teachings[0].requests}: build it again with that")
                continue
            course = Course(teachings[0].seconds, teachings[0].least, teachings[0].seed)
            try:
                place, build = site.build(recipe, [site.taught_by(Trainee(each.reference, each.weight), course) for each in teachings])
                made[place] = build
            except DynoError as error:
                fails(f"{recipe.name} is not made anew: {error}")
    return list(made.items()), failed


def of_one_package(builds: Sequence[Build]) -> dict[str, list[str]]:
    """The builds that would be the same package, by its name, where they are several: whoever installs both has the later one."""
    found: dict[str, list[str]] = {}
    for each in builds:
        found.setdefault(package_name(each), []).append(each.name)
    return {name: several for name, several in found.items() if len(several) > 1}


def refuse_outdated(build: Build) -> None:
    """Raises DynoError for a finished build that is not to be packaged now: for measuring only, or made for a php-fpm that was upgraded
    since."""
    refuse_unpackable(build)
    if why := why_outdated(build, inspect_php(build.like).version):
        how = "" if build.alone else f" (of the package's source: phpdyno build --refresh --like {Path(build.like).name})"
        raise DynoError(why, where=build.name, next_step=f"build it anew{how}")


def refuse_failed(made: Made) -> None:
    """Raises DynoError for a finished build in which PHP's own tests, where they were run, found something wrong."""
    place, build = made
    tested = earlier_tests(place)
    if tested and not tested.ok:
        raise DynoError(f"this build is not packaged: {tested.name}: {tested.seen}", where=build.name)


def directory_for(packages: Path) -> Path:
    """The directory, made where it is not there: asked for before anything is built for it. Raises DynoError, UsageError."""
    into = absolute(Path(), str(packages), where="--package")
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DynoError(f"cannot make this directory: {error.strerror}", where=str(into)) from error
    return into


def package(made: Made, into: Path, *, logs: Path) -> Path:
    """The `.deb` of a build in a directory; nothing is measured meanwhile. Raises DynoError, for one that is for measuring only too."""
    place, build = made
    with MeasuringLock(), Supervisor(logs) as supervisor:
        architecture = told([find_program("dpkg"), "--print-architecture"]).stdout.decode().strip()
        return make_package(place, build, into, supervisor, architecture=architecture)
