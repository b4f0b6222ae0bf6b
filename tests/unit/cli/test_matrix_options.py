"""What `phpdyno matrix` refuses before anything is built."""

from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.cli.matrix import Options, run
from phpdyno.cli.options import RECIPE, TRAINING, GroundOptions
from phpdyno.errors import UsageError
from phpdyno.workflows import matrix as workflow

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
        ({"ground": GroundOptions(checksum="c0de")}, "--checksum c0de: a checksum belongs to --source"),
    ],
)
def test_what_cannot_be_built_or_measured_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], said: str
) -> None:
    monkeypatch.setattr(workflow, "open_site", lambda *_, **__: pytest.fail("nothing is built"))
    usual = Options(APPS, GroundOptions(), RECIPE, TRAINING, "1%", "95%", "10m", 1, tmp_path / "runs", None, json=True)
    with pytest.raises(UsageError, match=said):
        run(structs.replace(usual, **changed))
    assert not (tmp_path / "runs").exists()
