"""Removing entries: what is in use stays, what is not ours is not touched, and half a removal is no
entry."""

import shutil
from pathlib import Path

import pytest

from phpdyno.apps.store import newest, stored
from phpdyno.commands.cache.cleaning import Cleaned, clean
from phpdyno.commands.cache.listing import chosen
from phpdyno.commands.cache.looking import look_at_cache
from phpdyno.host.files.file_lock import file_lock
from tests.support.made_up.bundles import photograph
from tests.support.made_up.caches import (
    APP,
    ARCHIVES,
    EMPTY,
    FINISHED,
    FOREIGN,
    OURS,
    PHP_CONFIG,
    REQUESTS,
    SCRIPT,
    SEED,
    SOURCE,
    TREE,
    make_cache,
)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return make_cache(tmp_path.resolve() / "cache")


def cleaned(cache: Path, *names: str) -> Cleaned:
    return clean(cache, chosen(look_at_cache(cache), names), named=bool(names))


def removed(found: Cleaned) -> set[str]:
    return {each.name for each in found.removed}


def test_all_but_preload_scripts_goes(cache: Path) -> None:
    whole = look_at_cache(cache)
    found = cleaned(cache)
    assert removed(found) == set(OURS) - {SCRIPT}
    assert [(each.name, each.why, each.failed) for each in found.left] == [(SCRIPT, "it stays unless it is named", False)]
    assert found.bytes == whole.bytes - next(each.bytes for each in whole.items if each.name == SCRIPT)
    left = look_at_cache(cache)
    assert [each.name for each in left.items] == [SCRIPT]
    assert set(left.foreign) == set(FOREIGN)
    assert (cache / "apps/seed.lock").is_file()
    assert removed(cleaned(cache, "preload")) == {SCRIPT}


def test_only_what_was_named_goes(cache: Path) -> None:
    before = photograph(cache)
    assert removed(cleaned(cache, "seed")) == {SEED, EMPTY}
    assert photograph(cache) == {
        name: seen for name, seen in before.items() if not any(name == gone or name.startswith(f"{gone}/") for gone in (SEED, EMPTY))
    }


def test_what_others_make_stays(cache: Path) -> None:
    with file_lock(cache / "apps/seed.lock", pytest.fail), file_lock(cache / "builds/lock", pytest.fail):
        found = cleaned(cache)
    in_use = {SEED, EMPTY, SOURCE, TREE, FINISHED, REQUESTS, ARCHIVES, PHP_CONFIG}
    assert {each.name for each in found.left} == {*in_use, SCRIPT}
    assert all((cache / each).exists() for each in in_use)


def test_a_lock_that_was_taken_since_the_look_counts(cache: Path) -> None:
    items = chosen(look_at_cache(cache), ["seed", "sources"])
    with file_lock(cache / "apps/seed.lock", pytest.fail):
        found = clean(cache, items, named=True)
    assert removed(found) == {SOURCE}
    assert {each.name: each.why for each in found.left} == dict.fromkeys((SEED, EMPTY), "another phpdyno prepares it")


def test_no_link_is_followed(cache: Path, tmp_path: Path) -> None:
    items = look_at_cache(cache).items
    outside = tmp_path / "outside"
    shutil.move(cache / "preload", outside)
    (cache / "preload").symlink_to(outside)
    shutil.move(cache / SOURCE, tmp_path / "source")
    (cache / SOURCE).symlink_to(tmp_path / "source")
    (cache / APP / "inner" / "link").symlink_to(tmp_path / "source")
    found = clean(cache, items, named=True)
    assert {each.name: each.failed for each in found.left} == {SCRIPT: True}
    assert (outside / SCRIPT.rpartition("/")[2]).is_file()
    assert (tmp_path / "source" / "inner" / "data").is_file()


def test_what_is_half_removed_is_no_entry_and_goes_the_next_time(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake_killed(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", fake_killed)
        for name in (APP, FINISHED):
            with pytest.raises(KeyboardInterrupt):
                cleaned(cache, name)
    assert newest(cache, "wordpress", {"kind": "wordpress"}) is None
    kinds = {each.name: each.kind for each in look_at_cache(cache).items}
    assert kinds[f"{APP}.removing"] == kinds[f"{FINISHED}.removing"] == "unfinished"
    assert removed(cleaned(cache, "wordpress", "finished")) == {f"{APP}.removing", f"{FINISHED}.removing"}
    assert not list((cache / "builds/finished").iterdir())


def test_what_an_earlier_cleaning_left_is_not_in_the_way(cache: Path) -> None:
    (cache / f"{APP}.removing" / "inner").mkdir(parents=True)
    assert removed(cleaned(cache, APP)) == {APP}
    assert not list((cache / "apps").glob("wordpress-*"))


def test_what_cannot_be_removed_is_said_and_the_rest_goes(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.rmtree

    def fake_closed(path: str, *, dir_fd: int) -> None:
        if path.startswith("seed"):
            raise PermissionError(13, "Permission denied")
        real(path, dir_fd=dir_fd)

    monkeypatch.setattr(shutil, "rmtree", fake_closed)
    found = cleaned(cache, "seed", "sources")
    assert removed(found) == {SOURCE}
    assert {(each.why, each.failed) for each in found.left} == {("it cannot be removed: Permission denied", True)}


def test_what_was_removed_is_prepared_again(cache: Path) -> None:
    key = {"kind": "hello"}
    entry = stored(cache, "hello", key, lambda partial: (partial / "index.php").touch(), lambda _: None)
    assert removed(cleaned(cache, "hello")) == {str(entry.relative_to(cache))}
    assert stored(cache, "hello", key, lambda partial: (partial / "other.php").touch(), lambda _: None) == entry
    assert (entry / "other.php").is_file()


def test_a_process_whose_name_is_no_text_does_not_end_it(cache: Path) -> None:
    own = Path("/proc/self/comm")
    before = own.read_bytes()
    own.write_bytes(b"php\xff")
    try:
        assert look_at_cache(cache).items
    finally:
        own.write_bytes(before)
