"""The root of a project whose document root, or script, was named."""

import os
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.project.limits import DOCROOTS, is_seen_anyway, marker_of, others_in, why_not
from phpdyno.apps.project.loads import NamedPlace, places_named
from phpdyno.config.trusted import obeyed
from phpdyno.errors import UsageError
from phpdyno.model.notices import project_words

MOST_ENTRIES = 40


class ProjectRoot(Struct, frozen=True):
    """A directory that is copied instead of the document root, the place of that one in it, and the
    line that says so."""

    root: Path
    docroot: Path
    words: str


class _Need(Struct, frozen=True):
    """The directory that holds all that is needed so far, why, and whether that is certain."""

    root: Path
    why: str = ""
    sure: bool = False


def find_root(docroot: Path, first: str, *, where: str, alone: bool = False) -> ProjectRoot | None:
    """The project's root where more has to be copied than `docroot`; None where that is enough.

    `first` is the front controller in it, or the script that is run `alone`. Raises UsageError
    where what it loads for certain lies in a directory that is not copied unasked.
    """
    real = Path(os.path.realpath(docroot))
    need = _needed(real, places_named(_entries(real, first, alone=alone)))
    if need.root == real:
        return None
    reason = why_not(need.root, real) or _of_another(need.root, real)
    if reason and not need.sure:
        return None
    if reason:
        raise UsageError(f"{need.why}, and {need.root} {reason}", where=where, next_step=_remedy(need.root, real, alone=alone))
    given = _as_given(docroot, real, need.root)
    words = project_words(str(given), need.why, others_in(need.root, real))
    return ProjectRoot(given, docroot if docroot.is_relative_to(given) else real, words)


def _needed(docroot: Path, named: Iterable[NamedPlace]) -> _Need:
    marked = _marked(docroot)
    need = marked
    outside = (each for each in named if not each.place.is_relative_to(docroot) and _counts(each, docroot, marked.root))
    for each in sorted(outside, key=lambda each: not each.sure):
        above = Path(os.path.commonpath([need.root, each.place]))
        if above == need.root and need is not marked:
            continue
        if not each.sure and above != need.root and (why_not(above, docroot) or _of_another(above, docroot)):
            continue
        verb = "loads" if each.sure else "names"
        need = _Need(above, f"{_shown(each.by, docroot)} {verb} {_led_to(each.place, docroot)}", need.sure or each.sure)
    return need


def _entries(docroot: Path, first: str, *, alone: bool) -> list[Path]:
    """The PHP files that requests, or the script's start, begin with."""
    try:
        others = [] if alone else sorted(each for each in docroot.iterdir() if each.suffix == ".php" and each.name != first)
    except OSError:
        others = []
    return [docroot / first, *others[:MOST_ENTRIES]]


def _counts(each: NamedPlace, docroot: Path, marked: Path) -> bool:
    """Whether a place outside says something. WordPress looks for a wp-config.php above itself
    where it has none; a directory above the project may be named to be cut off a path."""
    place = each.place
    if is_seen_anyway(place, docroot):
        return False
    if place.name in {"wp-config.php", "wp-settings.php"} and place.parent == docroot.parent:
        return not (docroot / "wp-config.php").exists() and not (docroot.parent / "wp-settings.php").exists()
    return each.sure or not (marked != docroot and marked.is_relative_to(place) and place != marked)


def _shown(by: Path, docroot: Path) -> str:
    """A file that names something, from the directory above the document root."""
    return str(by.relative_to(docroot.parent)) if by.is_relative_to(docroot.parent) else str(by)


def _led_to(place: Path, docroot: Path) -> str:
    """A place as it is seen from the document root; of a file in a directory beside it, that
    directory."""
    text = os.path.relpath(place, docroot)
    if text.count("../") > 2:
        return str(place)
    parts = text.split("/")
    return "/".join(parts[:2]) if parts[0] == ".." and len(parts) == 3 else text


def _marked(docroot: Path) -> _Need:
    """The top of the project by the files that mark it: the directory above, or above that."""
    if (docroot / "composer.json").exists() or (docroot / "vendor/autoload.php").exists():
        return _Need(docroot)
    above = [docroot.parent, docroot.parent.parent] if docroot.name in DOCROOTS else [docroot.parent]
    for folder in above:
        if (marker := marker_of(folder)) and not why_not(folder, docroot):
            return _Need(folder, f"{marker} lies there")
    return _Need(docroot)


def _of_another(root: Path, docroot: Path) -> str:
    """As root, what PHP of another account names is copied only where it is that account's own."""
    if os.geteuid() != 0:
        return ""
    owner = docroot.stat().st_uid
    return "" if owner in obeyed() or root.stat().st_uid == owner else "belongs to another account"


def _as_given(docroot: Path, real: Path, root: Path) -> Path:
    """The root under the name that leads to it from the document root as it was named."""
    given = docroot
    for _ in real.relative_to(root).parts:
        given = given.parent
    return given if os.path.realpath(given) == str(root) else root


def _remedy(root: Path, docroot: Path, *, alone: bool) -> str:
    if alone or root == Path("/"):
        return "put it, with what it loads, into a directory of its own"
    up = "/".join([".."] * len(docroot.relative_to(root).parts))
    return f'to copy it all the same, write an app.toml in {docroot} with root = "{up}" and docroot = "."'
