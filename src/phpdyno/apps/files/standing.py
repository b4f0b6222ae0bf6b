"""An app's tree as an overlay over its original: nothing is copied, and what the app writes goes to
the live directory."""

import os
import tempfile
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from phpdyno.apps.files.copies import give_to_service
from phpdyno.apps.files.links import is_kernel, may_be_copied
from phpdyno.apps.files.rights import copy_linked, owner_behind, rights_of
from phpdyno.errors import UsageError
from phpdyno.servers.bottle.overlay import OWNER
from phpdyno.servers.supervision.supervisor import Account, Supervisor

MOST_COPIED_FILES, MOST_COPIED_BYTES = 4_000, 64 << 20
"""A tree up to this size is copied, in about a second: a plain file system is what the app has in
production."""


class OverlayTree(Struct, frozen=True):
    """An app's tree in the bottle: its path there, a digest of what is in it, where what is written
    to it lies, and the places outside of it that its links lead to."""

    seen: Path
    files: str
    written: Path
    linked: tuple[Path, ...]


class FilesLeftOut(Struct, frozen=True):
    """Paths in a tree that are not to be seen: `gone` themselves, `emptied` what is in them where
    they are directories."""

    gone: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()


class _Reading(Struct, frozen=True):
    """How a tree is read: with whose rights (0: ours), what an error says of where it is, and what
    of it is left out."""

    reader: int
    where: str
    left_out: FilesLeftOut = FilesLeftOut()


def is_large(supervisor: Supervisor, source: Path, reader: int) -> bool:
    """Whether a tree is too large to be copied for each run; False where it cannot be looked
    through, which copying tells in words."""
    account = rights_of(reader)[1] if reader else None
    try:
        files, size, _ = supervisor.extent(source, account, most_files=MOST_COPIED_FILES)
    except OSError:
        return False
    return files > MOST_COPIED_FILES or size > MOST_COPIED_BYTES


def stand_tree(
    supervisor: Supervisor, source: Path, seen_at: Path, *, reader: int, left_out: FilesLeftOut, where: str, by_itself: bool = False
) -> OverlayTree | None:
    """Let the tree `source`, which the servers see at `seen_at`, stand in the bottle, and at their
    own paths what links lead to out of it.

    As root the tree is read with the rights of `reader` (0: root's), and what a link leads to with
    those of the link's owner. None where this kernel or this disk has no such overlay, and for a
    tree that was exported `by_itself` where a link leads to another part of what it was exported
    of. Raises UsageError, naming the place: what may not be read, or must not be shown.
    """
    try:
        seen, written, found = _stood(supervisor, source, seen_at, _Reading(reader, where, left_out))
        homes = [seen_at]
        todo = deque((Path(f"{source}{link}"), Path(led)) for link, led in found["links"])
        while todo:
            origin, led = todo.popleft()
            if is_kernel(led):  # resolved, /dev/stderr would be ours
                continue
            place = supervisor.lead(led)
            if any(place.is_relative_to(tree) for tree in homes) or not may_be_copied(place, origin, (source, supervisor.live)):
                continue
            if by_itself and origin.is_relative_to(source) and not origin.readlink().is_absolute():
                return None
            homes.append(place)
            if not place.is_dir():
                _file_at(supervisor, place, origin, reader)
                continue
            whose = (owner_behind(origin) or reader) if os.geteuid() == 0 else 0
            other, _, inner = _stood(supervisor, place, place, _Reading(whose, f"{origin}, which leads to {place}"))
            supervisor.make_place(place)
            supervisor.attach(other, place)
            todo += [(Path(f"{place}{link}"), Path(led)) for link, led in inner["links"]]
    except OSError:
        return None
    return OverlayTree(seen, found["digest"], written, tuple(homes[1:]))


def _stood(supervisor: Supervisor, source: Path, known_as: Path, reading: _Reading) -> tuple[Path, Path, dict[str, Any]]:
    """Where a tree stands in the bottle, where what is written to it lies, and what a survey of it
    tells."""
    account: Account | None = rights_of(reading.reader)[1] if reading.reader else None
    try:
        stood = supervisor.stand(source, reader=account, gone=reading.left_out.gone, emptied=reading.left_out.emptied)
    except PermissionError as error:
        if error.filename == OWNER:
            raise
        raise _unreadable((str(source),), reading) from error
    if stood.unreadable:
        raise _unreadable(stood.unreadable, reading)
    found = supervisor.survey(stood.seen, known_as)
    if found["unreadable"]:
        raise _unreadable(found["unreadable"], reading)
    return stood.seen, stood.written, found


def _file_at(supervisor: Supervisor, place: Path, origin: Path, reader: int) -> None:
    """A copy of one file that a link leads to, seen at the file's own path by a link there."""
    stage = Path(tempfile.mkdtemp(prefix="linked-file-", dir=supervisor.live))
    copy_linked(supervisor, place, stage / place.name, origin, reader=reader)
    give_to_service(supervisor, stage)
    stage.chmod(0o755)
    supervisor.link(place, stage / place.name)


def _unreadable(paths: Sequence[str], reading: _Reading) -> UsageError:
    name = rights_of(reading.reader)[0] if reading.reader else "this account"
    what = f"{name} may not read all of it: {paths[0]}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    return UsageError(what, where=reading.where, next_step=f"let {name} read it, or leave it out with exclude")
