"""The cache of builds."""

import shutil
import threading
import time
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.errors import DynoError
from phpdyno.model.build import BUILD_FILE, BUILD_SCHEMA
from phpdyno.php_build.workshop import DONE, Workshop, digest_of, read_build, write_build
from tests.support.made_up.builds import BUILD


def silent(_: str) -> None:
    """Says nothing."""


def test_a_digest_is_of_everything_in_the_key_and_not_of_its_order() -> None:
    assert digest_of({"a": 1, "b": (2, 3)}) == digest_of({"b": (2, 3), "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})


def test_what_is_finished_is_not_made_again_and_what_is_not_is_gone_on_with(tmp_path: Path) -> None:
    shop, turns = Workshop(tmp_path, silent), []

    def make(place: Path) -> None:
        turns.append(sorted(path.name for path in place.iterdir()))
        (place / "half").touch()
        if len(turns) == 1:
            raise DynoError("interrupted")

    with pytest.raises(DynoError, match="interrupted"):
        shop.made("trees", {"version": 1}, make)
    place = shop.made("trees", {"version": 1}, make)
    assert shop.made("trees", {"version": 1}, make) == place
    assert turns == [[], ["half"]]
    assert (place / DONE).is_file()


def test_what_fails_before_anything_is_made_leaves_no_directory(tmp_path: Path) -> None:
    def fails(_: Path) -> None:
        raise DynoError("no such machine")

    shop = Workshop(tmp_path, silent)
    with pytest.raises(DynoError, match="no such machine"):
        shop.made("compiled", {"recipe": "march=x"}, fails)
    assert list((shop.home / "compiled").iterdir()) == []


def test_a_disk_that_is_full_is_one_line_however_many_files_find_it_so(tmp_path: Path) -> None:
    def copy(place: Path) -> None:
        raise shutil.Error([("a.c", str(place / "a.c"), "[Errno 28] No space left on device"), ("b.c", "b.c", "another")])

    with pytest.raises(DynoError, match=r"cannot write the cache: \[Errno 28\] No space left on device; check the disk's room$"):
        Workshop(tmp_path, silent).made("trees", {"version": 1}, copy)


def test_a_file_that_is_missing_is_named_and_no_matter_of_the_disk_s_room(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match=rf"a step of a build misses a file: {tmp_path}/Makefile; remove this directory"):
        Workshop(tmp_path, silent).made("trees", {"version": 1}, lambda _: (tmp_path / "Makefile").unlink())


def test_a_second_process_waits_until_the_first_is_done(tmp_path: Path) -> None:
    told: list[str] = []
    order: list[str] = []

    def second() -> None:
        with Workshop(tmp_path, told.append).alone():
            order.append("second")

    with Workshop(tmp_path, silent).alone():
        waiting = threading.Thread(target=second)
        waiting.start()
        deadline = time.monotonic() + 10
        while not told and time.monotonic() < deadline:
            time.sleep(0.01)
        order.append("first")
    waiting.join(10)
    assert order == ["first", "second"]
    assert told == ["another phpdyno builds in this cache; waiting for it"]


def test_a_build_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_build(tmp_path, BUILD)
    assert read_build(tmp_path) == BUILD


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "there is no build here"),
        (b"{", "cannot be read"),
        (b'{"schema": %d}' % (BUILD_SCHEMA + 1), "cannot be read"),
        (b'{"name": "\xff"}', "cannot be read"),
    ],
)
def test_a_record_that_is_none_is_refused(tmp_path: Path, text: bytes | None, why: str) -> None:
    if text is not None:
        (tmp_path / BUILD_FILE).write_bytes(text)
    with pytest.raises(DynoError, match=why):
        read_build(tmp_path)


def test_builds_are_listed_the_newest_last(tmp_path: Path) -> None:
    shop = Workshop(tmp_path, silent)
    # Before the clocks went back, and after; one that nobody can date is older than all.
    for name, made in (("new", "2026-10-25T02:10:00+0100"), ("old", "2026-10-25T02:50:00+0200"), ("undated", "yesterday")):
        place = shop.home / "finished" / name
        place.mkdir(parents=True)
        write_build(place, structs.replace(BUILD, name=name, made=made))
    for name, text in (("broken", b"{"), ("garbled", b'{"name": "\xff"}')):
        (shop.home / "finished" / name).mkdir()
        (shop.home / "finished" / name / BUILD_FILE).write_bytes(text)
    assert [build.name for _, build in shop.builds()] == ["undated", "old", "new"]
