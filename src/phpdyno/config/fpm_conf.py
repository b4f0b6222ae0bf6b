"""php-fpm's configuration files, read as php-fpm reads them: sections, includes, arrays,
expressions, variables."""

import glob
import operator
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from phpdyno.config.trusted import read_trusted
from phpdyno.errors import UsageError

GLOBAL = "global"
_SECTION = re.compile(r"\[([^\]\r\n]*)\]\s*(?:;.*)?")
_ENTRY = re.compile(r"([^=\s;&|^$~(){}!\"\[\]][^=;&|^$~(){}!\"\[\]]*?)\s*(?:\[\s*([^\]]*?)\s*\])?\s*=\s*(.*)")
_TOKEN = re.compile(
    r"""(?P<single>'[^']*') | "(?P<double>(?:[^"\\]|\\.)*)" | \$\{(?P<name>[^}]*)\} | (?P<operator>[ \t]*[&|^~()!][ \t]*)
    | (?P<bare>(?:\$(?!\{)|[^$\s;&|^~()!"'])+) | (?P<space>[ \t]+) | (?P<comment>;.*)""",
    re.VERBOSE,
)
_WITHIN = re.compile(r"""\\(\$\{[^}]*\}|[\\"'])|\$\{([^}]*)\}""")
"""What double quotes do not leave as it is: an escaped character or variable, and a variable."""
_TRUE, _FALSE = frozenset({"true", "on", "yes"}), frozenset({"false", "off", "no", "none", "null"})
LEVELS = (
    *("ERROR", "WARNING", "PARSE", "NOTICE", "CORE_ERROR", "CORE_WARNING", "COMPILE_ERROR", "COMPILE_WARNING"),
    *("USER_ERROR", "USER_WARNING", "USER_NOTICE", "STRICT", "RECOVERABLE_ERROR", "DEPRECATED", "USER_DEPRECATED"),
)
CONSTANTS = {"E_ALL": (1 << 15) - 1, **{f"E_{name}": 1 << place for place, name in enumerate(LEVELS)}}
"""The only constants that a pool's file usually names."""
WITHOUT_STRICT = (8, 4)
"""From this PHP on E_ALL leaves E_STRICT out."""


def levels_of(version: tuple[int, int]) -> Mapping[str, int]:
    """The constants for error_reporting of a PHP."""
    return CONSTANTS if version < WITHOUT_STRICT else {**CONSTANTS, "E_ALL": CONSTANTS["E_ALL"] & ~CONSTANTS["E_STRICT"]}


_BINARY = {"|": operator.or_, "&": operator.and_, "^": operator.xor}
EXAMPLE = "start without live, and give the pool's settings by hand (ini.NAME=…;env.NAME=…)"


class ConfEntry(Struct, frozen=True):
    """One line: `key = value`, or `key[index] = value` (index '' for none). `where` is
    FILE:LINE."""

    key: str
    index: str
    value: str
    where: str


class Variables(Struct, frozen=True):
    """What ${NAME} stands for; `env` None: it is not known. From PHP 8.3 on there are `defaults`,
    as in ${NAME:-default}. `levels` are the constants for error_reporting."""

    env: Mapping[str, str] | None
    defaults: bool = True
    levels: Mapping[str, int] = field(default_factory=lambda: CONSTANTS)

    def value(self, text: str, where: str) -> str:
        """What stands for ${`text`}; PHP before 8.3 takes all of it for the name. Raises UsageError
        where that is not known."""
        name, wanted, default = text.partition(":-") if self.defaults else (text, "", "")
        if self.env is None:
            what = f"the environment of php-fpm cannot be read, so what ${{{name}}} stands for is not known"
            raise UsageError(what, where=where, next_step=EXAMPLE)
        return self.env.get(name) or (default if wanted else "")


class Files(Protocol):
    """Where configuration files are read from."""

    def read(self, path: Path, where: str) -> bytes:
        """Content of a file. Raises OSError, DynoError."""

    def glob(self, pattern: str) -> Sequence[Path]:
        """Files in the order of glob(3), without directories."""


class OwnFiles:
    """Those of this host, which root reads only where nobody else can change them."""

    def read(self, path: Path, where: str) -> bytes:
        """Read a file as `read_trusted` does."""
        return read_trusted(path, where=where)

    def glob(self, pattern: str) -> Sequence[Path]:
        """php-fpm leaves out directories."""
        return [Path(found) for found in sorted(glob.glob(pattern)) if not Path(found).is_dir()]  # noqa: PTH207 (the pattern is absolute)


OWN_FILES = OwnFiles()


def read_fpm_conf(path: Path, *, prefix: Path, variables: Variables, files: Files = OWN_FILES) -> dict[str, list[ConfEntry]]:
    """The entries of every section, of all included files, in their order; `global` holds the
    master's own.

    `prefix` is where relative includes lie, `files` whose files they are. Raises UsageError with
    file and line, but without any value (it may be a password): unreadable, as root a file that
    others can change, an include cycle, syntax that is not understood.
    """
    reader = _Reader(prefix, variables, files)
    reader.read(path, ())
    return reader.sections


def ini_text(value: str, variables: Variables, *, where: str) -> str:
    """What PHP reads in `NAME = value`. Raises UsageError where that is not understood."""
    return _value(value, where, "the value", variables)[0]


class _Reader:
    """Goes through a file and what it includes. The section that is open when an include ends stays
    open, as in php-fpm."""

    def __init__(self, prefix: Path, variables: Variables, files: Files) -> None:
        self.sections: dict[str, list[ConfEntry]] = {}
        self._files = files
        self._prefix = prefix
        self._variables = variables
        self._section = GLOBAL

    def read(self, path: Path, above: tuple[tuple[Path, str], ...]) -> None:
        """Take in one file; `above` are the files that include it, each with the line that does."""
        lines = _text(self._files, path, above).split("\n")
        for number, line in enumerate(lines, start=1):
            where = f"{path}:{number}"
            stripped = line.strip()
            if not stripped or stripped.startswith(";"):
                continue
            opened = _SECTION.fullmatch(stripped)
            if opened:
                self._section = opened[1].strip()
                self.sections.setdefault(self._section, [])
                continue
            entry, is_open = _entry(stripped, where, self._variables)
            if is_open and any("'" in below for below in lines[number:]):
                named = f"{entry.key}[{entry.index}]" if entry.index else entry.key
                raise UsageError(f"the value of {named} goes on over several lines", where=where, next_step=EXAMPLE)
            if entry.key == "include":
                self._include(entry, (*above, (path, where)))
            else:
                self.sections.setdefault(self._section, []).append(entry)
            if is_open:
                return  # PHP reads the rest of the file as a text that never ends, and leaves it out

    def _include(self, entry: ConfEntry, above: tuple[tuple[Path, str], ...]) -> None:
        """Every file that the line names."""
        for found in self._files.glob(str(self._prefix / entry.value)):
            if any(found == earlier for earlier, _ in above):
                raise UsageError(f"the include leads back to {found}", where=entry.where, next_step="php-fpm would not start with this")
            self.read(found, above)


def _text(files: Files, path: Path, above: tuple[tuple[Path, str], ...]) -> str:
    where = above[-1][1] if above else str(path)
    name = f"{path} " if above else ""
    try:
        return files.read(path, where).decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    except PermissionError as error:
        by_hand = "run phpdyno as root, or give the pool's settings by hand (ini.NAME=…;pool.pm=…)"
        raise UsageError(f"{name}may not be read", where=where, next_step=by_hand) from error
    except OSError as error:
        raise UsageError(f"{name}cannot be read: {error.strerror}", where=where, next_step="was php-fpm's configuration moved?") from error


def _entry(line: str, where: str, variables: Variables) -> tuple[ConfEntry, bool]:
    """An entry, and whether it ends in a quotation that its line does not close."""
    match = _ENTRY.fullmatch(line)
    if match is None:
        named = re.match(r"[\w.]+(\[[\w.]+\])?(?=\s*=)", line)
        raise UsageError(f"{f'the line of {named[0]}' if named else 'this line'} is not understood", where=where, next_step=EXAMPLE)
    key = f"{match[1]}[{match[2]}]" if match[2] else match[1]
    value, is_open = _value(match[3], where, key, variables)
    return ConfEntry(match[1], match[2] or "", value, where), is_open


def _value(text: str, where: str, key: str, variables: Variables) -> tuple[str, bool]:
    """A value as PHP's ini scanner gives it: words for booleans, quotes, ${NAME}, expressions of
    numbers and E_ constants."""
    parts = list(_tokens(text, where, key, variables))
    is_open = bool(parts) and parts[-1][0] == "open"
    if is_open:
        parts.pop()
    if any(kind == "operator" for kind, _ in parts):
        return _expression(parts, where, key, variables.levels), is_open
    if [kind for kind, _ in parts] == ["bare"]:
        word = parts[0][1]
        if word.lower() in _TRUE | _FALSE:
            return "1" if word.lower() in _TRUE else "", is_open
        return str(variables.levels.get(word, word)), is_open
    return "".join(value for _, value in parts), is_open


def _tokens(text: str, where: str, key: str, variables: Variables) -> Iterator[tuple[str, str]]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None and at and text[at] == "'":
            yield "open", ""
            return
        if match is None or match.lastgroup is None:
            raise UsageError(f"the value of {key} is not understood", where=where, next_step=EXAMPLE)
        at = match.end()
        kind, value = match.lastgroup, match[match.lastgroup]
        if kind == "comment":
            return
        if kind == "space" and text[at : at + 1] in {"", ";"}:
            continue
        if kind == "single":
            value = value[1:-1]
        elif kind == "double":
            value = _WITHIN.sub(lambda found: found[1] or variables.value(found[2], where), value)
        elif kind == "name":
            value = variables.value(value, where)
        yield kind, value.strip() if kind == "operator" else value


def _expression(parts: list[tuple[str, str]], where: str, key: str, levels: Mapping[str, int]) -> str:
    """`E_ALL & ~E_NOTICE`: strictly from left to right, as in PHP's ini grammar; `~` and `!` bind
    to what follows."""
    words = deque(word for kind, value in parts if kind != "space" for word in (value if kind == "operator" else (value,)) if word.strip())

    def term() -> int:
        word = words.popleft()
        if word == "(":
            inner = whole()
            words.popleft()
            return inner
        if word in {"~", "!"}:
            return ~term() if word == "~" else int(not term())
        return levels[word] if word in levels else int(word)

    def whole() -> int:
        left = term()
        while words and words[0] in _BINARY:
            left = _BINARY[words.popleft()](left, term())
        return left

    try:
        number = whole()
    except (IndexError, ValueError) as error:
        raise UsageError(f"the expression of {key} is not understood", where=where, next_step=EXAMPLE) from error
    if words:
        raise UsageError(f"the expression of {key} is not understood", where=where, next_step=EXAMPLE)
    return str(number)
