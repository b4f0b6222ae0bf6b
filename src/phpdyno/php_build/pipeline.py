"""From an order to a finished build: tree → profile → compiled → laid out → checked. Each step is
kept by all that it depends on."""

import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from phpdyno.apps.files.copies import NEXT_STEP, copy_without, file_digest, give_to_service, require_room_for, take_file
from phpdyno.errors import DynoError
from phpdyno.journal.replacing import replace_record
from phpdyno.model.build import Binary, Build, BuildCheck, CodeSection, Lesson, Teaching
from phpdyno.model.decoding import NOT_JSON
from phpdyno.php_build.compile.dropin import EXTENSIONS, assemble, interpreter, vm_kind
from phpdyno.php_build.compile.elf import code_sections, text_kib
from phpdyno.php_build.compile.options import unknown_options
from phpdyno.php_build.compile.own_tests import run_own_tests
from phpdyno.php_build.compile.tree import MODULE, OPCACHE_HOME, PROGRAMS, Built, SourceTree
from phpdyno.php_build.compile.tree_commands import Tell
from phpdyno.php_build.order import BuildOrder, Key
from phpdyno.php_build.source.given import GIT
from phpdyno.php_build.train import profiles
from phpdyno.php_build.train.beside import WrongAnswer
from phpdyno.php_build.train.bolt import BoltError, Moved
from phpdyno.php_build.train.layout import CodeLayout
from phpdyno.php_build.train.stack import EXAMINED, TRAINED, StackFound, TrainingStacks
from phpdyno.php_build.workshop import DONE, Workshop, empty, read_build, write_build
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.programs.php import read_build_id
from phpdyno.servers.supervision.supervisor import Supervisor

TREE = "tree"
"""The sources lie in this directory of a tree's own; what we write down beside it is not theirs to
change."""
LESSON = "lesson.json"
COMPILED = "compiled.json"
TESTS, TESTED = "tested", "tested.json"

_Record = TypeVar("_Record")


class _Compiled(Struct, frozen=True):
    """How many objects were compiled: so many processes could write a profile of."""

    objects: int


class NotLaidOut(DynoError):  # noqa: N818 (it names what is the matter)
    """BOLT did not come off, or what it laid out may not be used."""


class Unusable(DynoError):  # noqa: N818 (it names what is the matter)
    """What was made shows that it is not what was ordered."""


class _Assembled(Struct, frozen=True):
    """A build in its directory: what BOLT laid out, what was learnt, what was found."""

    moved: dict[str, Moved]
    lessons: tuple[Lesson, ...]
    found: StackFound


class Pipeline:
    """Carries out orders in one workshop."""

    def __init__(
        self, shop: Workshop, supervisor: Supervisor, training_stacks: TrainingStacks, tell: Tell, note: Callable[[str], None]
    ) -> None:
        self._shop = shop
        self._supervisor = supervisor
        self._training_stacks = training_stacks
        self._tell = tell
        self._note = note

    def build(self, order: BuildOrder) -> tuple[Path, Build]:
        """The finished build of an order, made now where it is not in the cache; without BOLT where
        that does not come off: another build then, in a directory of its own, and BOLT is tried
        again the next time. Raises DynoError."""
        try:
            return self._finished(order)
        except NotLaidOut as error:
            # The build without this step is still one: the report says what is missing.
            self._note(f"bolt is left out: {error}")
            why = {"bolt": str(error)}
            place, made = self._finished(order.without(why))
            return place, structs.replace(made, skipped=why)

    def _finished(self, order: BuildOrder) -> tuple[Path, Build]:
        began = time.monotonic()

        def make(place: Path) -> None:
            write_build(place, self._finish(order, place, began))

        place = self._shop.made("finished", order.finished, make)
        return place, read_build(place)

    def tested(self, order: BuildOrder, place: Path) -> BuildCheck:
        """What PHP's own tests say of a finished build in `place`; they are run until they pass
        once. Raises DynoError."""

        def make(kept: Path) -> None:
            check = run_own_tests(order.build_source.source, place, order.build_source.settings(place), self._supervisor, self._tell)
            by = "; run by php, which BOLT does not lay out as it does php-fpm" if order.lays_out else ""
            replace_record(kept / TESTED, structs.replace(check, seen=check.seen + by))

        earlier = earlier_tests(place)
        kept = self._shop.made(TESTS, order.finished, make)
        if earlier is not None and not earlier.ok:
            make(kept)
        return _read(kept / TESTED, BuildCheck)

    def _finish(self, order: BuildOrder, place: Path, began: float) -> Build:
        tree = self._tree(order)
        kind = vm_kind(tree.macros())
        _refuse_wrong([interpreter(kind, platform.machine())], order)
        built, lessons = self._compiled(order, tree)
        made = self._laid_out(order, built, place) if order.lays_out else _Assembled({}, (), self._put_together(order, built, {}, place))
        return Build(
            name=order.name,
            recipe=order.recipe,
            origin=order.build_source.origin,
            php_version=order.build_source.version,
            like=order.build_source.like,
            alone=order.build_source.alone,
            ini=order.build_source.ini,
            beside=order.build_source.beside,
            examined=order.teachings,
            stock=order.build_source.stock,
            options=order.build_source.options,
            compiler=order.compiler,
            vm_kind=kind,
            binaries=tuple(_binary(place, path) for path in _files_of(place)),
            checks=(*made.found.checks, *_known_before(order, kind, lessons)),
            seconds=time.monotonic() - began,
            made=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            lessons=lessons or made.lessons,
            skipped=dict(order.left_out),
            laid_out=tuple(each.told for each in made.moved.values()),
            measuring_only=order.build_source.measuring_only,
            package=order.build_source.package,
            package_version=order.build_source.package_version,
            places=dict(made.found.places),
        )

    def _tree(self, order: BuildOrder) -> SourceTree:
        """Sources of this order, configured; they belong to the servers' account, with whose rights
        all is compiled."""
        user = self._supervisor.user

        def make(place: Path) -> None:
            empty(place)
            if user.switch:
                # A program that the servers' account leaves there, and that gives its rights, is
                # nobody else's to run.
                os.chown(place, -1, user.gid)
                place.chmod(0o710)
            source = order.build_source.source
            require_room_for(source, place, where=str(source), next_step=NEXT_STEP)
            copied = place / TREE
            copied.mkdir(mode=0o700)
            copy_without(self._supervisor, source, copied, (GIT, DONE))
            give_to_service(self._supervisor, copied)
            tree = SourceTree(copied, self._supervisor, self._tell)
            tree.forget_compiling()
            packaged = order.build_source.origin.kind == "debian"
            # Debian patches what configure is made of, and makes it anew itself.
            tree.configure(order.build_source.options, anew=packaged)
            unknown = () if packaged else unknown_options(order.build_source.options, tree.help())
            if unknown:
                self._note(f"the configure of this source ignores what it does not know: {', '.join(unknown)}")
            for each in order.build_source.added:
                tree.add(each.name, each.place)

        return SourceTree(self._shop.made("trees", self._here(order.tree), make) / TREE, self._supervisor, self._tell)

    def _here(self, key: Key) -> Key:
        """The key of what knows where it lies, as a Makefile and what counts do: in a cache that
        was copied it is made anew."""
        user = self._supervisor.user
        return {**key, "place": str(self._shop.home), "in": TREE, "account": user.uid if user.switch else ""}

    def _compiled(self, order: BuildOrder, tree: SourceTree) -> tuple[Built, tuple[Lesson, ...]]:
        recipe = order.recipe
        taught, lessons = self._taught(order, tree) if recipe.pgo else (None, ())

        def make(place: Path) -> None:
            tree.teach(taught)
            flags = order.flags("use" if recipe.pgo else "plain")
            _keep(tree.compile(flags, f"compiling {recipe.name}"), place)

        return _kept(self._shop.made("compiled", order.compiled, make)), lessons

    def _taught(self, order: BuildOrder, tree: SourceTree) -> tuple[Path, tuple[Lesson, ...]]:
        """Profiles of this order's trainings as one, by their place in the tree, and what was
        learnt in each."""
        places = [self._profile(order, each, tree) for each in order.teachings]
        read = [_read(place / LESSON, Lesson) for place in places]
        lessons = tuple(structs.replace(lesson, teaching=each) for lesson, each in zip(read, order.teachings, strict=True))
        if len(places) == 1:
            return places[0] / "gcda", lessons

        def make(place: Path) -> None:
            empty(place)
            weighted = [(each / "gcda", teaching.weight) for each, teaching in zip(places, order.teachings, strict=True)]
            profiles.merge(weighted, place / "gcda", self._supervisor)

        return self._shop.made("merged", order.profiles, make) / "gcda", lessons

    def _profile(self, order: BuildOrder, teaching: Teaching, tree: SourceTree) -> Path:
        """Where the profile of one app's training lies, with what was learnt."""

        def make(place: Path) -> None:
            empty(place)
            trained_on = self._trainee(order, tree)
            objects = _read(trained_on / COMPILED, _Compiled).objects
            trainee, built = place / "trainee", _kept(trained_on)
            assemble(built, trainee, order.build_source.theirs)
            with self._training_stacks(teaching.app) as training_stack:
                written = training_stack.writable("profiles")
                trained = training_stack.train(
                    order.build_source.settings(trainee), environment={"GCOV_PREFIX": str(written)}, by_signals=True
                )
                # It works at each request; an extension that the app does not use leaves nothing.
                modules = [OPCACHE_HOME] if trained.opcache and built.opcache else []
                count = profiles.collect(written, tree.place, place / "gcda", objects=objects, modules=modules)
            shutil.rmtree(trainee)
            (place / LESSON).write_bytes(msgspec.json.encode(Lesson(teaching, trained.requests, trained.targets, count)))

        return self._shop.made("profiles", order.profile(teaching), make)

    def _trainee(self, order: BuildOrder, tree: SourceTree) -> Path:
        """Binaries that count, compiled once for all apps."""

        def make(place: Path) -> None:
            tree.teach(None)
            _keep(tree.compile(order.flags("generate"), "compiling what is trained", trainable=True), place)
            (place / COMPILED).write_bytes(msgspec.json.encode(_Compiled(tree.objects())))

        return self._shop.made("trainees", self._here(order.trainee), make)

    def _laid_out(self, order: BuildOrder, built: Built, place: Path) -> _Assembled:
        """The build in its directory, laid out by BOLT. Raises NotLaidOut, and leaves that
        directory empty; DynoError for what is no fault of BOLT's or of what it made."""
        moved, trained = self._moved(order, built, place)
        try:
            return _Assembled(moved, trained, self._put_together(order, built, moved, place))
        except (Unusable, WrongAnswer, ArmFailed) as error:
            empty(place)
            raise _of_bolt(error) from error

    def _moved(self, order: BuildOrder, built: Built, place: Path) -> tuple[dict[str, Moved], tuple[Lesson, ...]]:
        """What BOLT laid out. Raises NotLaidOut, DynoError. What answers wrongly while it counts is
        compiled wrongly, unless it answers rightly without counting: that is tried in `place`."""
        try:
            return CodeLayout(self._supervisor, self._training_stacks, self._tell).of(order, built)
        except (BoltError, ArmFailed) as error:
            raise _of_bolt(error) from error
        except WrongAnswer as error:
            self._put_together(order, built, {}, place)
            empty(place)
            raise _of_bolt(error) from error

    def _put_together(self, order: BuildOrder, built: Built, moved: dict[str, Moved], place: Path) -> StackFound:
        """The build in its directory, examined on the stack of each app. Raises Unusable for one
        that may not be used, DynoError."""
        empty(place)
        programs = {name: moved[name].binary if name in moved else path for name, path in built.programs.items()}
        opcache = built.opcache
        if opcache is not None and opcache.name in moved:
            opcache = moved[opcache.name].binary
        assemble(Built(programs, opcache, built.added), place, order.build_source.theirs)
        several = len(order.teachings) > 1
        checks: list[BuildCheck] = []
        places: dict[str, str] = {}
        for teaching in order.teachings:
            with self._training_stacks(teaching.app) as training_stack:
                found = training_stack.examine(order.build_source.settings(place), order.build_source.expected)
            checks += [structs.replace(each, name=f"{each.name}, {teaching.app}") if several else each for each in found.checks]
            places |= found.places
        _refuse_wrong(checks, order)
        return StackFound(tuple(checks), places)


def _known_before(order: BuildOrder, kind: str, lessons: Sequence[Lesson]) -> Iterator[BuildCheck]:
    """What was looked at before a build was put together: its interpreter, how much was counted,
    for which machine it is."""
    yield interpreter(kind, platform.machine())
    if order.recipe.pgo:
        counted = ", ".join(f"{each.profiles} by {each.teaching.app}" for each in lessons)
        yield BuildCheck("profiles", ok=True, seen=f"files counted: {counted}; the compiler found all of them")
    if order.machine:
        yield BuildCheck("processor", ok=True, seen=f"march=native is {order.machine}")


def _refuse_wrong(checks: Sequence[BuildCheck], order: BuildOrder) -> None:
    """Raises Unusable for the first check that found something wrong."""
    wrong = next((check for check in checks if not check.ok), None)
    if wrong is not None:
        raise Unusable(f"this build may not be used: {wrong.name}: {wrong.seen}", where=order.recipe.name)


def _of_bolt(error: DynoError) -> DynoError:
    """What a failure under BOLT is: of BOLT, unless it is the control's."""
    if isinstance(error, ArmFailed) and error.arm.name not in {TRAINED, EXAMINED}:
        return error
    return NotLaidOut(str(error))


def earlier_tests(place: Path) -> BuildCheck | None:
    """What PHP's own tests said of the finished build in `place`, kept by the same key; None where
    they were not run. Raises DynoError."""
    kept = place.parents[1] / TESTS / place.name
    return _read(kept / TESTED, BuildCheck) if (kept / DONE).is_file() else None


def _read(path: Path, kind: type[_Record]) -> _Record:
    """What a finished step has left. Raises DynoError where that is damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, *NOT_JSON) as error:
        step = f"remove {path.parent}, and it is made anew"
        raise DynoError(f"what a step of a build left cannot be read: {error}", where=str(path), next_step=step) from error


def _keep(built: Built, place: Path) -> None:
    """Copy what was compiled out of a tree, where whatever compiled it may have put something else.
    Raises DynoError."""
    for path in (*built.programs.values(), *([built.opcache] if built.opcache else []), *built.added):
        take_file(path, place / path.name)


def _kept(place: Path) -> Built:
    opcache = place / MODULE
    added = tuple(sorted(path for path in place.glob("*.so") if path != opcache))
    return Built({name: place / name for name in PROGRAMS}, opcache if opcache.is_file() else None, added)


def _files_of(place: Path) -> list[Path]:
    """Files of a drop-in that are its own."""
    own = [path for path in place.iterdir() if path.is_file()]
    return sorted([*own, *(path for path in (place / EXTENSIONS).iterdir() if not path.is_symlink())])


def _binary(place: Path, path: Path) -> Binary:
    size, sections = 0, tuple[CodeSection, ...]()
    with suppress(DynoError):  # of a processor of 32 bits
        size, sections = text_kib(path), code_sections(path)
    return Binary(str(path.relative_to(place)), file_digest(path), read_build_id(path), size, sections)
