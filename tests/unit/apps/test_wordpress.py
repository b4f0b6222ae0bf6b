import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from phpdyno.apps import wordpress
from phpdyno.apps.php_cli import PhpCli
from phpdyno.errors import DynoError
from phpdyno.stack.mariadb import Database
from phpdyno.stack.supervise import Supervisor

KEY = {"kind": "wordpress", "layout": wordpress.LAYOUT, "mariadb": "10.11", "php": "8.2"}


def no_candidates(_: object) -> dict[str, str]:
    raise DynoError("apt knows no package wordpress", where="apt-cache policy", next_step="run: sudo apt-get update")


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache, and a host without package lists."""
    monkeypatch.setattr(wordpress, "candidate_versions", no_candidates)
    monkeypatch.setattr(wordpress, "find_php_cli", lambda: PhpCli("/usr/bin/php", "8.2"))
    monkeypatch.setattr(Database, "version", staticmethod(lambda: "10.11"))
    monkeypatch.setattr(wordpress, "copy_tree", lambda *_: None)
    return tmp_path


def entry(cache: Path, name: str, version: str, at: int, **other: str) -> Path:
    place = cache / "apps" / name
    place.mkdir(parents=True)
    key = {**KEY, "scripts": wordpress._scripts_digest(), "package wordpress": version, **other}
    (place / "entry.json").write_text(json.dumps(key))
    os.utime(place / "entry.json", (at, at))
    return place


def test_without_package_lists_the_newest_prepared_one_is_used(offline: Path) -> None:
    entry(offline, "wordpress-aaaa", "6.1", 1000)
    newest = entry(offline, "wordpress-bbbb", "6.2", 2000)
    entry(offline, "wordpress-cccc.partial", "6.3", 3000)
    entry(offline, "wordpress-dddd", "6.4", 4000, mariadb="11.8")
    entry(offline, "wordpress-eeee", "6.5", 5000, layout="0")
    (offline / "apps/wordpress-ffff").mkdir()
    told: list[str] = []

    supervisor = cast(Supervisor, SimpleNamespace(live=offline / "live"))
    app = wordpress.WordPress().prepare(supervisor, cache=offline, progress=told.append)

    assert app.version == "6.2"
    assert app.datadir == newest / "datadir"
    assert told == ["using the WordPress 6.2 of the cache, as apt knows no package wordpress", "copying WordPress"]


def test_without_package_lists_and_cache_the_error_says_what_to_do(offline: Path) -> None:
    entry(offline, "wordpress-dddd", "6.4", 4000, mariadb="11.8")
    with pytest.raises(DynoError, match="run: sudo apt-get update"):
        wordpress.WordPress().prepare(cast(Supervisor, SimpleNamespace(live=offline)), cache=offline, progress=lambda _: None)
