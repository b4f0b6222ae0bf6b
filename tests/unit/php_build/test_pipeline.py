"""A step that does not come off is left out, tried again the next time, and both builds are
kept."""

import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import structs

from phpdyno.errors import DynoError
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.build import Build, BuildCheck, LaidOut, Lesson
from phpdyno.php_build import pipeline as module
from phpdyno.php_build.compile.leftovers import forget_compiling
from phpdyno.php_build.compile.tree import Built, SourceTree
from phpdyno.php_build.order import BuildOrder, BuildSource, Expected, Key
from phpdyno.php_build.pipeline import COMPILED, LESSON, TESTED, TESTS, Pipeline, earlier_tests
from phpdyno.php_build.train.beside import WrongAnswer
from phpdyno.php_build.train.bolt import BoltError, Moved
from phpdyno.php_build.train.stack import EXAMINED, TRAINED, StackFound, TrainingStack
from phpdyno.php_build.train.training import Trained
from phpdyno.php_build.workshop import DONE, Workshop, read_build
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.unit.php_build.compile.test_leftovers import commands_in, files, filled
from tests.unit.php_build.fakes import FakeSupervisor
from tests.unit.php_build.test_order import GROUND, WORDPRESS, order
from tests.unit.php_build.test_workshop import silent


def nobody(place: Path) -> Supervisor:
    return cast(Supervisor, FakeSupervisor(place / "live"))


CONTROL = Arm("control", PhpBuild("/usr/sbin/php-fpm8.2", "8.2.36"))
LEARNT = Lesson(WORDPRESS, 500, {"/": 500}, 4)


class FakeSchool:
    """Finds `wrong` programs wrong, by what is in them; those in `fails` fail."""

    def __init__(self, wrong: tuple[str, ...], fails: Mapping[str, DynoError] | None = None) -> None:
        self._wrong = wrong
        self._fails = fails or {}
        self.seen: list[str] = []
        self.expected: list[Expected] = []

    @contextmanager
    def open(self, name: str) -> Iterator[TrainingStack]:
        yield self

    def train(self, settings: dict[str, str], *, environment: dict[str, str], by_signals: bool) -> Trained:
        raise NotImplementedError

    def start(self, settings: dict[str, str]) -> None:
        raise NotImplementedError

    def examine(self, settings: dict[str, str], expected: Expected) -> StackFound:
        self.seen.append(Path(settings["php"]).read_text())
        self.expected.append(expected)
        if self.seen[-1] in self._fails:
            raise self._fails[self.seen[-1]]
        return StackFound(
            (BuildCheck("opcache", ok=self.seen[-1] not in self._wrong, seen="theirs is mapped"),), {"session.save_path": "/var/sessions"}
        )

    def writable(self, name: str) -> Path:
        raise NotImplementedError


class FakeLayout:
    """Lays out nothing, and raises what it is told to."""

    fails: DynoError | None = None
    place = Path()

    def __init__(self, *_: object) -> None: ...

    def of(self, wanted: BuildOrder, built: Built) -> tuple[dict[str, Moved], tuple[Lesson, ...]]:
        if self.fails:
            raise self.fails
        moved = self.place / "moved"
        moved.write_text("moved")
        return {"php-fpm": Moved(moved, LaidOut("php-fpm", (), ()))}, (LEARNT,)


class Yard:
    """A pipeline whose compiler is a fake: all that it makes is a program that says `compiled`."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.notes: list[str] = []
        self.shop = Workshop(place / "cache", silent)
        self.training_stack = FakeSchool(())
        self._monkeypatch = monkeypatch
        (place / "compiled").write_text("compiled")
        built = Built({"php-fpm": place / "compiled"}, None)
        tree = SimpleNamespace(macros=lambda: "#define ZEND_VM_KIND ZEND_VM_KIND_HYBRID")
        monkeypatch.setattr(FakeLayout, "place", place)
        monkeypatch.setattr(module, "CodeLayout", FakeLayout)
        monkeypatch.setattr(Pipeline, "_tree", lambda *_: tree)
        monkeypatch.setattr(Pipeline, "_compiled", lambda *_: (built, ()))

    def build(
        self, wanted: BuildOrder, *, fails: str | DynoError = "", wrong: tuple[str, ...] = (), broken: Mapping[str, DynoError] | None = None
    ) -> tuple[Path, Build]:
        """`fails`: what goes wrong while BOLT lays out, a text for what is BOLT's own fault."""
        self._monkeypatch.setattr(FakeLayout, "fails", BoltError(fails) if isinstance(fails, str) and fails else fails or None)
        self.training_stack = FakeSchool(wrong, broken)
        return Pipeline(self.shop, nobody(self.shop.home), self.training_stack.open, lambda *_: None, self.notes.append).build(wanted)


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return Yard(tmp_path, monkeypatch)


@pytest.fixture
def build_source(tmp_path: Path) -> BuildSource:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    return structs.replace(GROUND, theirs=theirs)


def test_what_bolt_laid_out_is_the_build(yard: Yard, build_source: BuildSource) -> None:
    place, made = yard.build(order("bolt", build_source=build_source))
    assert (place / "php-fpm").read_text() == "moved"
    assert made.places == {"session.save_path": "/var/sessions"}
    assert (made.skipped, made.lessons, [each.binary for each in made.laid_out]) == ({}, (LEARNT,), ["php-fpm"])


@pytest.mark.parametrize(
    ("fails", "wrong", "reason"),
    [
        ("BOLT is not installed", (), "BOLT is not installed"),
        ("", ("moved",), "this build may not be used: opcache: theirs is mapped"),
    ],
)
def test_a_layout_that_does_not_come_off_is_left_out_and_the_reason_recorded(
    yard: Yard, build_source: BuildSource, fails: str, wrong: tuple[str, ...], reason: str
) -> None:
    place, made = yard.build(order("bolt", build_source=build_source), fails=fails, wrong=wrong)
    assert (place / "php-fpm").read_text() == "compiled"
    assert made.name.endswith("-without-bolt")
    assert reason in made.skipped["bolt"]
    assert reason in yard.notes[0]
    # Nothing was learnt that is in it.
    assert (made.lessons, made.laid_out) == ((), ())
    assert [found for found, _ in yard.shop.builds()] == [place]
    assert read_build(place).skipped == made.skipped


def test_a_build_records_the_package_that_it_was_made_for(yard: Yard, build_source: BuildSource) -> None:
    _, made = yard.build(order("o2", build_source=structs.replace(build_source, package="php8.2-fpm", package_version="8.2.36-1+b1")))
    assert (made.package, made.package_version) == ("php8.2-fpm", "8.2.36-1+b1")


def test_it_is_tried_again_and_what_was_made_without_it_stays(yard: Yard, build_source: BuildSource) -> None:
    wanted = order("bolt", build_source=build_source)
    without, first = yard.build(wanted, fails="no room")
    again, second = yard.build(wanted, fails="no BOLT")
    assert (again, second.name, second.skipped) == (without, first.name, {"bolt": "no BOLT"})
    assert yard.training_stack.seen == []
    whole, third = yard.build(wanted)
    assert (third.skipped, third.name) == ({}, wanted.name)
    assert whole != without
    assert [(place / "php-fpm").read_text() for place in (without, whole)] == ["compiled", "moved"]
    assert yard.build(wanted, fails="not asked any more")[1] == third


def test_a_build_that_is_wrong_without_bolt_too_is_none(yard: Yard, build_source: BuildSource) -> None:
    with pytest.raises(DynoError, match="bolt: this build may not be used: opcache: theirs is mapped"):
        yard.build(order("bolt", build_source=build_source), wrong=("moved", "compiled"))
    assert yard.shop.builds() == ()


@pytest.mark.parametrize(
    "fault",
    [
        DynoError("mariadbd did not start"),
        ArmFailed(CONTROL, "php-fpm does not start"),
    ],
)
def test_what_is_no_fault_of_bolts_is_one_of_the_whole_build(yard: Yard, build_source: BuildSource, fault: DynoError) -> None:
    with pytest.raises(type(fault), match=fault.what) as raised:
        yard.build(order("bolt", build_source=build_source), fails=fault)
    assert raised.value is fault
    assert (yard.notes, yard.shop.builds()) == ([], ())


def test_what_answers_wrongly_before_bolt_touched_it_is_no_fault_of_bolts(yard: Yard, build_source: BuildSource) -> None:
    counting = WrongAnswer("it does not answer as the control does: status 500", where=TRAINED)
    compiled = WrongAnswer("what was built answers differently: status 500", where=EXAMINED)
    with pytest.raises(WrongAnswer) as raised:
        yard.build(order("bolt", build_source=build_source), fails=counting, broken={"compiled": compiled})
    assert raised.value is compiled
    assert (yard.notes, yard.shop.builds()) == ([], ())


def test_a_control_that_fails_beside_what_was_laid_out_is_no_fault_of_bolts_either(yard: Yard, build_source: BuildSource) -> None:
    with pytest.raises(ArmFailed, match="does not start"):
        yard.build(order("bolt", build_source=build_source), broken={"moved": ArmFailed(CONTROL, "php-fpm does not start")})
    assert yard.notes == []


@pytest.mark.parametrize(
    ("fails", "broken"),
    [
        (ArmFailed(structs.replace(CONTROL, name=TRAINED), "it ended by SIGSEGV"), {}),
        # nginx answers for a worker that is gone.
        (WrongAnswer("status 502: it ended by SIGSEGV", where=TRAINED), {}),
        ("", {"moved": ArmFailed(structs.replace(CONTROL, name=EXAMINED), "it ended by SIGSEGV")}),
        ("", {"moved": WrongAnswer("it ended by SIGSEGV", where=EXAMINED)}),
    ],
)
def test_what_bolt_made_and_does_not_run_is_left_out(
    yard: Yard, build_source: BuildSource, fails: str | DynoError, broken: Mapping[str, DynoError]
) -> None:
    place, made = yard.build(order("bolt", build_source=build_source), fails=fails, broken=broken)
    assert (place / "php-fpm").read_text() == "compiled"
    assert "it ended by SIGSEGV" in made.skipped["bolt"]


def test_a_slow_interpreter_is_found_before_anything_is_compiled(
    yard: Yard, build_source: BuildSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = SimpleNamespace(macros=lambda: "#define ZEND_VM_KIND ZEND_VM_KIND_CALL")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(Pipeline, "_tree", lambda *_: tree)
    monkeypatch.setattr(Pipeline, "_compiled", lambda *_: pytest.fail("it is compiled"))
    with pytest.raises(DynoError, match="o2: this build may not be used: interpreter: CALL"):
        yard.build(order("o2", build_source=build_source))


def test_a_build_records_its_interpreter_and_the_machine_that_it_is_for(yard: Yard, build_source: BuildSource) -> None:
    _, made = yard.build(structs.replace(order("march=native", build_source=build_source), machine="znver3, 1a2b3c4d"))
    seen = {each.name: each.seen for each in made.checks}
    assert (seen["interpreter"], seen["processor"]) == ("HYBRID", "march=native is znver3, 1a2b3c4d")
    assert yard.training_stack.expected == [build_source.expected]


def test_what_the_tests_of_php_said_is_found_beside_the_build_that_they_were_run_with(
    yard: Yard, build_source: BuildSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = BuildCheck("PHP's own tests", ok=False, seen="1 failed")
    monkeypatch.setattr(module, "run_own_tests", lambda *_: check)
    wanted = order("bolt", build_source=build_source)
    place, made = yard.build(wanted, fails="no BOLT")
    assert earlier_tests(place) is None
    pipeline = Pipeline(yard.shop, nobody(yard.shop.home), yard.training_stack.open, lambda *_: None, yard.notes.append)
    assert pipeline.tested(wanted.without(made.skipped), place) == check
    assert earlier_tests(place) == check
    assert earlier_tests(yard.build(wanted)[0]) is None


def test_tests_that_failed_are_run_again_and_those_that_passed_are_not(
    yard: Yard, build_source: BuildSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [BuildCheck("PHP's own tests", ok=ok, seen="said") for ok in (False, True)]
    monkeypatch.setattr(module, "run_own_tests", lambda *_: said.pop(0))
    wanted = order("o2", build_source=build_source)
    place, _ = yard.build(wanted)
    pipeline = Pipeline(yard.shop, nobody(yard.shop.home), yard.training_stack.open, lambda *_: None, yard.notes.append)
    assert [pipeline.tested(wanted, place).ok for _ in range(3)] == [False, True, True]
    assert earlier_tests(place) == BuildCheck("PHP's own tests", ok=True, seen="said")


class FakeTree:
    """Is configured, and knows no option."""

    asked: list[tuple[tuple[str, ...], bool]]

    def __init__(self, place: Path, *_: object) -> None:
        self.place = place

    def configure(self, options: tuple[str, ...], *, anew: bool) -> None:
        self.asked.append((options, anew))

    def help(self) -> str:
        return "--enable-cli"

    def forget_compiling(self) -> None:
        forget_compiling(commands_in(self.place))


@pytest.mark.parametrize("kind", ["debian", "archive"])
def test_a_tree_is_a_copy_without_what_was_compiled_in_it_before_and_options_that_it_ignores_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    notes: list[str] = []
    source = filled(tmp_path / "source", "configure", ".git/HEAD", "config.status", "main/main.lo", "main/main.c", DONE)
    monkeypatch.setattr(FakeTree, "asked", [], raising=False)
    monkeypatch.setattr(module, "SourceTree", FakeTree)
    build_source = structs.replace(GROUND, source=source, origin=structs.replace(GROUND.origin, kind=kind))
    pipeline = Pipeline(Workshop(tmp_path, silent), nobody(tmp_path), FakeSchool(()).open, lambda *_: None, notes.append)
    tree = pipeline._tree(order("o2", build_source=build_source))
    assert files(tree.place) == {"configure", "main/main.c"}
    assert (tree.place.parent / DONE).is_file()
    # Debian's patches are in the macros that its configure was made of.
    assert FakeTree.asked == [(GROUND.options, kind == "debian")]
    assert notes == ([] if kind == "debian" else ["the configure of this source ignores what it does not know: --enable-fpm"])


def test_a_tree_whose_configure_failed_is_configured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source of the cache holds a record that it is whole."""

    def fail(*_: object, **__: object) -> None:
        raise DynoError("configure failed: no libxml2")

    monkeypatch.setattr(module, "SourceTree", FakeTree)
    build_source = structs.replace(GROUND, source=filled(tmp_path / "source", "configure", DONE))
    pipeline = Pipeline(Workshop(tmp_path, silent), nobody(tmp_path), FakeSchool(()).open, lambda *_: None, lambda _: None)
    with monkeypatch.context() as patched:
        patched.setattr(FakeTree, "configure", fail)
        with pytest.raises(DynoError, match="no libxml2"):
            pipeline._tree(order("o2", build_source=build_source))
    monkeypatch.setattr(FakeTree, "asked", [], raising=False)
    pipeline._tree(order("o2", build_source=build_source))
    assert len(FakeTree.asked) == 1


def test_a_cache_that_was_copied_has_trees_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SourceTree", FakeTree)
    monkeypatch.setattr(FakeTree, "asked", [], raising=False)
    build_source = structs.replace(GROUND, source=filled(tmp_path / "source", "configure"))
    for cache in ("one", "two"):
        shop = Workshop(tmp_path / cache, silent)
        Pipeline(shop, nobody(tmp_path), FakeSchool(()).open, lambda *_: None, lambda _: None)._tree(order("o2", build_source=build_source))
        if cache == "one":
            shutil.copytree(tmp_path / "one", tmp_path / "two")
    assert len(FakeTree.asked) == 2


def test_what_counts_there_writes_its_profile_for_the_place_that_it_was_compiled_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    monkeypatch.setattr(module, "_keep", lambda built, place: made.append(place))
    tree = cast(SourceTree, SimpleNamespace(place=tmp_path, compile=lambda *_, **__: None, teach=lambda _: None, objects=lambda: 3))
    for cache in ("one", "two"):
        shop = Workshop(tmp_path / cache, silent)
        for _ in range(2):
            Pipeline(shop, nobody(tmp_path), FakeSchool(()).open, lambda *_: None, lambda _: None)._trainee(order("pgo"), tree)
        if cache == "one":
            shutil.copytree(tmp_path / "one", tmp_path / "two")
    assert [place.relative_to(tmp_path).parts[0] for place in made] == ["one", "two"]


@pytest.mark.parametrize("text", [b"{", b'{"name": "\xff"}', b"{}", None])
def test_what_a_step_left_and_was_damaged_since_is_one_line(yard: Yard, build_source: BuildSource, text: bytes | None) -> None:
    place, _ = yard.build(order("o2", build_source=build_source))
    kept = place.parents[1] / TESTS / place.name
    kept.mkdir(parents=True)
    (kept / DONE).touch()
    if text is not None:
        (kept / TESTED).write_bytes(text)
    with pytest.raises(DynoError, match=rf"{kept / TESTED}: what a step of a build left cannot be read: .*; remove {kept}, and it is made"):
        earlier_tests(place)


@pytest.mark.parametrize(
    ("kind", "key", "name"),
    [("profiles", order("pgo").profile(WORDPRESS), LESSON), ("trainees", order("pgo").trainee, COMPILED)],
)
def test_so_is_what_was_learnt_and_how_much_was_compiled(tmp_path: Path, kind: str, key: Key, name: str) -> None:
    shop = Workshop(tmp_path, silent)
    pipeline = Pipeline(shop, nobody(tmp_path), FakeSchool(()).open, lambda *_: None, lambda _: None)
    here = pipeline._here(key) if kind == "trainees" else key
    shop.made(kind, here, lambda place: leave(place / name, b"{"))
    with pytest.raises(DynoError, match=f"{name}: what a step of a build left cannot be read"):
        pipeline._taught(order("pgo"), cast(SourceTree, SimpleNamespace()))


def leave(path: Path, data: bytes) -> None:
    path.write_bytes(data)
