"""Reads the cache: which entries are there, what room they take, and who works with them. Changes
nothing."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from phpdyno.commands.cache.kinds import APPS, Entry, Known, folders, is_frame, known, lock_of, markers_of
from phpdyno.commands.cache.listing import Item, Listing, listing_of
from phpdyno.errors import DynoError
from phpdyno.host.files.file_lock import is_held

PREPARED = "another phpdyno prepares it"
BUILT = "another phpdyno builds in this cache"
BLOCK = 512
"""Bytes in which a file's room is counted."""
_MAPPED = re.compile(r"\s(/.*?)(?: \(deleted\))?$")


def look_at_cache(cache: Path) -> Listing:
    """All that lies in it. Raises DynoError where it cannot be read."""
    items: list[Item] = []
    foreign: list[str] = []
    users = _mapped_by(cache)
    try:
        for name, entry in _all(cache):
            found = known(name, entry)
            if found is not None:
                items.append(_item(cache, name, found, users))
            elif not is_frame(name, entry):
                foreign.append(name)
    except OSError as error:
        raise DynoError(f"the cache cannot be read: {error.strerror}", where=str(error.filename or cache)) from error
    return listing_of(str(cache), items, foreign)


def at_work(name: str) -> str:
    """What it means that the lock of an entry is held, in words."""
    return PREPARED if name.startswith(f"{APPS}/") else BUILT


def _all(cache: Path) -> Iterator[tuple[str, Entry]]:
    """Everything in our folders, by its path below the cache. A folder that is a link is somebody
    else's, whatever it is called."""
    for folder in folders():
        place = cache / folder
        if not any(each.is_symlink() for each in (place, *place.parents) if cache in each.parents):
            for entry in _entries(place):
                yield f"{folder}/{entry.name}" if folder else entry.name, entry


def _entries(folder: Path) -> list[Entry]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda each: each.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _item(cache: Path, name: str, found: Known, users: Mapping[str, str]) -> Item:
    lock = lock_of(name)
    making = at_work(name) if lock and is_held(cache / lock) else ""
    marker = next((path for each in markers_of(name) if (path := cache / name / each).is_file()), cache / name)
    return Item(
        name=name,
        kind=found.kind,
        words=found.words,
        bytes=_room(cache / name),
        made=datetime.fromtimestamp(marker.lstat().st_mtime, UTC),
        also=tuple(dict.fromkeys((name.rpartition("/")[2], *found.also, name.partition("/")[0]))),
        used_by=making or next((who for path, who in users.items() if path == name or path.startswith(f"{name}/")), ""),
    )


def _room(path: Path) -> int:
    """Bytes on the disk, of a file with several names once; what cannot be read does not count."""
    seen: set[tuple[int, int]] = set()
    total, rest = 0, [path]
    while rest:
        place = rest.pop()
        try:
            status = place.lstat()
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_blocks * BLOCK
            if stat.S_ISDIR(status.st_mode):
                rest += [Path(each.path) for each in _entries(place)]
        except OSError:
            continue
    return total


def _mapped_by(cache: Path) -> dict[str, str]:
    """Files of the cache, by their path below it, that processes run or have loaded, with who does.
    Who may not see others sees his own."""
    found: dict[str, str] = {}
    for process in Path("/proc").iterdir():
        try:
            lines = (process / "maps").read_text(errors="replace").splitlines() if process.name.isdecimal() else []
            name = (process / "comm").read_text(errors="replace").strip() if lines else ""
        except OSError:
            continue
        for line in lines:
            path = _MAPPED.search(line)
            if path and path[1].startswith(f"{cache}/"):
                found.setdefault(path[1].removeprefix(f"{cache}/"), f"process {process.name} ({name}) runs it or has it loaded")
    return found
