"""What BOLT is told to count, and by which counts it lays out. Servers and BOLT are fakes."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from phpdyno.errors import DynoError
from phpdyno.model.build import LaidOut
from phpdyno.php_build.compile.tree import Built
from phpdyno.php_build.order import BuildOrder, Expected
from phpdyno.php_build.train import layout as module
from phpdyno.php_build.train.bolt import BoltError, Moved
from phpdyno.php_build.train.layout import CodeLayout
from phpdyno.php_build.train.stack import StackFound, TrainingStack
from phpdyno.php_build.train.training import Trained
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.unit.php_build.test_order import GROUND, WORDPRESS, order

REQUESTS = 500
START = 1_000


class FakeBolt:
    """Copies what it is to lay out, cannot have `lost` counted, and notes what it merges."""

    merged: list[list[str]]

    def __init__(self, _: Supervisor) -> None: ...

    def instrument(self, binary: Path, made: Path, profile: Path) -> tuple[str, ...]:
        made.write_bytes(binary.read_bytes())
        return ("lost",)

    def merge(self, profiles: list[Path], into: Path) -> None:
        self.merged.append([path.read_text() for path in profiles])
        into.write_text("".join(path.read_text() for path in profiles))

    def optimise(self, binary: Path, profile: Path, made: Path) -> Moved:
        return Moved(made, LaidOut(binary.name, (), ("unread",)))


class FakeSchool:
    """Its workers count as many branches as they are told to, and START of them before the
    length of the training."""

    def __init__(self, place: Path, counted: int) -> None:
        self._place = place
        self._counted = counted

    def writable(self, name: str) -> Path:
        place = self._place / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        return place

    def start(self, settings: dict[str, str]) -> None:
        (self._place / "bolt-profiles" / "php-fpm.6.fdata").write_text(f"1 a 0 1 b 0 0 {START}\n1 main 0 1 a 0 0 1\n")

    def train(self, settings: dict[str, str], *, environment: dict[str, str], by_signals: bool) -> Trained:
        (self._place / "bolt-profiles" / "php-fpm.7.fdata").write_text(f"1 a 0 1 b 0 0 {self._counted}\n1 main 0 1 a 0 0 1\n")
        return Trained(REQUESTS, {"/": REQUESTS})

    def examine(self, settings: dict[str, str], expected: Expected) -> StackFound:
        raise NotImplementedError


@pytest.fixture
def wanted() -> BuildOrder:
    """Two apps, the second of three times the weight."""
    second = structs.replace(WORDPRESS, app="mediawiki", weight=3.0)
    return structs.replace(order("bolt", build_source=structs.replace(GROUND, theirs=None)), teachings=(WORDPRESS, second))


def laid_out(place: Path, wanted: BuildOrder, monkeypatch: pytest.MonkeyPatch, *counted: int) -> dict[str, Moved]:
    """By training stacks whose workers have counted so many branches, one after the other."""
    program = place / "php-fpm"
    program.write_bytes(b"ELF")
    left = iter(counted)

    @contextmanager
    def training_stacks(name: str) -> Iterator[TrainingStack]:
        yield FakeSchool(place / name, next(left))

    monkeypatch.setattr(module, "Bolt", FakeBolt)
    monkeypatch.setattr(FakeBolt, "merged", [], raising=False)
    supervisor = cast(Supervisor, SimpleNamespace(live=place))
    return CodeLayout(supervisor, training_stacks, lambda *_: None).of(wanted, Built({"php-fpm": program}, None))[0]


def test_an_app_counts_as_often_as_it_weighs_and_by_its_course_alone(
    tmp_path: Path, wanted: BuildOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out(tmp_path, wanted, monkeypatch, 70_000, 80_000)
    assert FakeBolt.merged[-1] == ["1 a 0 1 b 0 0 69000\n", *["1 a 0 1 b 0 0 79000\n"] * 3]


def test_what_could_not_be_counted_is_named_beside_what_could_not_be_read(
    tmp_path: Path, wanted: BuildOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = laid_out(tmp_path, wanted, monkeypatch, 70_000, 80_000)
    assert moved["php-fpm"].told.not_read == ("lost", "unread")


def test_an_app_whose_workers_have_counted_next_to_nothing_is_a_fault(
    tmp_path: Path, wanted: BuildOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BoltError, match=r"has counted its 500 requests \(4999 branches and calls\)"):
        laid_out(tmp_path, wanted, monkeypatch, 70_000, 4_998)


def test_a_link_that_an_app_leaves_among_the_profiles_is_not_read(
    tmp_path: Path, wanted: BuildOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("1 root 0 1 root 0 0 70000\n")
    honest = FakeSchool.train

    def train(self: FakeSchool, settings: dict[str, str], **options: Any) -> Trained:
        (self._place / "bolt-profiles/php-fpm.8.fdata").symlink_to(secret)
        return honest(self, settings, **options)

    monkeypatch.setattr(FakeSchool, "train", train)
    with pytest.raises(DynoError, match=r"php-fpm\.8\.fdata: this profile cannot be taken"):
        laid_out(tmp_path, wanted, monkeypatch, 70_000, 80_000)
    assert not any("root" in text for texts in FakeBolt.merged for text in texts)
