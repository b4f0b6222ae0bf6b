"""From an order to a finished build: tree → profile → compiled → laid out → checked. Each step is kept by all that it depends on."""

import hashlib
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct, structs

from phpdyno.build import profiles
from phpdyno.build.bolt import Bolt, Moved
from phpdyno.build.dropin import EXTENSIONS, assemble, vm_kind
from phpdyno.build.flags import flags_of
from phpdyno.build.training import Trained
from phpdyno.build.tree import MODULE, PROGRAMS, Built, Tell, Tree
from phpdyno.build.workshop import Workshop, digest_of, read_build, write_build
from phpdyno.errors import DynoError
from phpdyno.model.build import Binary, Build, Check, Lesson, Origin
from phpdyno.model.recipe import Recipe
from phpdyno.stack.php import read_build_id
from phpdyno.stack.supervise import Supervisor

COUNTED = ("php-fpm",)
"""Programs that BOLT lays out: those that serve the traffic they are trained on."""


class Teaching(Struct, frozen=True):
    """Everything that a training depends on: the app, its targets by label and weight, and the course."""

    app: str
    version: str
    targets: tuple[tuple[str, float], ...]
    seconds: float
    least: int
    seed: int


class Order(Struct, frozen=True):
    """What to build. `source` is an unpacked tree that stays as it is; `theirs` the distribution's directory of extensions."""

    recipe: Recipe
    origin: Origin
    source: Path
    options: tuple[str, ...]
    like: str
    php_version: str
    theirs: Path
    compiler: str
    teaching: Teaching
    measuring_only: bool = False


class School(Protocol):
    """Trains and examines builds on the app's real stack."""

    def train(self, build: Path, *, environment: dict[str, str], by_signals: bool) -> Trained:
        """Train the drop-in in a directory. Raises WrongAnswer, DynoError."""

    def examine(self, build: Path) -> Sequence[Check]:
        """Start it, and look at what it loads, maps and answers. Raises DynoError where it does not start."""

    def writable(self, name: str) -> Path:
        """A directory that the workers may write to."""


class Pipeline:
    """Carries out orders in one workshop."""

    def __init__(self, shop: Workshop, supervisor: Supervisor, school: School, tell: Tell, note: Callable[[str], None]) -> None:
        self._shop = shop
        self._supervisor = supervisor
        self._school = school
        self._tell = tell
        self._note = note

    def build(self, order: Order) -> tuple[Path, Build]:
        """The finished build of an order, made now where it is not in the cache. Raises DynoError."""
        began = time.monotonic()

        def make(place: Path) -> None:
            write_build(place, self._finish(order, place, began))

        place = self._shop.made("finished", self._key(order), make)
        return place, read_build(place)

    # ---- keys ---------------------------------------------------------------------------------

    def _tree_key(self, order: Order) -> dict[str, object]:
        return {"source": order.origin.digest, "options": order.options, "compiler": order.compiler}

    def _profile_key(self, order: Order) -> dict[str, object]:
        recipe = order.recipe
        return {
            **self._tree_key(order),
            "level": recipe.level,
            "march": recipe.march,
            "words": recipe.words,
            "lesson": structs.asdict(order.teaching),
        }

    def _compiled_key(self, order: Order) -> dict[str, object]:
        lesson = self._profile_key(order) if order.recipe.pgo else {}
        return {**self._tree_key(order), "recipe": order.recipe.name, "profile": lesson}

    def _key(self, order: Order) -> dict[str, object]:
        lesson = structs.asdict(order.teaching) if order.recipe.trained else {}
        return {**self._compiled_key(order), "lesson": lesson, "like": order.like, "measuring only": order.measuring_only}

    # ---- steps --------------------------------------------------------------------------------

    def _finish(self, order: Order, place: Path, began: float) -> Build:
        tree = self._tree(order)
        built, lesson = self._compiled(order, tree)
        moved: dict[str, Moved] = {}
        skipped: dict[str, str] = {}
        checks: list[Check] = []
        if order.recipe.bolt:
            try:
                moved, trained = self._laid_out(order, built)
                lesson = lesson or self._lesson(order, trained, 0)
                checks += self._put_together(order, built, moved, place)
            except DynoError as error:
                # The build without this step is still one: the ladder goes on and the report says what is missing.
                self._note(f"bolt is left out: {error}")
                skipped["bolt"], moved = str(error), {}
        if not checks:
            checks += self._put_together(order, built, {}, place)
        wrong = [check for check in checks if not check.ok]
        if wrong:
            raise DynoError(f"this build may not be used: {wrong[0].name}: {wrong[0].seen}", where=order.recipe.name)
        if order.recipe.pgo and lesson is not None:
            checks.append(Check("profiles", ok=True, seen=f"{lesson.profiles} files counted"))
        return Build(
            name=f"{order.recipe.name}-{digest_of(self._key(order))[:8]}",
            recipe=order.recipe,
            origin=order.origin,
            php_version=order.php_version,
            like=order.like,
            options=order.options,
            compiler=order.compiler,
            vm_kind=vm_kind(tree.macros()),
            binaries=tuple(_binary(place, path) for path in _files_of(place)),
            checks=tuple(checks),
            seconds=time.monotonic() - began,
            made=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            lesson=lesson,
            skipped=skipped,
            bolt={stat.name: (stat.before, stat.after) for each in moved.values() for stat in each.stats},
            measuring_only=order.measuring_only,
        )

    def _tree(self, order: Order) -> Tree:
        """Sources of this order, configured."""

        def make(place: Path) -> None:
            shutil.rmtree(place)
            shutil.copytree(order.source, place, symlinks=True)
            Tree(place, self._supervisor, self._tell).configure(order.options)

        return Tree(self._shop.made("trees", self._tree_key(order), make), self._supervisor, self._tell)

    def _compiled(self, order: Order, tree: Tree) -> tuple[Built, Lesson | None]:
        recipe = order.recipe
        taught = self._taught(order, tree) if recipe.pgo else None

        def make(place: Path) -> None:
            profiles.forget(tree.place)
            if taught is not None:
                profiles.copy(taught, profiles.written(taught), tree.place)
            flags = flags_of(recipe, "use" if recipe.pgo else "plain")
            built = tree.compile(flags, f"compiling {recipe.name}")
            for path in (*built.programs.values(), *([built.opcache] if built.opcache else [])):
                shutil.copyfile(path, place / path.name)

        place = self._shop.made("compiled", self._compiled_key(order), make)
        programs = {name: place / name for name in PROGRAMS}
        opcache = place / MODULE
        lesson = msgspec.json.decode((taught.parent / "lesson.json").read_bytes(), type=Lesson) if taught is not None else None
        return Built(programs, opcache if opcache.is_file() else None), lesson

    def _taught(self, order: Order, tree: Tree) -> Path:
        """Profiles of this order's training, by their place in the tree."""

        def make(place: Path) -> None:
            _empty(place)
            profiles.forget(tree.place)
            plain = structs.replace(order.recipe, lto=False, bolt=False)
            built = tree.compile(flags_of(plain, "generate"), "compiling what is trained", trainable=True)
            trainee, written = place / "trainee", self._school.writable("profiles")
            assemble(built, trainee, order.theirs)
            trained = self._school.train(trainee, environment={"GCOV_PREFIX": str(written)}, by_signals=True)
            count = profiles.collect(written, tree.place, place / "gcda")
            shutil.rmtree(trainee)
            (place / "lesson.json").write_bytes(msgspec.json.encode(self._lesson(order, trained, count)))

        return self._shop.made("profiles", self._profile_key(order), make) / "gcda"

    def _lesson(self, order: Order, trained: Trained, count: int) -> Lesson:
        taught = order.teaching
        return Lesson(taught.app, taught.version, taught.seed, trained.requests, trained.targets, count)

    def _laid_out(self, order: Order, built: Built) -> tuple[dict[str, Moved], Trained]:
        """Binaries that BOLT laid out by a training of their own, by file name."""
        bolt = Bolt(self._supervisor)
        work, written = self._supervisor.live / "bolt", self._school.writable("bolt-profiles")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        originals = {name: built.programs[name] for name in COUNTED}
        if built.opcache is not None:
            originals[built.opcache.name] = built.opcache
        counting = {}
        for name, binary in originals.items():
            self._tell(f"bolt: instrumenting {name}", 0.0)
            counting[name] = work / f"{name}.counting"
            bolt.instrument(binary, counting[name], written / name)
        trainee = work / "trainee"
        opcache = counting[built.opcache.name] if built.opcache is not None else None
        assemble(Built({**built.programs, **{name: counting[name] for name in COUNTED}}, opcache), trainee, order.theirs)
        trained = self._school.train(trainee, environment={}, by_signals=False)
        moved = {}
        for name, binary in originals.items():
            self._tell(f"bolt: laying out {name}", 0.5)
            bolt.merge(sorted(written.glob(f"{name}.*.fdata")), work / f"{name}.fdata")
            moved[name] = bolt.optimise(binary, work / f"{name}.fdata", work / f"{name}.moved")
        return moved, trained

    def _put_together(self, order: Order, built: Built, moved: dict[str, Moved], place: Path) -> Sequence[Check]:
        """The drop-in in its directory, examined."""
        _empty(place)
        programs = {name: moved[name].binary if name in moved else path for name, path in built.programs.items()}
        opcache = built.opcache
        if opcache is not None and opcache.name in moved:
            opcache = moved[opcache.name].binary
        assemble(Built(programs, opcache), place, order.theirs)
        return self._school.examine(place)


def _empty(place: Path) -> None:
    """A directory of its own for what is made anew, whatever an interrupted session left there."""
    shutil.rmtree(place)
    place.mkdir(mode=0o755)


def _files_of(place: Path) -> list[Path]:
    """Files of a drop-in that are its own."""
    own = [path for path in place.iterdir() if path.is_file()]
    return sorted([*own, *(path for path in (place / EXTENSIONS).iterdir() if not path.is_symlink())])


def _binary(place: Path, path: Path) -> Binary:
    return Binary(str(path.relative_to(place)), hashlib.sha256(path.read_bytes()).hexdigest(), read_build_id(path))
