"""What is in a tree, looked at with the rights of those who serve it: a digest of it, and the links
that lead out of it."""

import hashlib
import os
import stat
from typing import Any

MOST_READ_FILES, MOST_READ_BYTES = 20_000, 256 << 20
"""Up to this size a tree is told from another by what its files hold, above it by their names,
sizes and times."""
MOST_TOLD = 50


def survey(known_as: str) -> dict[str, Any]:
    """Look through the tree that we are in, which the processes that serve it see at `known_as`.

    Gives `digest` (changes with all that is served, wherever the tree lies), `links` (of those that
    lead out: pairs of where it lies in the tree and the path, without `..`, that it names),
    `unreadable` (paths), `files` and `bytes`.
    """
    looked = _Looked(known_as)
    looked.walk("")
    small = looked.files <= MOST_READ_FILES and looked.bytes <= MOST_READ_BYTES
    return {
        "digest": looked.digest(by_content=small),
        "links": sorted(looked.leaving.items()),
        "unreadable": looked.unreadable[:MOST_TOLD],
        "files": looked.files,
        "bytes": looked.bytes,
    }


class _Looked:
    def __init__(self, known_as: str) -> None:
        self.known_as = known_as
        self.files = 0
        self.bytes = 0
        self.leaving: dict[str, str] = {}
        self.unreadable: list[str] = []
        self.entries: list[tuple[str, os.stat_result, str]] = []

    def walk(self, folder: str) -> None:
        """Everything below a folder, in the order of names."""
        try:
            with os.scandir(f"./{folder}") as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except PermissionError:
            self.unreadable.append(f"{folder}/")
            return
        for entry in entries:
            path = f"{folder}/{entry.name}"
            status = entry.stat(follow_symlinks=False)
            led = ""
            if stat.S_ISLNK(status.st_mode):
                led = os.readlink(f".{path}")  # noqa: PTH115
                self._follow(path, led)
            elif stat.S_ISREG(status.st_mode):
                self.files += 1
                self.bytes += status.st_size
            self.entries.append((path, status, led))
            if stat.S_ISDIR(status.st_mode):
                self.walk(path)

    def _follow(self, path: str, led: str) -> None:
        place = os.path.normpath(os.path.join(self.known_as + os.path.dirname(path), led))  # noqa: PTH118, PTH120
        if place != self.known_as and not place.startswith(f"{self.known_as}/"):
            self.leaving[path] = place

    def digest(self, *, by_content: bool) -> str:
        """16 hexadecimal digits."""
        total = hashlib.sha256()
        for path, status, led in self.entries:
            total.update(os.fsencode(path) + b"\0" + self._of(path, status, led, by_content=by_content))
        return total.hexdigest()[:16]

    def _of(self, path: str, status: os.stat_result, led: str, *, by_content: bool) -> bytes:
        if stat.S_ISLNK(status.st_mode):
            inside = led.startswith(f"{self.known_as}/")
            return b"link " + os.fsencode(led.removeprefix(self.known_as) if inside else led) + b"\0"
        if not stat.S_ISREG(status.st_mode):
            return b"folder" if stat.S_ISDIR(status.st_mode) else b"other"
        if not by_content:
            return f"file {status.st_size} {status.st_mtime_ns}".encode()
        try:
            with open(f".{path}", "rb") as stream:  # noqa: PTH123
                return b"file " + hashlib.file_digest(stream, "sha256").digest()
        except PermissionError:
            self.unreadable.append(path)
            return b"closed"
