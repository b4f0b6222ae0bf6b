"""A source that the user gives: a release as a tarball with its checksum, a directory, a git
checkout."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.files.copies import file_digest, listed_digest, tree_digest
from phpdyno.apps.files.revisions import archive_of, ask_git
from phpdyno.apps.files.unpack import BROKEN, unpack, write_members
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.files.plain import opened, opened_below, read_led
from phpdyno.host.files.trees import Copier
from phpdyno.model.build import Origin
from phpdyno.php_build.workshop import Workshop, empty

VERSION_FILE, API_FILE = "main/php_version.h", "Zend/zend_modules.h"
PARSER = "Zend/zend_language_parser.c"
"""Made from another file, and in a release already."""
GIT = ".git"
ARCHIVES = (".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar")
VERSION = re.compile(r'#define\s+PHP_VERSION\s+"([^"]+)"')
_API = re.compile(r"#define\s+ZEND_MODULE_API_NO\s+(\d+)")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Given(Struct, frozen=True):
    """An unpacked source: where it lies, whose it is, its version and the number that its
    extensions must have."""

    place: Path
    origin: Origin
    version: str
    api: str


def read_source(path: Path, checksum: str, shop: Workshop) -> Given:
    """What was given as a source; a tarball is unpacked in the cache. Raises UsageError for what is
    none of PHP, or not the right file."""
    check_given(path, where=f"--source {path}")
    if path.is_dir():
        if checksum:
            raise UsageError("a directory has no checksum", where=f"--checksum {checksum}", next_step="leave it out")
        look_into(path)
        return _checkout(path, shop) or _folder(path)
    return _archive(path, checksum, shop)


def check_given(path: Path, *, where: str) -> None:
    """Raise UsageError unless this is a directory or has the name of a tarball."""
    if not path.exists():
        raise UsageError("there is no such source", where=where)
    if not path.is_dir() and not path.name.endswith(ARCHIVES):
        raise UsageError("this is neither a directory nor a tarball", where=where, next_step=f"known: {', '.join(ARCHIVES)}")


def _folder(path: Path) -> Given:
    version, api = look_into(path)
    return Given(path, Origin("folder", version, tree_digest(path, without=GIT)), version, api)


def _checkout(path: Path, shop: Workshop) -> Given | None:
    """The files of a git checkout without what git ignores, which may be of another branch or of an
    earlier build: those of its commit, or as they are where something was changed or added since.
    None where it is no checkout, or one without a commit.

    Raises DynoError, UsageError for one of an account that git does not trust here.
    """
    head = ask_git(path, ["rev-parse", "--verify", "--quiet", "HEAD"]) if (path / GIT).exists() else None
    if head is None or head.returncode != 0:
        return None
    if not _told(path, "status", "--porcelain", "--untracked-files=normal").strip():
        commit = head.stdout.decode().strip()
        place = shop.made("sources", {"commit": commit}, lambda into: _export(path, commit, into))
        origin = Origin("git", commit[:12], commit)
    else:
        names = tuple(_files(path, _told(path, "ls-files", "-z", "--cached", "--others", "--exclude-standard")))
        digest = listed_digest(path, names)
        place = shop.made("sources", {"checkout": digest}, lambda into: _copy(path, names, into))
        origin = Origin("folder", look_into(path)[0], digest)
    version, api = look_into(place)
    return Given(place, origin, version, api)


def _told(path: Path, *words: str) -> bytes:
    """What git answers of a checkout. Raises DynoError where it fails, UsageError for somebody
    else's."""
    answer = ask_git(path, words)
    if answer.returncode != 0:
        raise DynoError(f"git {words[0]} fails here: {answer.stderr.decode(errors='replace').strip()}", where=str(path))
    return answer.stdout


def _export(path: Path, commit: str, into: Path) -> None:
    """Each file gets the commit's time, so that none which is made from another one seems to be
    older than that."""
    archive = into.with_name(f"{into.name}.tar")
    empty(into)
    try:
        archive.write_bytes(archive_of(path, commit))
        unpack(archive, into)
    finally:
        archive.unlink(missing_ok=True)


def _files(path: Path, listed: bytes) -> Iterator[str]:
    """Files of git's list that are there, in order; a repository in the repository is listed as one
    name."""
    for name in sorted(set(map(os.fsdecode, listed.split(b"\0")))):
        place = path / name
        if name and place.is_dir() and not place.is_symlink():
            yield from sorted(str(each.relative_to(path)) for each in _below(place))
        elif name and os.path.lexists(place):
            yield name


def _below(folder: Path) -> Iterator[Path]:
    for each in folder.iterdir():
        if each.is_dir() and not each.is_symlink():
            yield from _below(each) if each.name != GIT else ()
        elif each.name != GIT:
            yield each


def _copy(path: Path, names: Sequence[str], into: Path) -> None:
    empty(into)
    try:
        with opened(path) as top:
            for name in names:
                place = Path(name)
                (into / place).parent.mkdir(parents=True, exist_ok=True)
                with opened_below(top, place.parent.parts) as folder, opened(into / place.parent) as made:
                    Copier(made).copy(folder, place.name, place.name)
    except OSError as error:
        raise DynoError(f"this source cannot be copied: {error.strerror}", where=str(path), next_step="try again") from error


def _archive(path: Path, checksum: str, shop: Workshop) -> Given:
    wanted = checksum.strip().lower().removeprefix("sha256:")
    if not _SHA256.fullmatch(wanted):
        raise UsageError(
            "a tarball needs its SHA-256, as whoever released it publishes it", where=f"--source {path}", next_step="add --checksum SHA256"
        )
    found = file_digest(path)
    if found != wanted:
        raise UsageError(f"this is another file: its SHA-256 is {found}", where=f"--source {path}", next_step="fetch it once more")
    place = unpacked(path, found, shop)
    roots = [each for each in place.iterdir() if (each / VERSION_FILE).is_file()]
    root = roots[0] if roots else place
    version, api = look_into(root)
    return Given(root, Origin("archive", version, found), version, api)


def unpacked(archive: Path, digest: str, shop: Workshop) -> Path:
    """What a tarball of this SHA-256 holds, in the cache. Raises DynoError."""
    return shop.made("sources", {"archive": digest}, lambda place: _unpack(archive, place))


def _unpack(archive: Path, place: Path) -> None:
    empty(place)
    try:
        links = write_members(archive, place)
    except BROKEN as error:
        raise DynoError(f"this tarball cannot be unpacked: {error}", where=str(archive)) from error
    # A Path that is resolved ends in an error where links go round in a circle.
    home = os.path.realpath(place)
    outside = [str(link.relative_to(place)) for link in links if not Path(os.path.realpath(link)).is_relative_to(home)]
    if outside:
        raise DynoError(f"this tarball cannot be unpacked: its link {outside[0]} leads outside", where=str(archive))


def wants_parsers(source: Path) -> bool:
    """Whether its parsers are still to be made."""
    return not (source / PARSER).is_file()


def look_into(source: Path) -> tuple[str, str]:
    """Version and extension API of a source. Raises UsageError where it is none of PHP."""
    told_version = found_in(source / VERSION_FILE, VERSION)
    api = found_in(source / API_FILE, _API)
    if not told_version or not api:
        raise UsageError(f"this is no source of PHP: it has no {VERSION_FILE}", where=f"--source {source}")
    return told_version, api


def found_in(path: Path, pattern: re.Pattern[str]) -> str:
    """What a pattern finds in a file; '' where there is no such file, or nothing is found."""
    try:
        found = pattern.search(read_led(path).decode(errors="replace"))
    except OSError:
        return ""
    return found[1] if found else ""
