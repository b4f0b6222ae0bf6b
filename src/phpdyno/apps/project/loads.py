"""Which files and directories a PHP file names by constant expressions, and which of them it
loads."""

import os
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.project.php_text import Constant, Reader, tokens_of

MOST_FILES = 120
MOST_BYTES = 600_000
"""Of all files that are read; a front controller and what it loads first are a few kilobytes."""
MOST_OF_ONE = 200_000
LOADS = frozenset({"require", "require_once", "include", "include_once"})
OPENS = frozenset(
    {
        "file_get_contents",
        "fopen",
        "file",
        "readfile",
        "parse_ini_file",
        "is_file",
        "is_dir",
        "is_readable",
        "file_exists",
        "opendir",
        "glob",
    }
)
_PLACES = frozenset({"__dir__", "__file__", "dirname", "realpath"})


class NamedPlace(Struct, frozen=True):
    """A place that exists, as the file `by` names it. `sure`: it is loaded whenever that file
    runs."""

    place: Path
    by: Path
    sure: bool


def places_named(entries: Sequence[Path], *, base: Path | None = None) -> list[NamedPlace]:
    """What these PHP files name, and those that they load do; `base` is the working directory, the
    entry's own without one.

    Unreadable files name nothing.
    """
    found: list[NamedPlace] = []
    seen: set[Path] = set()
    left = MOST_BYTES
    todo = deque((entry, base or entry.parent, True) for entry in entries)
    constants: dict[str, str] = {}
    while todo and len(seen) < MOST_FILES and left > 0:
        path, cwd, sure = todo.popleft()
        real = Path(os.path.realpath(path))
        text = "" if real in seen else _text_of(real)
        seen.add(real)
        left -= len(text)
        # Not by its real path: what links lead to is copied to where the link is.
        reading = _Reading(Reader(list(tokens_of(text)), path, constants), cwd)
        for place, loaded, always in reading.named():
            found.append(NamedPlace(place, path, always and sure and loaded))
            if loaded and place.is_file():
                todo.append((place, reading.cwd, always and sure))
        constants |= {name: value for name, value in reading.reader.known.items() if not name.startswith("$")}
    return found


def _text_of(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > MOST_OF_ONE:
            return ""
        return path.read_text(encoding="latin-1")
    except OSError:
        return ""


class _Reading:
    """One file from its first token to its last; `cwd` is where PHP is meanwhile."""

    def __init__(self, reader: Reader, cwd: Path) -> None:
        self.reader = reader
        self.cwd = cwd

    def named(self) -> Iterator[tuple[Path, bool, bool]]:
        """Each place that exists, whether it is loaded, and whether that happens whenever the file
        runs."""
        reader, place, depth = self.reader, 0, 0
        while place < len(reader.tokens):
            word = reader.text_at(place)
            depth += {"{": 1, "}": -1}.get(word, 0)
            if word in LOADS:
                value, after = reader.value(place + 1)
                yield from self._there(value, loaded=True, always=depth == 0 and reader.text_at(place - 1) != ")")
                place = max(after, place + 1)
            elif word.lstrip("\\") in OPENS | {"chdir"} and reader.text_at(place + 1) == "(":
                place = yield from self._opened(word.lstrip("\\"), place + 2)
            elif name := self._assigned(place):
                # Where a configuration lies is often said so: define('CONF', '/srv/shop/etc/').
                if (held := reader.known.get(name, "")).startswith("/"):
                    yield from self._there(Constant(held, whole=True), loaded=False, always=False)
                place += 1
            elif word.lstrip("\\") in _PLACES or self._begins(place):
                value, after = reader.value(place)
                yield from self._there(value, loaded=False, always=False)
                place = max(after, place + 1)
            else:
                place += 1

    def _opened(self, word: str, place: int) -> Generator[tuple[Path, bool, bool], None, int]:
        value, after = self.reader.value(place)
        if word == "chdir" and value is not None and value.whole:
            self.cwd = Path(os.path.normpath(self.cwd / value.text))
        yield from self._there(value, loaded=False, always=False)
        return max(after, place)

    def _assigned(self, place: int) -> str:
        """Keep what `$x = …`, `const X = …` or `define('X', …)` says; the name, '' for anything
        else."""
        reader = self.reader
        tokens = reader.tokens
        name, start = "", 0
        if tokens[place].kind == "variable" and reader.text_at(place + 1) == "=" and reader.text_at(place + 2) not in {"=", ">"}:
            name, start = tokens[place].text, place + 2
        elif reader.text_at(place) == "const" and reader.text_at(place + 2) == "=":
            name, start = tokens[place + 1].text, place + 3
        elif reader.text_at(place).lstrip("\\") == "define" and reader.text_at(place + 1) == "(" and place + 4 < len(tokens):
            name, start = (tokens[place + 2].text, place + 4) if tokens[place + 2].kind == "string" else ("", 0)
        if not name or start >= len(tokens):
            return ""
        value, _ = reader.value(start)
        if value is not None and value.whole:
            # A constant keeps its first value.
            reader.known[name] = reader.known.get(name, value.text) if not name.startswith("$") else value.text
        elif name.startswith("$"):
            reader.known.pop(name, None)
        return name

    def _begins(self, place: int) -> bool:
        """Whether something known is gone on with, as in `ROOT . '/x'`, or handed over."""
        token = self.reader.tokens[place]
        return token.kind in {"variable", "word"} and self.reader.known.get(token.text.lstrip("\\"), "").startswith(("/", "."))

    def _there(self, value: Constant | None, *, loaded: bool, always: bool) -> Iterator[tuple[Path, bool, bool]]:
        if value is None or not value.text or "\0" in value.text or "://" in value.text:
            return
        text = value.text if value.whole else value.text.rpartition("/")[0]
        if not text.rstrip("/"):
            return
        for base in self._bases(text):
            place = Path(os.path.normpath(base / text))
            if _exists(place):
                yield place, loaded and value.whole, always and value.whole
                return

    def _bases(self, text: str) -> tuple[Path, ...]:
        """Where PHP looks for a path that is not absolute."""
        if text.startswith(("./", "../", "/")) or text in {".", ".."}:
            return (self.cwd,)
        return (self.cwd, self.reader.path.parent)


def _exists(place: Path) -> bool:
    try:
        return place.exists()
    except (OSError, ValueError):
        return False
