"""Symbolic links in a copied tree: every one leads to a place in the copy, none to the user's own
files."""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from phpdyno.errors import UsageError

Duplicate = Callable[[Path, Path, Path], None]
"""Copies a file or directory (first) as a new one (second), as the link in the original (third)
wants it; links in it stay links."""

KERNEL = (Path("/dev"), Path("/proc"), Path("/sys"))
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 (nothing is made there)
CROWDED = (Path("/"), Path("/usr"), Path("/home"), Path("/dev"))
"""Directories whose children are whole system trees or somebody's everything."""
MOST_HOPS = 40


def mend_links(copy: Path, source: Path, duplicate: Duplicate, *, seen_at: Path | None = None) -> None:
    """Make links that led into `source` lead into its copy, and put a copy of what they led to in
    the place of those that left it.

    `seen_at` is the path at which the copy will be seen, and which links into it therefore have to
    name; None for its own.

    What several links lead to is copied once, so an app that writes through one link reads it
    through the other. A link that left the root and led to nothing is removed. One to a device
    (/dev/null, /dev/stderr) stays. Raises UsageError, naming the link, where a copy would have no
    end or no sense: a directory that holds the root, a whole system tree, a socket.
    """
    source = source.resolve()
    homes = {source: copy}
    found: list[tuple[Path, Path]] = []
    fresh = [(copy, source)]
    while fresh:
        new = [pair for tree in fresh for pair in _links(*tree)]
        found += new
        # Outer directories first: what lies in one that is copied needs no copy of its own.
        leaving = sorted((_led_to(origin, homes), link, origin) for link, origin in new)
        fresh = []
        for place, link, origin in leaving:
            if _home(place, homes) is None and may_be_copied(place, origin, (source, copy)):
                link.unlink()
                duplicate(place, link, origin)
                homes[place] = link
                fresh.append((link, place))
    for link, origin in found:
        if link.is_symlink():
            _point(link, _led_to(origin, homes), homes, (copy, seen_at or copy))


def _links(copy: Path, source: Path) -> Iterator[tuple[Path, Path]]:
    """Each link in a copied tree, and the one in the original that it is a copy of."""
    for folder, folders, files in os.walk(copy):
        for name in (*folders, *files):
            path = os.path.join(folder, name)  # noqa: PTH118 (a Path for each of 10,000 files takes seconds)
            if os.path.islink(path):  # noqa: PTH114
                yield Path(path), source / Path(path).relative_to(copy)


def _led_to(link: Path, homes: Mapping[Path, Path]) -> Path:
    """The first place on the way from a link that we have a copy of, else the end of the way."""
    place = _hop(link)
    for _ in range(MOST_HOPS):
        if _home(place, homes) or is_kernel(place) or not os.path.islink(place):  # noqa: PTH114 (never raises)
            break
        place = _hop(place)
    return place


def _hop(link: Path) -> Path:
    """Where one link leads, itself perhaps a link, in a directory whose own path holds none."""
    place = link.parent / link.readlink()
    plain = Path(os.path.normpath(place))
    if is_kernel(plain):  # /proc/self, /dev/stderr: resolved, they would be ours
        return plain
    return Path(os.path.realpath(place)) if place.name in {"", ".."} else Path(os.path.realpath(place.parent), place.name)


def _home(place: Path, homes: Mapping[Path, Path]) -> Path | None:
    """The innermost of the copied places that `place` lies in."""
    return max((home for home in homes if place.is_relative_to(home)), key=lambda home: len(home.parts), default=None)


def is_kernel(place: Path) -> bool:
    """Whether a path is of the devices, or of the files that tell of processes: such a link stays
    as it is."""
    return any(place.is_relative_to(tree) for tree in KERNEL) and not place.is_relative_to(SHARED_MEMORY)


def may_be_copied(place: Path, origin: Path, trees: tuple[Path, Path]) -> bool:
    """Whether there is something to copy at the end of a link. Raises UsageError when it must not
    be."""

    def refuse(what: str, next_step: str) -> UsageError:
        return UsageError(f"this link leads to {place}, {what}", where=str(origin), next_step=next_step)

    elsewhere = "measure a copy of the app without this link"
    try:
        mode = place.stat().st_mode
    except OSError:
        return False
    if stat.S_ISDIR(mode):
        if is_kernel(place) or place in CROWDED or place.parent in CROWDED:
            raise refuse("which is too much to copy with the app", elsewhere)
        if any(tree.is_relative_to(place) for tree in trees):
            raise refuse("which holds the app's root", "let root be that directory, or " + elsewhere)
    elif not stat.S_ISREG(mode) and not is_kernel(place):
        raise refuse("which is neither file nor directory", elsewhere)
    return not is_kernel(place)


def _point(link: Path, place: Path, homes: Mapping[Path, Path], seen: tuple[Path, Path]) -> None:
    """Make a link in the copy lead where `place` is now; nowhere where that is neither copied nor a
    device. `seen` is the copy and the path at which it is seen."""
    home = _home(place, homes)
    if home is None and not is_kernel(place):
        link.unlink()
        return
    target = homes[home] / place.relative_to(home) if home else place
    copy, at = seen
    if target.is_relative_to(copy):
        target = at / target.relative_to(copy)
    standing = at / link.parent.relative_to(copy) if link.is_relative_to(copy) else link.parent
    if Path(os.path.normpath(standing / link.readlink())) != target:
        link.unlink()
        link.symlink_to(target)
