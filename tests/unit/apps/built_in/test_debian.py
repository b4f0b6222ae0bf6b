"""Which entry of the cache an app of Debian's packages gets, with a stand-in for apt."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from phpdyno.apps.built_in import debian, mediawiki, symfony_hello, wordpress
from phpdyno.apps.built_in.debian import PackageRecipe, prepared, scripts_digest
from phpdyno.apps.built_in.php_cli import PhpCli
from phpdyno.apps.registry import open_app
from phpdyno.errors import DynoError
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.supervision.supervisor import Supervisor

KEY = {"layout": "1", "php": "8.2"}
PACKAGES = ("shop", "shop-themes")


def no_candidates(_: object) -> dict[str, str]:
    raise DynoError("apt knows no package shop", where="apt-cache policy", next_step="run: sudo apt-get update")


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache, and a host without package lists."""
    monkeypatch.setattr(debian, "candidate_versions", no_candidates)
    return tmp_path


def recipe(built: list[dict[str, str]] | None = None) -> PackageRecipe:
    def build(partial: Path, versions: dict[str, str]) -> None:
        assert built is not None
        built.append(versions)
        (partial / "file").touch()

    return PackageRecipe("shop", "Shop", PACKAGES, KEY, build)


def entry(cache: Path, name: str, version: str, at: int, **other: str) -> Path:
    place = cache / "apps" / name
    place.mkdir(parents=True)
    key = {"kind": name.partition("-")[0], **KEY, f"package {PACKAGES[0]}": version, **other}
    (place / "entry.json").write_text(json.dumps(key))
    os.utime(place / "entry.json", (at, at))
    return place


def test_built_once_per_version_of_any_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[dict[str, str]] = []
    found = []
    for versions in (("6.1", "1"), ("6.1", "1"), ("6.1", "2"), ("6.2", "2")):
        monkeypatch.setattr(debian, "candidate_versions", lambda _, now=versions: dict(zip(PACKAGES, now, strict=True)))
        found.append(prepared(recipe(built), tmp_path, lambda _: None))

    assert [version for _, version in found] == ["6.1", "6.1", "6.1", "6.2"]
    assert found[0] == found[1]
    assert len({place for place, _ in found}) == 3
    assert built == [{"shop": "6.1", "shop-themes": "1"}, {"shop": "6.1", "shop-themes": "2"}, {"shop": "6.2", "shop-themes": "2"}]


def test_without_package_lists_the_newest_prepared_one_is_used(offline: Path) -> None:
    entry(offline, "shop-aaaa", "6.1", 1000)
    newest = entry(offline, "shop-bbbb", "6.2", 2000)
    entry(offline, "shop-cccc.partial", "6.3", 3000)
    entry(offline, "shop-dddd", "6.4", 4000, php="8.4")
    entry(offline, "shop-eeee", "6.5", 5000, layout="0")
    entry(offline, "other-eeee", "6.6", 6000)
    (offline / "apps/shop-ffff").mkdir()
    told: list[str] = []

    assert prepared(recipe(), offline, told.append) == (newest, "6.2")
    assert told == ["using the Shop 6.2 of the cache, as apt knows no package shop"]


def test_without_package_lists_and_cache_the_error_says_what_to_do(offline: Path) -> None:
    entry(offline, "shop-dddd", "6.4", 4000, php="8.4")
    with pytest.raises(DynoError, match="run: sudo apt-get update"):
        prepared(recipe(), offline, lambda _: None)


def test_the_digest_knows_every_name_and_byte(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.php").write_text("1")
    seen = [scripts_digest(tmp_path)]
    (tmp_path / "sub/a.php").write_text("2")
    seen.append(scripts_digest(tmp_path))
    (tmp_path / "sub/a.php").rename(tmp_path / "a.php")
    seen.append(scripts_digest(tmp_path))
    assert len(set(seen)) == 3


@pytest.mark.parametrize("name", ["mediawiki", "symfony-hello", "wordpress"])
def test_every_such_app_works_offline_from_the_cache_only(offline: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for module in (mediawiki, symfony_hello, wordpress):
        monkeypatch.setattr(module, "find_php_cli", lambda _: PhpCli("/usr/bin/php", "8.2"))
        monkeypatch.setattr(module, "copy_tree", lambda *_: None)
    monkeypatch.setattr(mediawiki, "give_to_service", lambda *_: None)
    monkeypatch.setattr(symfony_hello, "_fill_caches", lambda *_: None)
    monkeypatch.setattr(Database, "version", staticmethod(lambda: "10.11"))
    supervisor = cast(Supervisor, SimpleNamespace(live=offline / "live"))
    with pytest.raises(DynoError, match="run: sudo apt-get update"):
        open_app(name).prepare(supervisor, cache=offline, progress=lambda _: None)

    module = {"mediawiki": mediawiki, "symfony-hello": symfony_hello, "wordpress": wordpress}[name]
    key = {
        "kind": name,
        "layout": module.LAYOUT,
        "php": "8.2",
        "mariadb": "10.11",
        "scripts": scripts_digest(module.SCRIPTS),
        f"package {module.PACKAGES[0]}": "1.2",
    }
    entry(offline, f"{name}-aaaa", "", 1000, **key)
    app = open_app(name).prepare(supervisor, cache=offline, progress=lambda _: None)
    assert (app.version, app.settings) == ("1.2", module.SETTINGS)
    assert all(app.env[setting.env] == setting.default for setting in module.SETTINGS.values())


def test_a_link_that_symfony_leaves_in_its_caches_gives_nothing_else_another_age(tmp_path: Path) -> None:
    caches, other = tmp_path / "var", tmp_path / "other"
    (caches / "sub").mkdir(parents=True)
    (caches / "sub/page.php").touch()
    other.touch()
    (caches / "link").symlink_to(other)
    before = other.stat().st_mtime
    symfony_hello._age(caches, 3600.0)
    assert other.stat().st_mtime == before
    assert {int(before - path.lstat().st_mtime) // 60 for path in (caches, *caches.rglob("*"))} <= {59, 60}
