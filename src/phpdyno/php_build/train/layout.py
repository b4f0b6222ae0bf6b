"""Programs laid out by BOLT: instrumented, trained on every app, laid out by what its traffic
counted, without the start of PHP."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from phpdyno.model.build import Lesson
from phpdyno.php_build.compile.dropin import assemble
from phpdyno.php_build.compile.tree import Built
from phpdyno.php_build.compile.tree_commands import Tell
from phpdyno.php_build.order import BuildOrder
from phpdyno.php_build.train.bolt import Bolt, BoltError, Moved
from phpdyno.php_build.train.fdata import counts_of, profiles_of, subtract
from phpdyno.php_build.train.profiles import copy
from phpdyno.php_build.train.stack import TrainingStack, TrainingStacks
from phpdyno.php_build.train.training import Trained
from phpdyno.servers.supervision.supervisor import Supervisor

COUNTED = ("php-fpm",)
"""Programs that are laid out: those that serve the traffic they are trained on. Of modules it is
opcache."""
LEAST_OF_A_REQUEST = 10
"""Branches and calls in each of the binaries that are laid out. The smallest page has hundreds."""


class _Counted(Struct, frozen=True):
    """What a training left: how many profiles, what its course counted of each binary, and the
    functions of each that could not be made to count."""

    trained: Trained
    profiles: int
    counts: dict[str, Path]
    left: dict[str, tuple[str, ...]]


class CodeLayout:
    """Lays out what one order compiled. Raises BoltError where BOLT fails, DynoError where there is
    none, what training raises."""

    def __init__(self, supervisor: Supervisor, training_stacks: TrainingStacks, tell: Tell) -> None:
        self._bolt = Bolt(supervisor)
        self._training_stacks = training_stacks
        self._tell = tell
        self._work = supervisor.live / "bolt"
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir()

    def of(self, order: BuildOrder, built: Built) -> tuple[dict[str, Moved], tuple[Lesson, ...]]:
        """Binaries by file name, and what was learnt. Beside what it weighs an app counts by its
        traffic: a dear page has more branches."""
        originals = {name: built.programs[name] for name in COUNTED}
        if built.opcache is not None:
            originals[built.opcache.name] = built.opcache
        found = []
        for number, teaching in enumerate(order.teachings):
            place = self._work / str(number)
            place.mkdir()
            with self._training_stacks(teaching.app) as training_stack:
                found.append(self._count(training_stack, order, built, originals, place))
        moved = {}
        for name, binary in originals.items():
            self._tell(f"bolt: laying out {name}", 0.5)
            profile = self._work / f"{name}.fdata"
            # Counts are summed, those of a file that is named twice too.
            weighed = zip(order.teachings, found, strict=True)
            self._bolt.merge([each.counts[name] for teaching, each in weighed for _ in range(int(teaching.weight))], profile)
            laid = self._bolt.optimise(binary, profile, self._work / f"{name}.moved")
            uncounted = {function for each in found for function in each.left[name]}
            moved[name] = Moved(laid.binary, structs.replace(laid.told, not_read=tuple(sorted({*laid.told.not_read, *uncounted}))))
        lessons = (
            Lesson(teaching, each.trained.requests, each.trained.targets, each.profiles)
            for teaching, each in zip(order.teachings, found, strict=True)
        )
        return moved, tuple(lessons)

    def _count(self, training_stack: TrainingStack, order: BuildOrder, built: Built, originals: dict[str, Path], place: Path) -> _Counted:
        """Train binaries that count, in a directory of their own."""
        written = training_stack.writable("bolt-profiles")
        counting, left = {}, {}
        for name, binary in originals.items():
            self._tell(f"bolt: instrumenting {name}", 0.0)
            counting[name] = place / f"{name}.counting"
            left[name] = self._bolt.instrument(binary, counting[name], written / name)
        programs = {**built.programs, **{name: counting[name] for name in COUNTED}}
        trainee = place / "trainee"
        opcache = counting.get(built.opcache.name) if built.opcache else None
        assemble(Built(programs, opcache, built.added), trainee, order.build_source.theirs)
        settings = order.build_source.settings(trainee)
        # A process writes once, when it ends: what it counted before the course is known from one
        # that ends without it.
        training_stack.start(settings)
        start = _taken(written, place / "start")
        training_stack.writable(written.name)
        trained = training_stack.train(settings, environment={}, by_signals=False)
        course = _taken(written, place / "course")
        for name in originals:
            refuse_unserved(profiles_of(name, course), name, trained.requests)
        counts = {name: self._counted(name, course, start, place) for name in originals}
        return _Counted(trained, sum(len(profiles_of(name, course)) for name in originals), counts, left)

    def _counted(self, name: str, course: Path, start: Path, place: Path) -> Path:
        """What the course counted of a binary, all processes together, less what a start without
        one has."""
        counted, before = place / f"{name}.fdata", place / f"{name}.start.fdata"
        self._bolt.merge([*profiles_of(name, course)], counted)
        self._bolt.merge([*profiles_of(name, start)], before)
        subtract(counted, before)
        return counted


def _taken(written: Path, into: Path) -> Path:
    """Copies of the profiles in a training stack's directory, which goes with it, in one that
    nobody else writes to; what else the app may have put there stays. Raises DynoError."""
    into.mkdir()
    copy(written, [path.relative_to(written) for path in written.glob("*.fdata")], into)
    return into


def refuse_unserved(profiles: Sequence[Path], name: str, requests: int) -> None:
    """Raises BoltError where no profile of a binary has counted so many requests: what the master
    alone has counted is a start, and a worker that is ended while it writes leaves less than it
    counted."""
    most = max((counts_of(profile) for profile in profiles), default=0)
    if most < LEAST_OF_A_REQUEST * requests:
        what = f"no profile that training left of {name} for BOLT has counted its {requests} requests ({most} branches and calls)"
        raise BoltError(what, next_step="the workers must end by themselves, and may write there")
