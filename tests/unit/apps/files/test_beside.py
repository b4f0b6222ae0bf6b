from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from phpdyno.apps.files.beside import refuse_unfit, stand_beside
from phpdyno.apps.registry import open_app
from phpdyno.errors import UsageError
from phpdyno.servers.supervision.supervisor import Supervisor

TOML = 'name = "wiki"\ndocroot = "www"\nalso = [{}]\n[[target]]\npath = "/"\n'


@pytest.fixture
def wiki(tmp_path: Path) -> Path:
    for name in ("wiki/www", "data/pages"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path / "wiki"


@pytest.mark.parametrize(
    ("also", "what"),
    [
        ('"../none"', "there is no such directory"),
        ('"app.toml"', "this is no directory"),
        ('"/etc"', "as a part of the system"),
        ('"/var/lib"', "holds more than an app"),
        ('"/home/ann"', "there is no such directory"),
        ('"www/cache"', "lies in root"),
        ('"."', "holds the root"),
        ('"../data", "../data/pages"', "is named twice"),
    ],
)
def test_what_cannot_be_taken_along_is_refused_by_name(wiki: Path, also: str, what: str) -> None:
    (wiki / "app.toml").write_text(TOML.format(also))
    with pytest.raises(UsageError, match=what) as told:
        open_app(str(wiki))
    assert "also[" in told.value.where


def test_a_directory_beside_is_taken_by_its_own_path(wiki: Path) -> None:
    (wiki / "app.toml").write_text(TOML.format('"../data"'))
    app = open_app(str(wiki))
    assert app.described.also == (wiki.parent / "data",)  # type: ignore[attr-defined]


def test_without_a_bottle_it_is_refused(wiki: Path) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    with pytest.raises(UsageError, match="there is none: --no-bottle"):
        stand_beside(cast(Supervisor, SimpleNamespace(no_bottle="--no-bottle")), (wiki,), never, where="app.toml")
    refuse_unfit((wiki,), where="app.toml")
