"""A bundle on a real php-fpm that was started by hand: tested by it, proved on its workers, rolled
back."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.bundle.apply import tree as tree_module
from phpdyno.bundle.apply.applying import apply, rollback
from phpdyno.bundle.apply.checking import Checker
from phpdyno.bundle.apply.live import read_live
from phpdyno.bundle.apply.proving import SettingProof
from phpdyno.bundle.apply.tree import Disk, TargetTree
from phpdyno.bundle.apply.verifying import verify
from phpdyno.bundle.reading import Bundle
from phpdyno.bundle.write.live_place import basis_of_live, place_of_live
from phpdyno.errors import DynoError
from phpdyno.servers.live.pool import import_pool
from phpdyno.servers.placement import ini_options
from phpdyno.servers.programs.php import ini_files, inspect_php
from tests.support.made_up.bundles import bundle, photograph
from tests.support.real.live import LivePhp, live_php

pytestmark = [pytest.mark.integration, pytest.mark.skipif(os.geteuid() != 0, reason="the pools run as another account")]
SETTINGS = {
    "ini.memory_limit": "99M",
    "ini.opcache.revalidate_freq": "7",
    "pool.pm.max_children": "3",
    "pool.pm.max_requests": "1234",
    "env.SHOP": "tea & biscuits",
}


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LivePhp]:
    """The host's own record is not touched."""
    monkeypatch.setattr(tree_module, "STATE", str(tmp_path / "state" / "bundle"))
    with live_php() as php:
        php.start()
        yield php


def made(tmp_path: Path, **settings: str) -> Bundle:
    """A bundle for the pool www2, with its own settings as the control."""
    pool = import_pool("www2")
    options, scan_dir = ini_options(pool.settings)
    exe = pool.settings["php"]
    files = ini_files(exe, options, scan_dir)
    place = place_of_live(pool, files, inspect_php(exe).version)
    changed = {name.replace("__", "."): value for name, value in settings.items()} or SETTINGS
    return bundle(tmp_path / "made", php=place, control=pool.settings, settings=changed, based_on=basis_of_live(pool, files))


def proofs(found: Bundle) -> dict[str, SettingProof]:
    return {each.setting: each for each in verify(found, TargetTree(Path("/")), lambda mark: read_live(found.manifest, mark)).proofs}


def configuration(live: LivePhp) -> tuple[object, ...]:
    return photograph(live.place / "pool.d"), photograph(live.place / "ini")


def test_a_bundle_is_applied_proved_and_rolled_back(live: LivePhp, tmp_path: Path) -> None:
    tree, found = TargetTree(Path("/")), made(tmp_path)
    before = configuration(live)
    assert apply(found, tree, Checker(found, tree), Disk()).replaced == ()
    old = proofs(found)
    assert old["ini.memory_limit"].state == "not at work"
    assert "77M" in old["ini.memory_limit"].detail
    assert "before php-fpm read the bundle" in old["pool.pm.max_requests"].detail
    live.stop()
    live.start()
    new = proofs(found)
    assert {name: each.state for name, each in new.items()} == dict.fromkeys(SETTINGS, "at work"), new
    rollback(found, tree, Disk())
    assert configuration(live) == before
    assert not (tmp_path / "state" / "bundle").exists()


def test_what_php_fpm_refuses_changes_nothing(live: LivePhp, tmp_path: Path) -> None:
    tree = TargetTree(Path("/"))
    found = made(tmp_path, pool__pm="dynamic", pool__pm__max_children="2", pool__pm__min_spare_servers="9")
    before = configuration(live)
    with pytest.raises(DynoError, match=r"php-fpm -t refuses the bundle: .*min_spare_servers.*nothing was changed"):
        apply(found, tree, Checker(found, tree), Disk())
    assert configuration(live) == before


def test_an_edited_pool_is_noticed(live: LivePhp, tmp_path: Path) -> None:
    tree, found = TargetTree(Path("/")), made(tmp_path)
    file = live.place / "pool.d" / "www2.conf"
    file.write_text(file.read_text().replace("pm.max_requests = 5000", "pm.max_requests = 50"))
    with pytest.raises(DynoError, match="edited since") as caught:
        apply(found, tree, Checker(found, tree), Disk())
    assert "+pm.max_requests = 50" in getattr(caught.value, "difference", "")
