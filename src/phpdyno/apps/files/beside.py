"""Files and directories that an app has outside of its root, as copies that it sees at their own
paths."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.files.copies import tree_digest
from phpdyno.apps.files.links import is_kernel
from phpdyno.apps.project.limits import ALWAYS, SHARED
from phpdyno.errors import UsageError
from phpdyno.servers.bottle.view import SYSTEM
from phpdyno.servers.supervision.supervisor import Supervisor

Copy = Callable[[Path, Path, str], None]
"""Copies what is in a directory (first) into a new one of ours (second); the third is what an error
says of where it is."""


class BesideRoot(Struct, frozen=True):
    """Each copy with the path that it is seen at, and a digest of all that is in them."""

    places: tuple[tuple[Path, Path], ...] = ()
    digest: str = ""


def refuse_unfit(places: tuple[Path, ...], *, where: str) -> None:
    """Raise UsageError for what is not there, what every app sees anyway, and what is nobody's
    app."""
    for number, place in enumerate(places):
        at = f"{where}: also[{number}] {place}"
        if not place.is_dir():
            what = "this is no directory" if place.exists() else "there is no such directory"
            raise UsageError(what, where=at, next_step="name a directory that the app reads or writes")
        real = place.resolve()
        if any(real.is_relative_to(tree) for tree in SYSTEM if tree != "/opt"):
            raise UsageError("every app sees this, as a part of the system", where=at, next_step="leave it out")
        if real in ALWAYS | SHARED or is_kernel(real) or real in {Path.home(), Path.home().resolve()} or real.parent == Path("/home"):
            raise UsageError("this holds more than an app", where=at, next_step="name the directory in it that the app needs")


def stand_beside(supervisor: Supervisor, places: tuple[Path, ...], copy: Copy, *, where: str) -> BesideRoot:
    """Copy what an app has outside of its root, and make room for it at its own paths. Raises
    UsageError where a run has no file system of its own, DynoError."""
    if not places:
        return BesideRoot()
    if supervisor.no_bottle:
        what = f"what lies beside the root can only be a copy in a bottle, and there is none: {supervisor.no_bottle}"
        raise UsageError(what, where=f"{where}: also", next_step="leave it out: in the open the app has the original, and changes it")
    found, digests = [], []
    for number, place in enumerate(places):
        into = supervisor.live / f"also-{number}"
        copy(place, into, f"{where}: also {place}")
        found.append((into, supervisor.make_place(place)))
        digests.append(f"{place} {tree_digest(into)}")
    return BesideRoot(tuple(found), "\n".join(digests))
