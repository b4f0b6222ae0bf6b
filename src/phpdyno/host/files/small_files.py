"""Small files of /proc and /sys, below a root that tests make up. What cannot be read is None,
never an error."""

from pathlib import Path

from msgspec import Struct


class SmallFiles(Struct, frozen=True):
    """A file system to read from; `root` is / outside tests."""

    root: Path = Path("/")

    def path(self, path: str | Path) -> Path:
        """An absolute path, below the root."""
        return self.root / str(path).lstrip("/")

    def text(self, path: str | Path) -> str | None:
        """The content without the white space around it; None where there is none or it may not be
        read."""
        try:
            return self.path(path).read_bytes().decode(errors="replace").strip()
        except OSError:
            return None

    def number(self, path: str | Path) -> int | None:
        """The content as a whole number."""
        return whole(self.text(path))

    def field(self, path: str | Path, name: str) -> str | None:
        """The value of the first line `name: value`."""
        for line in (self.text(path) or "").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
        return None

    def kib(self, path: str | Path, name: str) -> int | None:
        """The number of the first line `name: number unit`."""
        return whole((self.field(path, name) or "").partition(" ")[0])

    def has(self, path: str | Path) -> bool:
        """Whether it is there, as far as we may see."""
        try:
            return self.path(path).exists()
        except OSError:
            return False


def whole(text: str | None) -> int | None:
    """A whole number, None for anything else."""
    try:
        return int(text) if text else None
    except ValueError:
        return None


def selected(text: str | None) -> str | None:
    """The bracketed choice of a kernel setting such as `always [madvise] never`."""
    return (text.partition("[")[2].partition("]")[0] or text) if text else None


def core_list(text: str | None) -> tuple[int, ...] | None:
    """`0-2,7` as numbers; None for anything else."""
    found: list[int] = []
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        low, high = whole(first), whole(last or first)
        if low is None or high is None:
            return None
        found += range(low, high + 1)
    return tuple(found)
