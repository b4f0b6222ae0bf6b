"""Apps that are made of Debian's packages: prepared once per version of everything that goes into
them, then only copied."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.built_in.packages import candidate_versions
from phpdyno.apps.source import Progress
from phpdyno.apps.store import newest, stored
from phpdyno.errors import DynoError

PACKAGE = "package "

Build = Callable[[Path, dict[str, str]], None]
"""Fills the cache's new entry, a directory, from packages of these versions."""


class PackageRecipe(Struct, frozen=True):
    """How an app is made. The first package gives it its version; `key` holds what its content
    depends on besides the packages."""

    name: str
    title: str
    packages: tuple[str, ...]
    key: dict[str, str]
    build: Build


def prepared(recipe: PackageRecipe, cache: Path, progress: Progress) -> tuple[Path, str]:
    """The cache's entry and the app's version; where apt names no versions, what was prepared last.
    Raises DynoError."""
    key = {"kind": recipe.name, **recipe.key}
    main = recipe.packages[0]
    try:
        versions = candidate_versions(recipe.packages)
    except DynoError as error:
        last = newest(cache, recipe.name, key)
        if last is None:
            raise
        entry, whole = last
        version = whole.get(PACKAGE + main, "")
        progress(f"using the {recipe.title} {version} of the cache, as {error.what}")
        return entry, version
    key |= {PACKAGE + name: version for name, version in versions.items()}
    entry = stored(cache, recipe.name, key, lambda partial: recipe.build(partial, versions), progress)
    return entry, versions[main]


def scripts_digest(folder: Path) -> str:
    """Hexadecimal digits that change with any of our own files that go into an app."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        total.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()
