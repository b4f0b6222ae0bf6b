"""phpdyno build: the PHP that is there, rebuilt for an app."""

from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.registry import open_app
from phpdyno.build.installed import look_at
from phpdyno.build.needs import require_packages
from phpdyno.build.options import drop_in_options
from phpdyno.build.pipeline import Order, Pipeline, Teaching
from phpdyno.build.training import Course
from phpdyno.build.workshop import Workshop
from phpdyno.experiment.progress import Progress
from phpdyno.host.cores import split_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.model.build import Build
from phpdyno.model.recipe import Recipe
from phpdyno.paths import cache_dir
from phpdyno.stack.bench import Bench
from phpdyno.stack.programs import find_program, told
from phpdyno.stack.supervise import Supervisor
from phpdyno.workflows.arms import make_arms
from phpdyno.workflows.build_ground import find_ground
from phpdyno.workflows.build_school import StackSchool
from phpdyno.workflows.session import start_shared

FPM_OPTIONS = ("--with-fpm-user=www-data", "--with-fpm-group=www-data", "--with-fpm-systemd", "--with-fpm-acl")
PLACEHOLDER = "/nonexistent/phpdyno"
"""Where a drop-in would look for its modules if it were not told: it always is, so that its directory may lie anywhere."""


class Wanted(Struct, frozen=True):
    """What the user asked to build."""

    app: str
    recipe: Recipe
    like: str = "php-fpm8.2"
    course: Course = Course()


def build(wanted: Wanted, *, logs: Path, progress: Progress) -> tuple[Path, Build]:
    """Build, and return the directory and its record. Raises DynoError."""
    definition = open_app(wanted.app)

    def tell(what: str, share: float) -> None:
        progress.tick(share, 1.0, what)

    cores = split_cores()
    shop = Workshop(cache_dir(), progress.note)
    with shop.alone(), MeasuringLock(), Supervisor(logs) as supervisor, ExitStack() as stack:
        installed = look_at(wanted.like, supervisor, cache_dir())
        options = drop_in_options(installed.options, server="fpm", extensions=PLACEHOLDER, fpm=FPM_OPTIONS)
        require_packages(options)
        ground = find_ground(installed, shop, supervisor, progress)
        beside = ground.beside
        app = definition.prepare(supervisor, cache=cache_dir(), progress=progress.phase)
        shared = start_shared(stack, app, supervisor, cores)
        bench = Bench(supervisor, app, cores=cores, groups=shared.groups, transport="http", database=shared.database)
        place = "" if beside is installed else f";php.extension_dir={beside.extension_dir}"
        control = make_arms(f"php={beside.fpm}{place}", (), aa=True, app=definition).control
        school = StackSchool(supervisor, bench, control, wanted.course, tell)
        order = Order(
            recipe=wanted.recipe,
            origin=ground.origin,
            source=ground.source,
            options=options,
            like=beside.fpm,
            php_version=beside.version,
            theirs=Path(beside.extension_dir),
            compiler=told([find_program("gcc"), "-dumpfullversion"]).stdout.decode().strip(),
            teaching=Teaching(
                app=app.name,
                version=app.version,
                targets=tuple((target.label, target.weight) for target in app.workload.targets),
                seconds=wanted.course.seconds,
                least=wanted.course.least,
                seed=wanted.course.seed,
            ),
            measuring_only=ground.measuring_only,
        )
        return Pipeline(shop, supervisor, school, tell, progress.note).build(order)
