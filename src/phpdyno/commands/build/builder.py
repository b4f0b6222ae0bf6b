"""Where builds are made: the PHP that is there, its source, the apps that train it. Servers run
only while something needs them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, structs

from phpdyno.apps.registry import open_app
from phpdyno.apps.source import App
from phpdyno.commands.build.sources import SourceRequest, find_source
from phpdyno.commands.build.training_stack import AppTrainingStack
from phpdyno.errors import DynoError, UsageError
from phpdyno.experiment.common.progress import Progress
from phpdyno.host.lock import MeasuringLock
from phpdyno.model.build import Build, Teaching
from phpdyno.model.recipe import Recipe
from phpdyno.model.runs.study import spec_of
from phpdyno.model.workload import Workload
from phpdyno.paths import cache_dir
from phpdyno.php_build.compile.native import NATIVE, native_machine
from phpdyno.php_build.order import BuildOrder, BuildSource
from phpdyno.php_build.pipeline import Pipeline, earlier_tests
from phpdyno.php_build.train.bolt import bolt_version, require_bolt
from phpdyno.php_build.train.requests import keep_requests, kept_requests, traffic_digest
from phpdyno.php_build.train.stack import TrainingStack
from phpdyno.php_build.train.training import TrainingLength
from phpdyno.php_build.workshop import Workshop
from phpdyno.servers.programs.finding import find_program, told
from phpdyno.servers.supervision.supervisor import BASE_PATH, Supervisor
from phpdyno.session.app_servers import serving
from phpdyno.session.arms import make_arms
from phpdyno.session.environment import notices_of
from phpdyno.session.source import workload_for

WEIGHTS = range(1, 1001)
"""What an app may weigh beside others: profiles are added up so many times."""
LOGS = "build-logs"
"""The directory of what compilers and servers say while something is built, beside the runs."""


class Trainee(Struct, frozen=True):
    """An app that trains: what it is opened by, its part of a profile that several share, and the
    `workload` in the place of its own, with the file that this is from."""

    reference: str
    weight: float = 1.0
    workload: Workload | None = None
    requests: str = ""


class PreparedTrainee(Struct, frozen=True):
    """An app that trains, what is asked of it, and what a training by it consists of."""

    definition: App
    workload: Workload
    teaching: Teaching


class BuildSession:
    """Makes builds on one source."""

    def __init__(self, shop: Workshop, supervisor: Supervisor, build_source: BuildSource, progress: Progress) -> None:
        self._shop = shop
        self._supervisor = supervisor
        self._build_source = build_source
        self._progress = progress
        self._subjects: dict[str, PreparedTrainee] = {}
        self._title = ""
        self._said: set[str] = set()

    def as_before(self, teaching: Teaching) -> Trainee:
        """Who trains as in an earlier teaching. Raises DynoError where requests of the user's own
        are not kept any more."""
        workload = kept_requests(self._shop.home, teaching.traffic) if teaching.requests else None
        if teaching.requests and workload is None:
            what = f"what {teaching.requests} asked for is not kept"
            raise DynoError(what, where=teaching.app, next_step="build it again with that file")
        return Trainee(teaching.reference, teaching.weight, workload, teaching.requests)

    def taught_by(self, trainee: Trainee, training_length: TrainingLength) -> Teaching:
        """What a training by this app consists of. Raises UsageError, DynoError."""
        definition = open_app(trainee.reference)
        with Supervisor(self._supervisor.logs) as supervisor:
            version = definition.version(supervisor, cache=cache_dir(), progress=self._progress.phase)
        workload = workload_for(trainee.workload, definition.workload)
        teaching = Teaching(
            app=definition.name,
            version=version,
            targets=tuple((target.label, target.weight) for target in workload.targets),
            seconds=training_length.seconds,
            least=training_length.least,
            seed=training_length.seed,
            reference=trainee.reference,
            weight=trainee.weight,
            requests=trainee.requests,
            traffic=traffic_digest(workload),
        )
        if trainee.workload is not None:
            keep_requests(self._shop.home, workload)
        self._subjects[teaching.app] = PreparedTrainee(definition, workload, teaching)
        return teaching

    def build(self, recipe: Recipe, teachings: Sequence[Teaching], *, title: str = "", run_tests: bool = False) -> tuple[Path, Build]:
        """The finished build, from the cache or made now, with what PHP's own tests say of it where
        they were run; `run_tests`: they are. `title` is what it is called while it is made.

        Raises UsageError for two apps of one name, DynoError: no BOLT for a recipe with it, a step
        that fails.
        """
        self._refuse_namesakes(teachings)
        self._title = title or f"build: {recipe.name}"
        self._progress.phase(self._title)
        # What compiles is found there, whatever the user's PATH puts before it.
        compiler = told([find_program("gcc", BASE_PATH), "-dumpfullversion"]).stdout.decode().strip()
        if recipe.bolt:
            # Before an hour of compiling that nothing can be laid out after.
            require_bolt()
        bolt, machine = bolt_version() if recipe.bolt else "", native_machine() if recipe.march == NATIVE else ""
        order = BuildOrder(recipe, self._build_source, compiler, tuple(teachings), bolt, machine)
        pipeline = Pipeline(self._shop, self._supervisor, self._training_stack, self._tell, self._progress.note)
        place, made = pipeline.build(order)
        tested = pipeline.tested(order.without(made.skipped), place) if run_tests else earlier_tests(place)
        return place, structs.replace(made, checks=(*made.checks, tested)) if tested else made

    def _refuse_namesakes(self, teachings: Sequence[Teaching]) -> None:
        """One would train on the servers of the other."""
        for each in teachings:
            if self._subjects[each.app].teaching.reference != each.reference:
                raise UsageError("two of these apps have one name", where=each.app, next_step="give each its own name in app.toml")

    @contextmanager
    def _training_stack(self, name: str) -> Iterator[TrainingStack]:
        """A training stack on servers of its own, which end with it."""
        subject = self._subjects[name]
        taught = subject.teaching
        with serving(subject.definition, logs=self._supervisor.logs, progress=self._progress, version=taught.version) as stand:
            # What was prepared for the servers is done.
            self._progress.phase(self._title)
            self._tell_first(notices_of(stand.bench.supervisor, stand.bench.app))
            control = make_arms(spec_of(self._build_source.stock), (), aa=True, app=subject.definition).control
            yield AppTrainingStack(
                stand.bench, subject.workload, control, TrainingLength(taught.seconds, taught.least, taught.seed), self._tell
            )

    def _tell_first(self, notices: Sequence[str]) -> None:
        """Each once, however many builds the app trains."""
        for each in notices:
            if each not in self._said:
                self._said.add(each)
                self._progress.note(each)

    def _tell(self, what: str, share: float) -> None:
        self._progress.tick(share, 1.0, what)


@contextmanager
def open_build_session(foundation: SourceRequest, *, logs: Path, progress: Progress) -> Iterator[BuildSession]:
    """A site for what the user wants built of; nothing is measured, and nothing else is built in
    this cache, while it is open. What is at work already is waited for.

    Raises UsageError, DynoError: no such PHP, a package missing, no source to be had.
    """
    shop = Workshop(cache_dir(), progress.note)
    # In this order: whoever has built goes on to measure with the lock in hand, and may build
    # again.
    with MeasuringLock(waiting=progress.note), shop.alone(), Supervisor(logs) as supervisor:
        yield BuildSession(shop, supervisor, find_source(foundation, shop, supervisor, progress), progress)


def refuse_unknown(references: Iterable[str]) -> None:
    """Raises UsageError, DynoError for an app that cannot be opened: before a source is fetched for
    it."""
    for each in references:
        open_app(each)


def parse_trainee(text: str) -> Trainee:
    """`wordpress`, or `wordpress=3` for one that weighs three times as much as others. Raises
    UsageError."""
    reference, given, weight = text.rpartition("=")
    if not given or not _is_number(weight):
        return Trainee(text)
    if float(weight) not in WEIGHTS:
        what = f"an app weighs a whole number from {WEIGHTS[0]} to {WEIGHTS[-1]}, and this is {weight}"
        raise UsageError(what, where=text, next_step="profiles are added up so many times: for 0.5 beside 1 write 1 and 2")
    return Trainee(reference, float(weight))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
