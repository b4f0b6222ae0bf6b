"""`phpdyno cache`: what is printed, and its exit codes."""

import os
import socket
from pathlib import Path

import msgspec
import pytest

from phpdyno.cli.app import run
from phpdyno.commands.cache import command
from phpdyno.commands.cache.cleaning import Cleaned
from phpdyno.commands.cache.listing import Listing
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.files.file_lock import file_lock
from phpdyno.host.lock import MeasuringLock
from tests.support.made_up.caches import APP, FOREIGN, OURS, SCRIPT, SEED, make_cache

Told = pytest.CaptureFixture[str]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache; nobody else measures."""
    place = tmp_path.resolve() / "cache"
    monkeypatch.setenv("PHPDYNO_CACHE", str(place))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(command, "MeasuringLock", lambda: MeasuringLock(f"\0phpdyno-cache-{os.getpid()}"))
    return place


def test_it_lists_and_cleans(cache: Path, capsys: Told) -> None:
    make_cache(cache)
    assert run(["cache"]) == 0
    told = capsys.readouterr().out
    assert [line.split()[-1] for line in told.splitlines()[1 : 2 * len(OURS) : 2]] == list(reversed(OURS))
    assert "the app wordpress 6.1.1, prepared of 2 packages" in told
    assert f"11 entries, {told.partition('11 entries, ')[2].split(',')[0]}, in {cache}\n" in told
    assert "preload scripts stay unless they are named: phpdyno cache --clean preload\n" in told
    assert all(f"not ours, left: {each}\n" in told for each in FOREIGN)
    assert run(["cache", "--clean", "wordpress", "mediawiki"]) == 0
    told = capsys.readouterr().out
    assert f"removed {APP}: the app wordpress 6.1.1" in told
    assert "2 entries removed, 1" in told
    assert f"KiB came free in {cache}\n" in told
    assert run(["cache", "--clean"]) == 0
    assert f"left {SCRIPT}: it stays unless it is named\n8 entries removed" in capsys.readouterr().out
    assert (cache / SCRIPT).is_file()


@pytest.mark.parametrize("argv", [["cache"], ["cache", "--clean"]])
def test_an_empty_cache_is_one_line(cache: Path, capsys: Told, argv: list[str]) -> None:
    assert run(argv) == 0
    assert capsys.readouterr().out == f"the cache is empty: {cache}\n"
    assert not cache.exists()


def test_a_bad_name_is_one_line(cache: Path) -> None:
    make_cache(cache)
    with pytest.raises(UsageError, match="cache: the cache has no entry 'sed'; did you mean seed"):
        run(["cache", "--clean", "sed"])
    assert (cache / SEED).is_dir()


def test_what_was_named_and_stays_is_a_fault(cache: Path, capsys: Told) -> None:
    make_cache(cache)
    with file_lock(cache / "apps/seed.lock", pytest.fail):
        assert run(["cache", "--clean", "seed"]) == 1
        assert f"left {SEED}: another phpdyno prepares it\n" in capsys.readouterr().out
        assert run(["cache", "--clean"]) == 0


def test_nothing_is_removed_while_another_measures(cache: Path) -> None:
    make_cache(cache)
    name = f"\0phpdyno-cache-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as taken:
        taken.bind(name)
        with pytest.raises(DynoError, match="another phpdyno is at work on this host and may need any of it; wait until it has ended"):
            run(["cache", "--clean"])
    assert (cache / SEED).is_dir()


def test_documents(cache: Path, capsys: Told) -> None:
    make_cache(cache)
    assert run(["cache", "seed", "--json"]) == 0
    listing = msgspec.json.decode(capsys.readouterr().out, type=Listing)
    assert {each.name.partition("-")[0] for each in listing.items} == {"apps/seed"}
    assert listing.bytes == sum(each.bytes for each in listing.items)
    assert run(["cache", "--clean", "seed", "--json"]) == 0
    assert len(msgspec.json.decode(capsys.readouterr().out, type=Cleaned).removed) == 2
