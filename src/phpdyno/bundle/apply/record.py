"""What was applied to a tree: written before the first change, rewritten as it goes, removed when
all is as it was."""

import os
import stat
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from phpdyno.bundle.apply.commands import Follow
from phpdyno.bundle.apply.tree import Disk, FileOwner, TargetTree, digest, read_plain
from phpdyno.bundle.manifest import Kind
from phpdyno.errors import DynoError
from phpdyno.model.decoding import NOT_JSON

RECORD = "journal.json"
State = Literal["before", "after", "edited"]


class Before(Struct, frozen=True):
    """What was at a place: nothing, a file (its content in the backup of this name) or a link."""

    kind: Literal["absent", "file", "link"]
    owner: FileOwner | None = None
    sha256: str = ""
    backup: str = ""
    link: str = ""


class FileChange(Struct, frozen=True):
    """One file that is placed: its real place as a path of the tree, what was there, and the
    checksum of what comes there.

    `kind` and `text` are the bundle's, to show what was edited since; None in records of the first
    version, which left them to the bundle.
    """

    place: str
    before: Before
    sha256: str
    kind: Kind | None = None
    text: str | None = None


class Record(Struct, frozen=True):
    """An apply. `bundle` is the checksum of its manifest; `dirs` are directories that it makes,
    outermost first.

    Since the second version it holds all that a rollback needs and says: `directory` is where the
    bundle lay, `follow` what has to follow.
    """

    schema: Literal["phpdyno.applied/1", "phpdyno.applied/2"]
    phase: Literal["applying", "applied", "rolling back"]
    bundle: str
    run: str
    at: str
    dirs: tuple[str, ...]
    changes: tuple[FileChange, ...]
    directory: str = ""
    follow: Follow | None = None


def read_record(tree: TargetTree) -> Record | None:
    """The record of a tree, None where nothing was applied. Raises DynoError for one that cannot be
    read."""
    path = tree.state / RECORD
    try:
        return msgspec.json.decode(read_plain(path), type=Record)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except NOT_JSON as error:
        what = f"this record of an apply is not understood: {error}"
        raise DynoError(what, where=str(path), next_step="was it made by another version of phpdyno? use that one") from error


def write_record(tree: TargetTree, disk: Disk, record: Record) -> None:
    """Replace the record; it is on disk afterwards."""
    disk.put(tree.state / RECORD, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n", private())


def private() -> FileOwner:
    """A file of ours that nobody else reads."""
    return FileOwner(os.geteuid(), os.getegid(), 0o600)


def look(place: Path) -> tuple[Before, bytes]:
    """What is at a place now, with its content. Raises DynoError for what is neither a file nor a
    link."""
    try:
        status = place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return Before("absent"), b""
    owner = FileOwner(status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode))
    if stat.S_ISLNK(status.st_mode):
        return Before("link", owner, link=str(place.readlink())), b""
    data = read_plain(place)
    return Before("file", owner, sha256=digest(data)), data


def state_of(tree: TargetTree, change: FileChange) -> State:
    """Whether a place is as it was before, as the bundle leaves it, or something else."""
    now, _ = look(place_of(tree, change))
    if now.kind == "file" and now.sha256 == change.sha256:
        return "after"
    before = change.before
    return "before" if (now.kind, now.sha256, now.link) == (before.kind, before.sha256, before.link) else "edited"


def place_of(tree: TargetTree, change: FileChange) -> Path:
    """The place of a change. Raises DynoError where a link has come into its way since."""
    place = tree.inside(change.place)
    if tree.name(place) != change.place:
        raise DynoError(f"a link leads to {tree.name(place)} now", where=change.place, next_step="put back what was there, then try again")
    return place
