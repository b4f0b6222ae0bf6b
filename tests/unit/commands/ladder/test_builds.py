"""Which recipes a ladder climbs: what is built whole; compiling is replaced by a fake here."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.build.builder import Trainee
from phpdyno.commands.compare.run import CompareRequest
from phpdyno.commands.ladder import run as workflow
from phpdyno.commands.ladder.run import LadderRequest
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError
from phpdyno.journal.ladder import LadderRecord
from phpdyno.model.build import Build, Teaching
from phpdyno.model.plan import AppSource
from phpdyno.model.recipe import Recipe
from phpdyno.php_build.train.training import TrainingLength
from tests.support.fakes.fake_study import FakeProgress
from tests.support.made_up.builds import BUILD
from tests.support.made_up.ladders import TEACHING

NO_BOLT = {"bolt": "BOLT is not installed"}


class FakeSite:
    """Has no BOLT, and no march=z80."""

    @contextmanager
    def open(self, *_: object, progress: FakeProgress, **__: object) -> Iterator["FakeSite"]:
        self._progress = progress
        yield self

    def taught_by(self, trainee: Trainee, training_length: TrainingLength) -> Teaching:
        return TEACHING

    def build(self, recipe: Recipe, teachings: Sequence[Teaching], *, title: str) -> tuple[Path, Build]:
        self._progress.phase(title)
        if recipe.march:
            raise DynoError("no such machine")
        return Path("/cache"), structs.replace(BUILD, name=f"{recipe.name}-1", recipe=recipe, skipped=NO_BOLT if recipe.bolt else {})


def climbed(monkeypatch: pytest.MonkeyPatch, *recipes: str, bolt: str = "", progress: FakeProgress | None = None) -> LadderRecord:
    """`bolt`: why that is not there."""

    def ask() -> Path:
        if bolt:
            raise DynoError(bolt)
        return Path("/llvm-bolt")

    monkeypatch.setattr(workflow, "require_bolt", ask)
    monkeypatch.setattr(workflow, "open_build_session", FakeSite().open)
    climb = LadderRequest(tuple(map(parse_recipe, recipes)), CompareRequest(source=AppSource("wordpress")))
    return workflow.build_steps(climb, logs=Path("/logs"), progress=progress or FakeProgress())


def test_what_is_without_a_part_of_its_recipe_is_a_step_that_says_why_and_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    record = climbed(monkeypatch, "march=z80", "pgo", "pgo+bolt")
    assert [(each.name, each.spec, each.failed) for each in record.steps] == [
        ("march=z80", "", "no such machine"),
        ("pgo", "build=pgo-1", ""),
        ("pgo+bolt", "", "without bolt: BOLT is not installed"),
    ]
    assert list(record.builds) == ["pgo-1"]


def test_a_ladder_of_nothing_whole_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DynoError, match=r"bolt, march=z80: none of these recipes can be built; without bolt: BOLT is not installed"):
        climbed(monkeypatch, "bolt", "march=z80")


def test_that_bolt_is_not_there_is_said_before_anything_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = FakeProgress()
    record = climbed(monkeypatch, "o2", "bolt", "pgo+bolt", bolt="BOLT is not installed", progress=progress)
    assert {each.name: each.failed for each in record.steps} == {
        "o2": "",
        "bolt": "BOLT is not installed",
        "pgo+bolt": "BOLT is not installed",
    }
    assert progress.notes == ["bolt is not climbed: BOLT is not installed", "pgo+bolt is not climbed: BOLT is not installed"]
    assert progress.phases == ["build 1 of 1: o2"]


def test_a_ladder_that_wants_bolt_alone_opens_no_site_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeSite, "open", lambda *_, **__: pytest.fail("a source is fetched"))
    with pytest.raises(DynoError, match="bolt: none of these recipes can be built; BOLT is not installed"):
        climbed(monkeypatch, "bolt", bolt="BOLT is not installed")
