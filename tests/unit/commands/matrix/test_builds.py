"""Which builds a matrix measures: those that have their whole recipe; compiling is replaced by a
fake here."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.build.builder import Trainee
from phpdyno.commands.build.sources import SourceRequest
from phpdyno.commands.matrix import run as workflow
from phpdyno.commands.matrix.run import MatrixRequest
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError
from phpdyno.model.build import Build, Teaching
from phpdyno.model.recipe import Recipe
from phpdyno.model.runs.matrix import ALL
from phpdyno.php_build.train.training import TrainingLength
from tests.support.fakes.fake_study import FakeProgress
from tests.support.made_up.builds import BUILD
from tests.support.made_up.ladders import TEACHING, matrix_record

CRASHED = {"bolt": "BOLT (optimise) failed: it crashed"}


class FakeSite:
    """On which BOLT fails for whatever some apps have trained."""

    def __init__(self, *fails: str) -> None:
        self._fails = fails

    @contextmanager
    def open(self, foundation: SourceRequest, **_: object) -> Iterator["FakeSite"]:
        assert foundation.laid_out  # BOLT is asked for before anything is compiled
        yield self

    def taught_by(self, trainee: Trainee, training_length: TrainingLength) -> Teaching:
        return structs.replace(TEACHING, app=trainee.reference, reference=trainee.reference)

    def build(self, recipe: Recipe, teachings: Sequence[Teaching], *, title: str) -> tuple[Path, Build]:
        apps = [each.app for each in teachings]
        fails = recipe.bolt and not set(self._fails).isdisjoint(apps)
        return Path("/cache"), structs.replace(BUILD, name="-".join((recipe.name, *apps)), recipe=recipe, skipped=CRASHED if fails else {})


def made(monkeypatch: pytest.MonkeyPatch, *fails: str) -> dict[str, Build]:
    monkeypatch.setattr(workflow, "open_build_session", FakeSite(*fails).open)
    wish = MatrixRequest((Trainee("wordpress"), Trainee("hello")), parse_recipe("pgo+bolt"))
    return workflow._build(wish, logs=Path("/logs"), progress=FakeProgress()).profiled


def test_one_without_a_step_of_its_recipe_is_measured_in_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    profiled = made(monkeypatch, "hello")
    assert {name: each.skipped for name, each in profiled.items()} == {"wordpress": {}, "hello": CRASHED, ALL: CRASHED}
    whole = matrix_record()
    record = structs.replace(
        whole,
        profiles={name: each.name for name, each in profiled.items()},
        builds={whole.plain: whole.builds[whole.plain], **{each.name: each for each in profiled.values()}},
    )
    assert workflow.question_of(record, record.apps[1]).treatments == ("build=pgo+bolt-wordpress",)


def test_a_matrix_of_nothing_whole_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DynoError, match=r"no build has all of its recipe: pgo\+bolt: without bolt: .*it crashed; leave that step out"):
        made(monkeypatch, "wordpress", "hello")
