import contextlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from phpdyno.apps import folder
from phpdyno.apps.data import databases
from phpdyno.apps.files import copies
from phpdyno.apps.registry import open_app
from phpdyno.apps.source import silent
from phpdyno.errors import DynoError
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.unit.apps.files.test_links import copied, duplicate

TOML = """name = "shop"
docroot = "../shop/public"
root = "../shop"
sql = "dump.sql"
[env]
MODE = "a"
[ini]
memory_limit = "64M"
[[target]]
path = "/"
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The root of an app that an app.toml beside it describes."""
    root = tmp_path / "shop"
    for name in ("public", "src", ".git", "runs/1/logs"):
        (root / name).mkdir(parents=True)
    for name in ("shared", "described"):
        (tmp_path / name).mkdir()
    (tmp_path / "described/app.toml").write_text(TOML)
    (tmp_path / "described/dump.sql").write_text("SELECT 1;")
    for name in ("public/index.php", "public/app.php", "src/Shop.php", ".git/HEAD", "runs/1/old"):
        (root / name).write_text("1")
    (tmp_path / "shared/config.php").write_text("1")
    (root / "config.php").symlink_to("../shared/config.php")
    return root


@pytest.fixture
def version(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """The version of the app as it lies there, prepared each time in another live directory,
    without servers."""

    def copy_entries(_: object, entries: list[Path], into: Path) -> None:
        for entry in entries:
            if entry.is_symlink():
                (into / entry.name).symlink_to(entry.readlink())
            else:
                copied(entry, into / entry.name)

    def seeded(_: object, *, cache: Path, dump: Path, **__: object) -> Path:
        return cache / f"seed-{hash(dump.read_bytes())}" / "datadir"

    monkeypatch.setattr(copies, "copy_entries", copy_entries)
    monkeypatch.setattr(folder, "copy_linked", lambda _, what, place, link, reader: duplicate(what, place, link))
    monkeypatch.setattr(databases, "seeded", seeded)
    monkeypatch.setattr(folder.FolderApp, "_run", lambda *_: None)
    monkeypatch.setattr(databases, "live_datadir", lambda *_: tmp_path)
    monkeypatch.setattr(databases, "serving", lambda *_: contextlib.nullcontext())
    made: list[Path] = []

    def prepare() -> str:
        live = tmp_path / f"live-{len(made)}"
        live.mkdir()
        made.append(live)
        stand_in = SimpleNamespace(
            live=live, logs=shop / "runs/1/logs", user=SimpleNamespace(switch=False), no_bottle="--no-bottle", let_write=lambda _: None
        )
        return open_app(str(tmp_path / "described")).prepare(cast(Supervisor, stand_in), cache=tmp_path / "cache", progress=silent).version

    return prepare


@pytest.mark.parametrize("changed", ["src/Shop.php", "public/index.php", "../shared/config.php", "../described/dump.sql"])
def test_the_version_changes_with_every_file_that_is_measured(shop: Path, version: Callable[[], str], changed: str) -> None:
    before = version()
    assert version() == before
    (shop / changed).write_text("SELECT 2;")
    assert version() != before


@pytest.mark.parametrize("changed", [".git/HEAD", "runs/1/new"])
def test_the_version_does_not_change_with_what_is_not_copied(shop: Path, version: Callable[[], str], changed: str) -> None:
    before = version()
    (shop / changed).write_text("2")
    assert version() == before


def test_an_earlier_run_beside_the_app_is_no_part_of_it(shop: Path, version: Callable[[], str]) -> None:
    before = version()
    (shop / "20260101-compare-shop").mkdir()
    (shop / "20260101-compare-shop/journal.jsonl").touch()
    assert version() == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('MODE = "a"', 'MODE = "b"'),
        ("64M", "65M"),
        ('sql = "dump.sql"', 'sql = "dump.sql"\nhost = "shop.example"'),
        ('sql = "dump.sql"', 'sql = "dump.sql"\nfront_controller = "app.php"'),
        ('sql = "dump.sql"', 'sql = "dump.sql"\ndatabase = "other"'),
        ('sql = "dump.sql"', 'sql = "dump.sql"\nprepare = ["true"]'),
        ('[env]\nMODE = "a"', '[setting.mode]\nenv = "MODE"\ndefault = "b"'),
    ],
)
def test_the_version_changes_with_the_settings(shop: Path, version: Callable[[], str], old: str, new: str) -> None:
    before = version()
    (shop / "../described/app.toml").write_text(TOML.replace(old, new))
    assert version() != before


def test_a_variable_and_a_setting_with_that_default_are_the_same_app(shop: Path, version: Callable[[], str]) -> None:
    before = version()
    (shop / "../described/app.toml").write_text(TOML.replace('[env]\nMODE = "a"', '[setting.mode]\nenv = "MODE"\ndefault = "a"'))
    assert version() == before


def test_a_link_to_itself_in_the_root_is_copied_like_any_other(shop: Path, version: Callable[[], str]) -> None:
    before = version()
    (shop / "loop").symlink_to("loop")
    assert version() != before


def test_a_directory_that_may_not_be_entered_is_no_run_of_ours(
    shop: Path, version: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_file = Path.is_file

    def refused(path: Path) -> bool:
        if path == shop / "src/journal.jsonl":
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path)

    before = version()
    monkeypatch.setattr(Path, "is_file", refused)
    assert version() == before


def test_an_app_that_changes_while_it_is_copied_is_one_line(version: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    def mend_links(*_: object, **__: object) -> None:
        raise OSError(22, "Invalid argument", "/srv/shop/link")

    monkeypatch.setattr(folder, "mend_links", mend_links)
    with pytest.raises(DynoError, match="/srv/shop/link: the app was changed while it was copied: Invalid argument"):
        version()
