"""What each entry of the cache is, by its place and its name, and which names have one.

A name has to be exactly as phpdyno writes it. All else is somebody else's, and nothing here knows
it.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.built_in.debian import PACKAGE
from phpdyno.apps.store import COMPLETE, PARTIAL
from phpdyno.commands.cache.listing import Kind
from phpdyno.errors import DynoError
from phpdyno.model.build import BUILD_FILE
from phpdyno.php_build.train.requests import FOLDER as REQUESTS
from phpdyno.php_build.workshop import DONE, LOCK, read_build
from phpdyno.report.words import count
from phpdyno.tuning.preloading import FOLDER as PRELOAD

APPS, BUILDS, SEED = "apps", "builds", "seed"
REMOVING = ".removing"
"""Behind the name of what is about to be removed."""
FINISHED = "finished"
STEPS = {
    "sources": "source of PHP",
    "pairs": "the distribution's binaries of another version of PHP",
    "trees": "source of PHP, configured",
    "trainees": "binaries that count, to be trained",
    "profiles": "profile of a training",
    "merged": "profiles of several trainings as one",
    "compiled": "compiled binaries",
    FINISHED: "a finished build",
    "tested": "what PHP's own tests said of a build",
}
"""Folders of the workshop in which each entry is named by a digest."""
ARCHIVES, PHP_CONFIG = "apt", "php-config"
FRAME = frozenset({APPS, BUILDS, PRELOAD, *(f"{BUILDS}/{each}" for each in (*STEPS, REQUESTS, PHP_CONFIG))})
"""Our folders. They are no entries and stay."""

_GOING = f"(?:{re.escape(REMOVING)})"
_APP = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*)-[0-9a-f]{16}")
_LEFT_OF_APP = re.compile(rf"{_APP.pattern}(?:{re.escape(PARTIAL)}{_GOING}?|{_GOING})")
_APP_LOCK = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\.lock")
_DIGEST = re.compile(r"[0-9a-f]{16}")
_LEFT = re.compile(rf"[0-9a-f]{{16}}(?:(?:\.tar|\.download|\.new){_GOING}?|{_GOING})")
_VERSION = re.compile(r"[0-9][\w.+:~-]*")

Entry = os.DirEntry[str]


class Known(Struct, frozen=True):
    """An entry of ours: what it is, in words as well, and what it may be called besides its
    path."""

    kind: Kind
    words: str
    also: tuple[str, ...] = ()


def known(name: str, entry: Entry) -> Known | None:
    """What an entry is, by its path below the cache; None for what is not ours."""
    folder = name.rpartition("/")[0]
    sort = _SORTS.get(folder)
    return None if sort is None or entry.is_symlink() else sort(folder.rpartition("/")[2], entry)


def folders() -> tuple[str, ...]:
    """The folders of the cache that hold entries, outermost first; '' is the cache."""
    return ("", *_SORTS)


def is_frame(name: str, entry: Entry) -> bool:
    """Whether it is one of our folders or a lock file, at which whoever prepares or builds waits:
    these stay."""
    if entry.is_symlink():
        return False
    if entry.is_dir():
        return name in FRAME
    folder, _, last = name.rpartition("/")
    return name == f"{BUILDS}/{LOCK}" or (folder == APPS and _APP_LOCK.fullmatch(last) is not None)


def lock_of(name: str) -> str:
    """The lock file below the cache that whoever makes an entry holds; '' for what is made at
    once."""
    folder, _, rest = name.partition("/")
    app = _APP.match(rest)
    if folder == APPS and app:
        return f"{APPS}/{app[1]}.lock"
    return f"{BUILDS}/{LOCK}" if folder == BUILDS else ""


def markers_of(name: str) -> tuple[str, ...]:
    """Files in a directory that say that it is complete."""
    return (COMPLETE,) if name.startswith(f"{APPS}/") else (DONE, BUILD_FILE)


def _app(folder: str, entry: Entry) -> Known | None:
    left, app = _LEFT_OF_APP.fullmatch(entry.name), _APP.fullmatch(entry.name)
    if not entry.is_dir() or not (left or app):
        return None
    if app is None:
        what = left[1] if left else ""
        return Known("unfinished", f"{what}, ended while it was prepared or removed", (what,))
    key = _record(Path(entry.path) / COMPLETE)
    if key is None:
        return Known("unfinished", f"{app[1]}, without the record that it is complete", (app[1],))
    return _complete(app[1], key) if key.get("kind") == app[1] else None


def _complete(name: str, key: Mapping[str, object]) -> Known:
    if name == SEED:
        dump = f"loaded from a dump of yours (SHA-256 {str(key['dump'])[:12]}…), whose data it holds" if key.get("dump") else "empty"
        return Known("database", f"the database {key.get('database')}, {dump}", (name,))
    version = f" {key[PACKAGE + name]}" if PACKAGE + name in key else ""
    return Known("app", f"the app {name}{version}, prepared of {count(sum(each.startswith(PACKAGE) for each in key), 'package')}", (name,))


def _of_builds(folder: str, entry: Entry) -> Known | None:
    if entry.is_dir() and entry.name.removesuffix(REMOVING) == ARCHIVES:
        return Known("step", "lists of the distribution's archives of sources", (ARCHIVES,))
    return None


def _step(folder: str, entry: Entry) -> Known | None:
    what = STEPS[folder]
    if _LEFT.fullmatch(entry.name):
        return Known("unfinished", f"{what}, ended while it was made or removed", (folder,))
    if not _DIGEST.fullmatch(entry.name) or not entry.is_dir():
        return None
    place = Path(entry.path)
    key = _record(place / DONE)
    if key is None:
        return Known("unfinished", f"{what}, not finished: the next build goes on with it", (folder,))
    if folder == FINISHED:
        return _build(place, what, folder)
    told = [value for each in ("package", "version") if isinstance(value := key.get(each), str)]
    return Known("step", f"{what}: {' '.join(told)}" if told else what, (folder,))


def _build(place: Path, what: str, folder: str) -> Known:
    try:
        build = read_build(place)
    except DynoError as error:
        return Known("build", f"{what}: {error.what}", (folder,))
    words = f"the build {build.name} of PHP {build.php_version}, in place of {Path(build.like).name or build.like}"
    return Known("build", words, (folder, build.name))


def _requests(folder: str, entry: Entry) -> Known | None:
    what = "requests of yours that a build was trained on: paths, cookies and bodies of visitors"
    return _file(folder, entry, ".json", Known("requests", what, (folder,)))


def _preload(folder: str, entry: Entry) -> Known | None:
    what = "preload script: a bundle that is applied, or a php-fpm of yours, may name it, and does not start without it"
    return _file(folder, entry, ".php", Known("preload", what, (folder,)))


def _file(folder: str, entry: Entry, suffix: str, found: Known) -> Known | None:
    """An entry that is one file, named by a digest."""
    if not entry.is_file():
        return None
    if _LEFT.fullmatch(entry.name):
        return Known("unfinished", "a file that was not written to its end", (folder,))
    return found if _DIGEST.fullmatch(entry.name.removesuffix(suffix)) and entry.name.endswith(suffix) else None


def _php_config(folder: str, entry: Entry) -> Known | None:
    if not _VERSION.fullmatch(entry.name) or not entry.is_dir():
        return None
    return Known("step", f"php-config of the package's version {entry.name.removesuffix(REMOVING)}", (folder,))


def _record(path: Path) -> Mapping[str, object] | None:
    """What a marker says; None where it is not there or says nothing."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


_SORTS: dict[str, Callable[[str, Entry], Known | None]] = {
    APPS: _app,
    BUILDS: _of_builds,
    **{f"{BUILDS}/{each}": _step for each in STEPS},
    f"{BUILDS}/{REQUESTS}": _requests,
    f"{BUILDS}/{PHP_CONFIG}": _php_config,
    PRELOAD: _preload,
}
"""By the folder below the cache."""
