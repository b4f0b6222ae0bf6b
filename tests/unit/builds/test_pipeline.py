"""A step that does not come off is left out, tried again the next time, and both builds are kept."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import structs

from phpdyno.build import pipeline as module
from phpdyno.build.bolt import Moved
from phpdyno.build.order import Ground, Key, Order
from phpdyno.build.pipeline import COMPILED, LESSON, TESTED, TESTS, Pipeline, earlier_tests
from phpdyno.build.school import School
from phpdyno.build.training import Trained
from phpdyno.build.tree import Built, Tree
from phpdyno.build.workshop import DONE, Workshop, read_build
from phpdyno.errors import DynoError
from phpdyno.model.build import Build, Check, LaidOut, Lesson
from phpdyno.stack.supervise import Supervisor
from tests.unit.builds.test_order import GROUND, WORDPRESS, order
from tests.unit.builds.test_workshop import silent

NOBODY = cast(Supervisor, SimpleNamespace())
LEARNT = Lesson(WORDPRESS, 500, {"/": 500}, 4)


class FakeSchool:
    """Finds `wrong` programs wrong, by what is in them."""

    def __init__(self, wrong: tuple[str, ...]) -> None:
        self._wrong = wrong
        self.seen: list[str] = []

    @contextmanager
    def open(self, name: str) -> Iterator[School]:
        yield self

    def train(self, settings: dict[str, str], *, environment: dict[str, str], by_signals: bool) -> Trained:
        raise NotImplementedError

    def examine(self, settings: dict[str, str], *, compiled_in: Sequence[str] | None) -> Sequence[Check]:
        self.seen.append(Path(settings["php"]).read_text())
        return (Check("opcache", ok=self.seen[-1] not in self._wrong, seen="theirs is mapped"),)

    def writable(self, name: str) -> Path:
        raise NotImplementedError


class FakeLayout:
    """Lays out nothing, and `fails` where it is told to."""

    fails = ""
    place = Path()

    def __init__(self, *_: object) -> None: ...

    def of(self, wanted: Order, built: Built) -> tuple[dict[str, Moved], tuple[Lesson, ...]]:
        if self.fails:
            raise DynoError(self.fails)
        moved = self.place / "moved"
        moved.write_text("moved")
        return {"php-fpm": Moved(moved, LaidOut("php-fpm", (), ()))}, (LEARNT,)


class Yard:
    """A pipeline whose compiler is a fake: all that it makes is a program that says `compiled`."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.notes: list[str] = []
        self.shop = Workshop(place / "cache", silent)
        self.school = FakeSchool(())
        self._monkeypatch = monkeypatch
        (place / "compiled").write_text("compiled")
        built = Built({"php-fpm": place / "compiled"}, None)
        tree = SimpleNamespace(macros=lambda: "#define ZEND_VM_KIND ZEND_VM_KIND_HYBRID")
        monkeypatch.setattr(FakeLayout, "place", place)
        monkeypatch.setattr(module, "Layout", FakeLayout)
        monkeypatch.setattr(Pipeline, "_tree", lambda *_: tree)
        monkeypatch.setattr(Pipeline, "_compiled", lambda *_: (built, ()))

    def build(self, wanted: Order, *, fails: str = "", wrong: tuple[str, ...] = ()) -> tuple[Path, Build]:
        self._monkeypatch.setattr(FakeLayout, "fails", fails)
        self.school = FakeSchool(wrong)
        return Pipeline(self.shop, NOBODY, self.school.open, lambda *_: None, self.notes.append).build(wanted)


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return Yard(tmp_path, monkeypatch)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    return structs.replace(GROUND, theirs=theirs)


def test_what_bolt_laid_out_is_the_build(yard: Yard, ground: Ground) -> None:
    place, made = yard.build(order("bolt", ground=ground))
    assert (place / "php-fpm").read_text() == "moved"
    assert (made.skipped, made.lessons, [each.binary for each in made.laid_out]) == ({}, (LEARNT,), ["php-fpm"])


@pytest.mark.parametrize(
    ("fails", "wrong", "reason"),
    [
        ("BOLT is not installed", (), "BOLT is not installed"),
        ("", ("moved",), "this build may not be used: opcache: theirs is mapped"),
    ],
)
def test_a_layout_that_does_not_come_off_is_left_out_and_the_reason_recorded(
    yard: Yard, ground: Ground, fails: str, wrong: tuple[str, ...], reason: str
) -> None:
    place, made = yard.build(order("bolt", ground=ground), fails=fails, wrong=wrong)
    assert (place / "php-fpm").read_text() == "compiled"
    assert made.name.endswith("-without-bolt")
    assert reason in made.skipped["bolt"]
    assert reason in yard.notes[0]
    # Nothing was learnt that is in it.
    assert (made.lessons, made.laid_out) == ((), ())
    assert [found for found, _ in yard.shop.builds()] == [place]
    assert read_build(place).skipped == made.skipped


def test_a_build_records_the_package_that_it_was_made_for(yard: Yard, ground: Ground) -> None:
    _, made = yard.build(order("o2", ground=structs.replace(ground, package="php8.2-fpm", package_version="8.2.36-1+b1")))
    assert (made.package, made.package_version) == ("php8.2-fpm", "8.2.36-1+b1")


def test_it_is_tried_again_and_what_was_made_without_it_stays(yard: Yard, ground: Ground) -> None:
    wanted = order("bolt", ground=ground)
    without, first = yard.build(wanted, fails="no room")
    again, second = yard.build(wanted, fails="no BOLT")
    assert (again, second.name, second.skipped) == (without, first.name, {"bolt": "no BOLT"})
    assert yard.school.seen == []
    whole, third = yard.build(wanted)
    assert (third.skipped, third.name) == ({}, wanted.name)
    assert whole != without
    assert [(place / "php-fpm").read_text() for place in (without, whole)] == ["compiled", "moved"]
    assert yard.build(wanted, fails="not asked any more")[1] == third


def test_a_build_that_is_wrong_without_bolt_too_is_none(yard: Yard, ground: Ground) -> None:
    with pytest.raises(DynoError, match="bolt: this build may not be used: opcache: theirs is mapped"):
        yard.build(order("bolt", ground=ground), wrong=("moved", "compiled"))
    assert yard.shop.builds() == ()


def test_what_the_tests_of_php_said_is_found_beside_the_build_that_they_were_run_with(
    yard: Yard, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = Check("PHP's own tests", ok=False, seen="1 failed")
    monkeypatch.setattr(module, "run_own_tests", lambda *_: check)
    wanted = order("bolt", ground=ground)
    place, made = yard.build(wanted, fails="no BOLT")
    assert earlier_tests(place) is None
    pipeline = Pipeline(yard.shop, NOBODY, yard.school.open, lambda *_: None, yard.notes.append)
    assert pipeline.tested(wanted.without(made.skipped), place) == check
    assert earlier_tests(place) == check
    assert earlier_tests(yard.build(wanted)[0]) is None


@pytest.mark.parametrize("text", [b"{", b'{"name": "\xff"}', b"{}", None])
def test_what_a_step_left_and_was_damaged_since_is_one_line(yard: Yard, ground: Ground, text: bytes | None) -> None:
    place, _ = yard.build(order("o2", ground=ground))
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
    shop.made(kind, key, lambda place: leave(place / name, b"{"))
    pipeline = Pipeline(shop, NOBODY, FakeSchool(()).open, lambda *_: None, lambda _: None)
    with pytest.raises(DynoError, match=f"{name}: what a step of a build left cannot be read"):
        pipeline._taught(order("pgo"), cast(Tree, SimpleNamespace()))


def leave(path: Path, data: bytes) -> None:
    path.write_bytes(data)
