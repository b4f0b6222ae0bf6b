"""What instrumented processes wrote (GCC's .gcda files): found, counted, put beside the sources,
kept, several apps' as one."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.host.files.plain import opened, opened_below
from phpdyno.host.files.trees import copy_plain
from phpdyno.php_build.compile.leftovers import OF_LIBTOOL, PROFILE
from phpdyno.servers.programs.finding import find_program
from phpdyno.servers.supervision.supervisor import BASE_PATH, Supervisor

LEAST_SHARE = 0.5
"""Of the objects that could have written one: a file whose code never ran writes none, and half of
the core always runs."""
MERGE_S = 300.0
MERGING = "merging"
_NOT_FOUND = re.compile(r"[‘'](\S+\.gcda)[’'] profile count data file not found")


def written(folder: Path) -> tuple[Path, ...]:
    """The profiles in a directory, relative to it, in order."""
    return tuple(sorted(path.relative_to(folder) for path in folder.rglob(PROFILE)))


def collect(written_to: Path, tree: Path, into: Path, *, objects: int, modules: Sequence[str] = ()) -> int:
    """Copy what processes wrote below `written_to` (their GCOV_PREFIX, so that each path of the
    tree is repeated in it) into a directory, by its place in the tree; how many. Raises DynoError
    where there are fewer than half as many as `objects` were compiled, or none of one of the
    `modules`, by their directories in the tree, which were at work."""
    home = written_to / tree.relative_to("/")
    names = written(home) if home.is_dir() else ()
    if len(names) < LEAST_SHARE * objects or not names:
        raise DynoError(
            f"training left {len(names)} profiles, and {objects} files were compiled to write one",
            where=str(written_to),
            next_step="the workers must be able to write there and must end by themselves",
        )
    silent = [module for module in modules if not any(name.is_relative_to(module) for name in names)]
    if silent:
        raise DynoError(f"training left no profile of {', '.join(silent)}, which was at work", where=str(written_to))
    copy(home, names, into)
    return len(names)


def copy(source: Path, names: Sequence[Path], into: Path) -> None:
    """Copy these files of one directory, in which others may write, into another of ours, as they
    are. Raises DynoError where one of them is no plain file."""
    at = source
    try:
        with opened(source) as top:
            for name in names:
                at, place = source / name, into / name
                place.parent.mkdir(parents=True, exist_ok=True)
                with opened_below(top, name.parent.parts) as folder:
                    copy_plain(name.name, folder, place)
    except OSError as error:
        what = f"this profile cannot be taken: {error.strerror}"
        raise DynoError(what, where=str(at), next_step="the app may have put something else there") from error


def refuse_unread(given: Sequence[Path], said: str, tree: Path) -> None:
    """Raises DynoError where the compiler looked for a file's profile elsewhere in the tree than it
    lies, as what it `said` tells."""
    missed = {_source_of(Path(name)) for name in _NOT_FOUND.findall(said)}
    unread = [name for name in given if _source_of(tree / name) in missed]
    if unread:
        raise DynoError(f"the compiler has not found {len(unread)} of the {len(given)} profiles, as that of {unread[0]}", where=str(tree))


def _source_of(profile: Path) -> Path:
    """The source that a profile is of, without its suffix: libtool puts what is of a module into a
    directory beside it."""
    return profile.with_name(profile.stem) if profile.parent.name != OF_LIBTOOL else profile.parent.parent / profile.stem


def merge(folders: Sequence[tuple[Path, float]], into: Path, supervisor: Supervisor) -> None:
    """Several trainings' profiles as one, each counted by its weight, a whole number; a file that
    only some of them left counts as those have it.

    The servers' account reads them: they are what an app's processes wrote. Raises DynoError.
    """
    tool = find_program("gcov-tool", BASE_PATH)
    for folder, wanted in folders:
        if not wanted.is_integer():
            raise DynoError(f"gcov-tool adds up by whole numbers, and this profile weighs {wanted:g}", where=str(folder))
    # It weighs the first one by merging it with itself: so let that be one that weighs 1, where
    # there is one.
    (first, weight), *rest = sorted(folders, key=lambda each: each[1] != 1.0)
    shutil.rmtree(supervisor.live / MERGING, ignore_errors=True)
    scratch = supervisor.directory(MERGING)
    so_far = _within_reach(first, scratch / f"{first.name}.first", supervisor)
    for number, (folder, further) in enumerate(rest):
        added, made = _within_reach(folder, scratch / f"{folder.name}.{number}", supervisor), scratch / str(number)
        # Of the sum so far all is weighted already, the first time excepted.
        weights = f"{int(weight) if number == 0 else 1},{int(further)}"
        argv = [tool, "merge", "-w", weights, "-o", str(made), str(so_far), str(added)]
        child = supervisor.run("build-merge", argv, timeout_s=MERGE_S)
        if child.status != 0:
            raise DynoError(f"the profiles cannot be merged: {child.tail(2)}", where=str(folder), next_step=f"see {child.log}")
        so_far = made
    copy(so_far, written(so_far), into)


def _within_reach(folder: Path, place: Path, supervisor: Supervisor) -> Path:
    """A copy of profiles that is the servers' account's: gcov-tool opens what it reads to write to
    it. Raises DynoError."""
    supervisor.show(folder)
    child = supervisor.run("build-merge", ["cp", "-R", "--", str(folder), str(place)], timeout_s=MERGE_S)
    if child.status != 0:
        raise DynoError(f"the profiles cannot be copied: {child.tail(2)}", where=str(folder), next_step=f"see {child.log}")
    return place
