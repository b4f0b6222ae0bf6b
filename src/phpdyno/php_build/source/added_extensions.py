"""Extensions that the user gives by their sources, for a build that stands alone: a directory or a
tarball, as PECL has them."""

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.files.copies import file_digest, tree_digest
from phpdyno.config.values import absolute
from phpdyno.errors import UsageError
from phpdyno.php_build.compile.standalone import ALWAYS, IN_SOURCE
from phpdyno.php_build.source.given import check_given, unpacked
from phpdyno.php_build.source.needs import CXX
from phpdyno.php_build.workshop import Workshop

OPTION = "--with-extension"
CONFIG = "config.m4"
IN_CXX = frozenset({".cc", ".cpp", ".cxx"})
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Added(Struct, frozen=True):
    """An extension's source: the name that PHP lists it by, where it lies, and a digest that
    changes with anything in it."""

    name: str
    place: Path
    digest: str


def parse_added(texts: Sequence[str]) -> tuple[tuple[str, Path], ...]:
    """Names and places of `NAME=PATH`. Raises UsageError."""
    found: dict[str, Path] = {}
    for text in texts:
        name, given, path = text.partition("=")
        where = f"{OPTION} {text}"
        if not given or not path or not _NAME.fullmatch(name):
            raise UsageError("this is not NAME=PATH", where=where, next_step="write for instance apcu=apcu-5.1.24.tgz")
        if name in found:
            raise UsageError(f"{name} is given twice", where=where)
        if name in ALWAYS or (name in IN_SOURCE and IN_SOURCE[name].is_in("")):
            raise UsageError(f"PHP's own source has {name}", where=where, next_step=f"name it with --extension {name}")
        found[name] = absolute(Path(), path, where=where)
    return tuple(found.items())


def read_added(name: str, path: Path, shop: Workshop) -> Added:
    """The source of an extension; a tarball is unpacked in the cache. Raises UsageError for what is
    none, DynoError."""
    where = f"{OPTION} {name}={path}"
    check_given(path, where=where)
    if path.is_dir():
        root, digest = path, tree_digest(path, without=".git")
    else:
        digest = file_digest(path)
        root = unpacked(path, digest, shop)
    homes = [each for each in (root, *sorted(each for each in root.iterdir() if each.is_dir())) if (each / CONFIG).is_file()]
    if not homes:
        raise UsageError(f"this is no source of an extension: it has no {CONFIG}", where=where)
    return Added(name, homes[0], digest)


def packages_of(added: Sequence[Added]) -> tuple[str, ...]:
    """Debian packages that compiling these extensions wants beyond what PHP itself does."""
    return (CXX,) if any(path.suffix in IN_CXX for each in added for path in each.place.rglob("*")) else ()
