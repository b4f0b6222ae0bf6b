"""Removes entries of the cache. Each is made incomplete first, then gets a name that says so, then
goes: whatever ends us, nothing that is half removed counts as an entry."""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from phpdyno.commands.cache.kinds import REMOVING, lock_of, markers_of
from phpdyno.commands.cache.listing import Item
from phpdyno.commands.cache.looking import at_work
from phpdyno.errors import DynoError
from phpdyno.host.files.file_lock import lock_where_free

STAYS = "it stays unless it is named"


class Left(Struct, frozen=True):
    """An entry that was not removed."""

    name: Annotated[str, Meta(description="Its path below the cache.")]
    why: Annotated[str, Meta(description="The reason.")]
    failed: Annotated[bool, Meta(description="Whether removing it was tried.")] = False


class Cleaned(Struct, frozen=True, kw_only=True):
    """What a cleaning did."""

    schema: Annotated[Literal["phpdyno.cache-clean/1"], Meta(description="Name and version of this format.")] = "phpdyno.cache-clean/1"
    place: Annotated[str, Meta(description="Where the cache is.")]
    removed: Annotated[tuple[Item, ...], Meta(description="Entries that are gone.")] = ()
    left: Annotated[tuple[Left, ...], Meta(description="Entries that are not.")] = ()
    bytes: Annotated[int, Meta(description="Room that came free.")] = 0


def clean(cache: Path, items: Sequence[Item], *, named: bool) -> Cleaned:
    """Remove these entries, but for those that are in use, and for those that stay where they are
    not `named`."""
    removed: list[Item] = []
    left: list[Left] = []
    for item in items:
        if why := STAYS if item.stays and not named else item.used_by:
            left.append(Left(item.name, why))
        elif why := _remove(cache, item.name):
            left.append(Left(item.name, why, failed=True))
        else:
            removed.append(item)
    return Cleaned(place=str(cache), removed=tuple(removed), left=tuple(left), bytes=sum(each.bytes for each in removed))


def _remove(cache: Path, name: str) -> str:
    """Remove one entry; why it could not be removed, '' where it is gone."""
    lock = lock_of(name)
    try:
        with lock_where_free(cache / lock) if lock else contextlib.nullcontext(True) as free:
            if not free:
                return at_work(name)
            with _folder(cache, name) as (place, last):
                _take_away(place, last, name)
    except OSError as error:
        return f"it cannot be removed: {error.strerror}"
    except DynoError as error:
        return f"it cannot be removed: {error.what}"
    return ""


@contextlib.contextmanager
def _folder(cache: Path, name: str) -> Iterator[tuple[int, str]]:
    """The open directory that holds an entry, and its name there; no link on the way below the
    cache is followed."""
    *folders, last = name.split("/")
    place = os.open(cache, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for each in folders:
            inner = os.open(each, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
            os.close(place)
            place = inner
        yield place, last
    finally:
        os.close(place)


def _take_away(place: int, last: str, name: str) -> None:
    try:
        status = os.stat(last, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(last, dir_fd=place)
        return
    for marker in markers_of(name):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{last}/{marker}", dir_fd=place)
    going = last if last.endswith(REMOVING) else last + REMOVING
    if going != last:
        try:
            os.rename(last, going, src_dir_fd=place, dst_dir_fd=place)
        except OSError:  # what an earlier cleaning left has the name
            shutil.rmtree(going, dir_fd=place)
            os.rename(last, going, src_dir_fd=place, dst_dir_fd=place)
    shutil.rmtree(going, dir_fd=place)
