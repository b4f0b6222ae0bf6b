"""Writing what an untrusted tar archive holds: nothing lands outside, and nothing but files, links
and directories."""

import lzma
import os
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from phpdyno.errors import DynoError

BROKEN = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError)
"""What an archive raises that is damaged, whatever compresses it, or a disk that is full."""


def unpack(archive: Path, into: Path) -> None:
    """Unpack an archive as `write_members` does. Raises DynoError: the archive is damaged or
    leads outside, a full disk."""
    try:
        write_members(archive, into)
    except BROKEN as error:
        raise DynoError(f"cannot unpack a copy: {error}", where=str(into), next_step="check the disk's room") from error


def write_members(archive: Path, into: Path) -> tuple[Path, ...]:
    """Write files, directories and links below the directory `into`; devices, pipes and bits that
    give rights are left out. Gives the symbolic links, which may lead anywhere.

    Symbolic links are made last, so that none is ever followed. (`extractall` knows no filters in
    the Python 3.11 of Debian 12.) Raises one of BROKEN, and DynoError for an archive that leads
    outside.
    """
    links: list[tuple[Path, str]] = []
    with tarfile.open(archive) as tar:
        for member in tar:
            place = _below(into, member.name)
            if member.issym():
                links.append((place, member.linkname))
            elif place != into:
                _write(tar, member, place, into)
    for place, target in links:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
    return tuple(place for place, _ in links)


def _below(into: Path, name: str) -> Path:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise DynoError("an archive leads outside", where=name)
    return into / path


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, place: Path, into: Path) -> None:
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
        return
    if not (member.isreg() or member.islnk()):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if member.islnk():
        os.link(_below(into, member.linkname), place)
        return
    stream = tar.extractfile(member)
    if stream is None:
        raise tarfile.ReadError(f"{member.name} has no content")
    with stream, place.open("xb") as file:
        shutil.copyfileobj(stream, file)
    place.chmod(member.mode & 0o755 | 0o600)
    os.utime(place, (member.mtime, member.mtime))
