"""What instrumented processes wrote (GCC's .gcda files): found, counted, put beside the sources, kept."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from phpdyno.errors import DynoError

PROFILE = "*.gcda"
LEAST_SHARE = 0.5
"""Of the objects that could have written one: a file whose code never ran writes none, and half of the core always runs."""


def written(folder: Path) -> tuple[Path, ...]:
    """The profiles in a directory, relative to it, in order."""
    return tuple(sorted(path.relative_to(folder) for path in folder.rglob(PROFILE)))


def collect(written_to: Path, tree: Path, into: Path) -> int:
    """Copy what processes wrote below `written_to` (their GCOV_PREFIX, so that each path of the tree is repeated in it) into a directory,
    by its place in the tree; how many. Raises DynoError where there are fewer than half as many as the tree has objects."""
    home = written_to / tree.relative_to("/")
    names = written(home) if home.is_dir() else ()
    objects = sum(1 for _ in tree.rglob("*.lo"))
    if len(names) < LEAST_SHARE * objects or not names:
        raise DynoError(
            f"training left {len(names)} profiles, and {objects} files were compiled to write one",
            where=str(written_to),
            next_step="the workers must be able to write there and must end by themselves",
        )
    copy(home, names, into)
    return len(names)


def copy(source: Path, names: Sequence[Path], into: Path) -> None:
    """Copy these files of one directory into another, as they are."""
    for name in names:
        place = into / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, place)


def forget(tree: Path) -> None:
    """Remove all profiles from a tree: those of another training would be merged in silence."""
    for path in tree.rglob(PROFILE):
        path.unlink()
