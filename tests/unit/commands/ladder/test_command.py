"""What `phpdyno ladder` refuses before anything is built, what it climbs by, and how it ends."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from phpdyno.commands.common.options import BuildSourceOptions
from phpdyno.commands.ladder import command
from phpdyno.commands.ladder import run as workflow
from phpdyno.commands.ladder.command import climb_of, run
from phpdyno.commands.ladder.options import LadderOptions
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import UsageError
from phpdyno.php_build.rungs import RUNGS


def asked(tmp_path: Path, **changed: Any) -> LadderOptions:
    return replace(LadderOptions("hello", runs=tmp_path / "runs", json=True), **changed)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"reference": ""}, "phpdyno ladder APP: a ladder needs an app"),
        ({"reference": "halo"}, "halo: .*hello"),
        ({"recipes": ("pgo", "o2", "pgo")}, "--recipe: pgo is climbed twice; leave one of the two out"),
        ({"recipes": ("lto+pgo", "pgo+lto")}, r"lto\+pgo is climbed twice"),
        ({"recipes": ("pogo",)}, "'pogo' is no part of a recipe"),
        ({"margin": "none"}, "--margin"),
        ({"confidence": "100%"}, "--confidence"),
        ({"budget": "soon"}, "--budget: 'soon' is not a duration"),
        ({"training": "0s"}, "--training: '0s' is not a duration"),
        ({"build_source": BuildSourceOptions(checksum="c0de")}, "--checksum c0de: a checksum belongs to --source"),
        ({"resume": Path("/runs/one")}, "--resume with hello: a ladder that is resumed keeps its app"),
        ({"reference": "", "resume": Path("/runs/one"), "budget": "soon"}, "--budget: 'soon' is not a duration"),
    ],
)
def test_what_cannot_be_built_or_measured_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr(workflow, "open_build_session", lambda *_, **__: pytest.fail("nothing is built"))
    with pytest.raises(UsageError, match=said):
        run(asked(tmp_path, **changed))
    assert not (tmp_path / "runs").exists()


def test_what_is_not_said_is_usual(tmp_path: Path) -> None:
    usual = climb_of(asked(tmp_path), Console())
    assert ([each.name for each in usual.recipes], usual.knobs, usual.question.budget_s) == (
        [parse_recipe(each).name for each in RUNGS],
        True,
        900.0,
    )
    own = climb_of(asked(tmp_path, recipes=("o2", "pgo"), no_knobs=True, budget="2m"), Console())
    assert ([each.name for each in own.recipes], own.knobs, own.question.budget_s) == (["o2", "pgo"], False, 120.0)


@pytest.mark.parametrize(("outcome", "code"), [("finished", 0), ("unfinished", 1)])
def test_what_is_not_measured_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], outcome: str, code: int
) -> None:
    place = tmp_path / "runs" / "one"
    monkeypatch.setattr(command, "ladder", lambda *_, **__: place)
    monkeypatch.setattr(command, "report_ladder", lambda *_, **__: SimpleNamespace(outcome=outcome))
    assert run(asked(tmp_path)) == code
    said = capsys.readouterr().err.replace("\n", "")
    assert (f"phpdyno: not finished; go on with: phpdyno ladder --resume {place}" in said) == (code == 1)
