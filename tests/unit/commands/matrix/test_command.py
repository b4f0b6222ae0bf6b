"""What `phpdyno matrix` refuses before anything is built."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec import structs

from phpdyno.commands.common.options import RECIPE, TRAINING, BuildSourceOptions
from phpdyno.commands.matrix import command
from phpdyno.commands.matrix import run as workflow
from phpdyno.commands.matrix.command import run
from phpdyno.commands.matrix.options import MatrixOptions
from phpdyno.errors import UsageError
from phpdyno.journal.matrix import write_matrix
from tests.support.made_up.ladders import matrix_record

APPS = ("hello", "symfony-hello")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"apps": ()}, "phpdyno matrix: a build needs an app"),
        ({"apps": ("hello",)}, "phpdyno matrix: a matrix has two apps at least; give another app"),
        ({"apps": ("hello", "hello=2")}, "phpdyno matrix: hello is named twice"),
        ({"apps": ("hello", "symfony-hallo")}, "symfony-hallo: .*symfony-hello"),
        ({"apps": ("hello", "symfony-hello=0.5")}, "symfony-hello=0.5: an app weighs a whole number"),
        ({"recipe": "o3"}, "--recipe: this recipe learns nothing from an app; give one with pgo or bolt"),
        ({"recipe": "pogo"}, "'pogo' is no part of a recipe"),
        ({"margin": "none"}, "--margin"),
        ({"confidence": "100%"}, "--confidence"),
        ({"budget": "soon"}, "--budget"),
        ({"build_source": BuildSourceOptions(checksum="c0de")}, "--checksum c0de: a checksum belongs to --source"),
    ],
)
def test_what_cannot_be_built_or_measured_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr(workflow, "open_build_session", lambda *_, **__: pytest.fail("nothing is built"))
    usual = MatrixOptions(APPS, BuildSourceOptions(), RECIPE, TRAINING, "1%", "95%", "10m", 1, tmp_path / "runs", None, json=True)
    with pytest.raises(UsageError, match=said):
        run(replace(usual, **changed))
    assert not (tmp_path / "runs").exists()


def asked(tmp_path: Path, *apps: str, budget: str | None = None, resume: Path | None = None) -> MatrixOptions:
    return MatrixOptions(apps, BuildSourceOptions(), RECIPE, TRAINING, "1%", "95%", budget, 1, tmp_path / "runs", resume, json=True)


def test_namesakes_are_refused_before_anything_is_built(tmp_path: Path) -> None:
    (tmp_path / "index.php").write_text("<?php echo 1;")
    (tmp_path / "app.toml").write_text('name = "hello"\ndocroot = "."\n\n[[target]]\npath = "/"\n')
    with pytest.raises(UsageError, match=r"hello: two of these apps have one name; give each its own name in app\.toml"):
        run(asked(tmp_path, "hello", str(tmp_path)))


def test_a_matrix_that_is_resumed_keeps_its_apps(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--resume with hello: a matrix that is resumed keeps its apps"):
        run(asked(tmp_path, "hello", resume=tmp_path))


@pytest.mark.parametrize(("state", "status"), [("done", 0), ("failed", 1)])
def test_a_comparison_that_is_missing_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], state: Literal["done", "failed"], status: int
) -> None:
    budgets: list[float | None] = []

    def resumed(place: Path, *, budget_s: float | None, **_: object) -> Path:
        budgets.append(budget_s)
        return place

    record = matrix_record()
    (tmp_path / "run").mkdir()
    write_matrix(tmp_path / "run", structs.replace(record, apps=tuple(structs.replace(each, state=state) for each in record.apps)))
    monkeypatch.setattr(command, "resume_matrix", resumed)
    assert run(asked(tmp_path, budget="14m", resume=tmp_path / "run")) == status
    assert budgets == [840.0]
    assert ("go on with: phpdyno matrix --resume" in capsys.readouterr().err) == bool(status)
