"""What the cache holds: entries by their exact names, what each is, who uses it, what is somebody
else's."""

import mmap
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from phpdyno.commands.cache import view
from phpdyno.commands.cache.listing import Item, chosen
from phpdyno.commands.cache.looking import look_at_cache
from phpdyno.errors import UsageError
from phpdyno.host.files.file_lock import file_lock
from phpdyno.host.files.room import size_in_words
from tests.support.made_up.caches import (
    APP,
    ARCHIVES,
    EMPTY,
    FINISHED,
    FOREIGN,
    KIB_64,
    OURS,
    PARTIAL,
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


def items(cache: Path) -> dict[str, Item]:
    return {each.name: each for each in look_at_cache(cache).items}


def test_every_entry_is_listed_and_the_rest_is_not_ours(cache: Path) -> None:
    listing = look_at_cache(cache)
    assert {each.name for each in listing.items} == set(OURS)
    assert set(listing.foreign) == set(FOREIGN)
    assert listing.place == str(cache)


def test_the_newest_comes_first(cache: Path) -> None:
    assert [each.name for each in look_at_cache(cache).items] == list(reversed(OURS))
    assert items(cache)[APP].made == datetime.fromtimestamp(1_700_000_000, UTC)


def test_each_is_told_in_words(cache: Path) -> None:
    found = items(cache)
    assert {name: (each.kind, each.words.partition(":")[0]) for name, each in found.items()} == {
        APP: ("app", "the app wordpress 6.1.1, prepared of 2 packages"),
        SEED: ("database", "the database shop, loaded from a dump of yours (SHA-256 d00dd00dd00d…), whose data it holds"),
        EMPTY: ("database", "the database app, empty"),
        PARTIAL: ("unfinished", "mediawiki, ended while it was prepared or removed"),
        SOURCE: ("step", "source of PHP"),
        TREE: ("unfinished", "source of PHP, configured, not finished"),
        FINISHED: ("build", "the build pgo-1a2b3c4d of PHP 8.2.36, in place of php-fpm8.2"),
        REQUESTS: ("requests", "requests of yours that a build was trained on"),
        ARCHIVES: ("step", "lists of the distribution's archives of sources"),
        PHP_CONFIG: ("step", "php-config of the package's version 8.2.29-1~deb12u1"),
        SCRIPT: ("preload", "preload script"),
    }
    assert found[SOURCE].words == "source of PHP: php8.2 8.2.29-1"


def test_sizes_are_those_on_the_disk(cache: Path) -> None:
    listing = look_at_cache(cache)
    assert KIB_64 <= items(cache)[APP].bytes < 2 * KIB_64
    os.link(cache / APP / "inner" / "data", cache / APP / "inner" / "again")
    assert KIB_64 <= items(cache)[APP].bytes < 2 * KIB_64
    assert listing.bytes == sum(each.bytes for each in listing.items)


@pytest.mark.parametrize("name", [f"{APP}.removing", f"{PARTIAL}.removing", f"{SOURCE}.removing", f"{SOURCE}.tar", f"{SOURCE}.download"])
def test_what_was_ended_half_way_is_ours(cache: Path, name: str) -> None:
    (cache / name).mkdir()
    assert items(cache)[name].kind == "unfinished"


def test_an_entry_without_its_record_is_unfinished(cache: Path) -> None:
    (cache / APP / "entry.json").unlink()
    assert items(cache)[APP].kind == "unfinished"
    (cache / FINISHED / "build.json").write_text("{")
    assert items(cache)[FINISHED].kind == "build"


def test_who_prepares_or_builds_is_at_work(cache: Path) -> None:
    with file_lock(cache / "apps/seed.lock", pytest.fail), file_lock(cache / "builds/lock", pytest.fail):
        found = {each.name: each.used_by for each in look_at_cache(cache).items if each.used_by}
    assert found == {
        **dict.fromkeys((SEED, EMPTY), "another phpdyno prepares it"),
        **dict.fromkeys((SOURCE, TREE, FINISHED, REQUESTS, ARCHIVES, PHP_CONFIG), "another phpdyno builds in this cache"),
    }
    assert not any(each.used_by for each in look_at_cache(cache).items)


def test_what_a_process_has_loaded_is_in_use(cache: Path) -> None:
    program = cache / FINISHED / "inner" / "data"
    with program.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ):
        found = items(cache)
    assert f"process {os.getpid()} (" in found[FINISHED].used_by
    assert [name for name, each in found.items() if each.used_by] == [FINISHED]


def test_a_folder_that_is_a_link_is_not_ours(cache: Path, tmp_path: Path) -> None:
    (cache / "builds").rename(tmp_path / "elsewhere")
    (cache / "builds").symlink_to(tmp_path / "elsewhere")
    listing = look_at_cache(cache)
    assert "builds" in listing.foreign
    assert not any(each.name.startswith("builds/") for each in listing.items)


def test_names_choose(cache: Path) -> None:
    listing = look_at_cache(cache)
    for names, wanted in (
        ((), OURS),
        ((APP,), (APP,)),
        (("seed",), (SEED, EMPTY)),
        (("pgo-1a2b3c4d",), (FINISHED,)),
        (("finished", "preload"), (FINISHED, SCRIPT)),
        (("mediawiki",), (PARTIAL,)),
        (("builds",), (SOURCE, TREE, FINISHED, REQUESTS, ARCHIVES, PHP_CONFIG)),
    ):
        assert {each.name for each in chosen(listing, names)} == set(wanted)


@pytest.mark.parametrize(("name", "hint"), [("wordpres", "did you mean wordpress"), ("xyzzy", "see what it has"), ("../etc", "see what")])
def test_a_name_that_none_has(cache: Path, name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"the cache has no entry '{name}'; {hint}") as caught:
        chosen(look_at_cache(cache), [name])
    assert caught.value.exit_code == 2


def test_a_cache_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert view.is_empty(look_at_cache(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (10 << 10, "10 KiB"),
        (31 << 20, "31 MiB"),
        (1288490189, "1.2 GiB"),
        (3 << 50, "3072 TiB"),
    ],
)
def test_sizes_in_words(number: int, words: str) -> None:
    assert size_in_words(number) == words
