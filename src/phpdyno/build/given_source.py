"""A source that the user gives: a release as a tarball with its checksum, a directory, a git checkout."""

import re
import shutil
import tarfile
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.copies import file_digest, tree_digest
from phpdyno.apps.unpack import BROKEN
from phpdyno.build.workshop import Workshop
from phpdyno.errors import DynoError, UsageError
from phpdyno.model.build import Origin
from phpdyno.stack.programs import told

VERSION_FILE, API_FILE = "main/php_version.h", "Zend/zend_modules.h"
ARCHIVES = (".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar")
VERSION = re.compile(r'#define\s+PHP_VERSION\s+"([^"]+)"')
_API = re.compile(r"#define\s+ZEND_MODULE_API_NO\s+(\d+)")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Given(Struct, frozen=True):
    """An unpacked source: where it lies, whose it is, its version and the number that its extensions must have."""

    place: Path
    origin: Origin
    version: str
    api: str


def read_source(path: Path, checksum: str, shop: Workshop) -> Given:
    """What was given as a source; a tarball is unpacked in the cache. Raises UsageError for what is none of PHP, or not the right file."""
    check_given(path, where=f"--source {path}")
    if path.is_dir():
        if checksum:
            raise UsageError("a directory has no checksum", where=f"--checksum {checksum}", next_step="leave it out")
        return _folder(path)
    return _archive(path, checksum, shop)


def check_given(path: Path, *, where: str) -> None:
    """Raise UsageError unless this is a directory or has the name of a tarball."""
    if not path.exists():
        raise UsageError("there is no such source", where=where)
    if not path.is_dir() and not path.name.endswith(ARCHIVES):
        raise UsageError("this is neither a directory nor a tarball", where=where, next_step=f"known: {', '.join(ARCHIVES)}")


def _folder(path: Path) -> Given:
    version, api = look_into(path)
    commit = told(["git", "-C", str(path), "rev-parse", "HEAD"]).stdout.decode().strip() if (path / ".git").exists() else ""
    clean = bool(commit) and not told(["git", "-C", str(path), "status", "--porcelain", "--untracked-files=no"]).stdout.strip()
    origin = Origin("git", commit[:12], commit) if clean else Origin("folder", version, tree_digest(path, without=".git"))
    return Given(path, origin, version, api)


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

    def make(place: Path) -> None:
        shutil.rmtree(place)
        place.mkdir()
        try:
            with tarfile.open(archive) as tar:
                tar.extractall(place, filter="data")
        except BROKEN as error:
            raise DynoError(f"this tarball cannot be unpacked: {error}", where=str(archive)) from error

    return shop.made("sources", {"archive": digest}, make)


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
        found = pattern.search(path.read_text(errors="replace"))
    except OSError:
        return ""
    return found[1] if found else ""
