"""phpdyno build: the PHP that is there, rebuilt for an app or several."""

from pathlib import Path

from msgspec import Struct

from phpdyno.build.package import make_package
from phpdyno.build.training import Course
from phpdyno.build.workshop import finished_builds
from phpdyno.errors import DynoError, UsageError
from phpdyno.experiment.progress import Progress
from phpdyno.model.build import Build
from phpdyno.model.recipe import Recipe
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
    with open_site(wanted.foundation, logs=logs, progress=progress) as site:
        teachings = [site.taught_by(each, wanted.course) for each in wanted.trainees]
        return site.build(wanted.recipe, teachings, run_tests=wanted.run_tests)


def refresh(like: str, *, logs: Path, progress: Progress) -> list[Made]:
    """Builds that stood in for a php-fpm, made anew for what it is now; those that still fit are found in the cache.

    Raises UsageError where there are none.
    """
    made_before = (build for _, build in finished_builds())
    packaged = [build for build in made_before if build.origin.kind == "debian" and not build.alone and not build.measuring_only]
    orders = dict.fromkeys((build.recipe, tuple(each.teaching for each in build.lessons)) for build in packaged)
    if not any(teachings for _, teachings in orders):
        raise UsageError("there is no build to be made anew", where="--refresh", next_step="make one with: phpdyno build --train APP")
    made = []
    with open_site(Foundation(like), logs=logs, progress=progress) as site:
        for recipe, teachings in orders:
            if not teachings:
                # Without a training it is not known on which app it was examined.
                progress.note(f"{recipe.name} was trained on no app: give it one with --train")
                continue
            if any(each.requests for each in teachings):
                progress.note(f"{recipe.name} was trained on requests of {teachings[0].requests}: build it again with that")
                continue
            course = Course(teachings[0].seconds, teachings[0].least, teachings[0].seed)
            made.append(site.build(recipe, [site.taught_by(Trainee(each.reference, each.weight), course) for each in teachings]))
    return made


def package(made: Made, into: Path, *, logs: Path) -> Path:
    """The `.deb` of a build in a directory. Raises DynoError, for one that is for measuring only too."""
    place, build = made
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DynoError(f"cannot make this directory: {error.strerror}", where=str(into)) from error
    with Supervisor(logs) as supervisor:
        architecture = told([find_program("dpkg"), "--print-architecture"]).stdout.decode().strip()
        return make_package(place, build, into, supervisor, architecture=architecture)
