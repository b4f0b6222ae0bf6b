"""php-fpm's configuration files, read as php-fpm reads them: sections, includes, arrays, expressions, variables."""

import glob
import operator
import re
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from phpdyno.errors import UsageError

GLOBAL = "global"
_SECTION = re.compile(r"\[([^\]\r\n]*)\]\s*(?:;.*)?")
_ENTRY = re.compile(r"([^=\s;&|^$~(){}!\"\[\]][^=;&|^$~(){}!\"\[\]]*?)\s*(?:\[\s*([^\]]*?)\s*\])?\s*=\s*(.*)")
_TOKEN = re.compile(
    r"""(?P<single>'[^']*') | "(?P<double>(?:[^"\\]|\\.)*)" | \$\{(?P<name>[^}]*)\} | (?P<operator>[ \t]*[&|^~()!][ \t]*)
    | (?P<bare>(?:\$(?!\{)|[^$\s;&|^~()!"'])+) | (?P<space>[ \t]+) | (?P<comment>;.*)""",
    re.VERBOSE,
)
_TRUE, _FALSE = frozenset({"true", "on", "yes"}), frozenset({"false", "off", "no", "none", "null"})
LEVELS = (
    *("ERROR", "WARNING", "PARSE", "NOTICE", "CORE_ERROR", "CORE_WARNING", "COMPILE_ERROR", "COMPILE_WARNING"),
    *("USER_ERROR", "USER_WARNING", "USER_NOTICE", "STRICT", "RECOVERABLE_ERROR", "DEPRECATED", "USER_DEPRECATED"),
)
CONSTANTS = {"E_ALL": (1 << 15) - 1, **{f"E_{name}": 1 << place for place, name in enumerate(LEVELS)}}
"""The only constants that a pool's file usually names."""
_BINARY = {"|": operator.or_, "&": operator.and_, "^": operator.xor}
EXAMPLE = "start without live, and give the pool's settings by hand (ini.NAME=…;env.NAME=…)"


class Entry(Struct, frozen=True):
    """One line: `key = value`, or `key[index] = value` (index '' for none). `where` is FILE:LINE."""

    key: str
    index: str
    value: str
    where: str


def read_fpm_conf(path: Path, *, prefix: Path, env: Mapping[str, str]) -> dict[str, list[Entry]]:
    """The entries of every section, of all included files, in their order; `global` holds the master's own.

    `prefix` is where relative includes lie, `env` what ${NAME} stands for. Raises UsageError with file and line: unreadable, an include
    cycle, syntax that is not understood.
    """
    reader = _Reader(prefix, env)
    reader.read(path, ())
    return reader.sections


class _Reader:
    """Goes through a file and what it includes. The section that is open when an include ends stays open, as in php-fpm."""

    def __init__(self, prefix: Path, env: Mapping[str, str]) -> None:
        self.sections: dict[str, list[Entry]] = {}
        self._prefix = prefix
        self._env = env
        self._section = GLOBAL

    def read(self, path: Path, above: tuple[tuple[Path, str], ...]) -> None:
        """Take in one file; `above` are the files that include it, each with the line that does."""
        for number, line in enumerate(_text(path, above).split("\n"), start=1):
            where = f"{path}:{number}"
            stripped = line.strip()
            if not stripped or stripped.startswith(";"):
                continue
            opened = _SECTION.fullmatch(stripped)
            if opened:
                self._section = opened[1].strip()
                self.sections.setdefault(self._section, [])
                continue
            entry = _entry(stripped, where, self._env)
            if entry.key != "include":
                self.sections.setdefault(self._section, []).append(entry)
                continue
            # In the order of glob(3).
            for found in sorted(glob.glob(str(self._prefix / entry.value))):  # noqa: PTH207 (the pattern is absolute)
                if any(Path(found) == earlier for earlier, _ in (*above, (path, where))):
                    raise UsageError(f"the include leads back to {found}", where=where, next_step="php-fpm would not start with this")
                self.read(Path(found), (*above, (path, where)))


def _text(path: Path, above: tuple[tuple[Path, str], ...]) -> str:
    where = above[-1][1] if above else str(path)
    name = f"{path} " if above else ""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except PermissionError as error:
        by_hand = "run phpdyno as root, or give the pool's settings by hand (ini.NAME=…;pool.pm=…)"
        raise UsageError(f"{name}may not be read", where=where, next_step=by_hand) from error
    except OSError as error:
        raise UsageError(f"{name}cannot be read: {error.strerror}", where=where, next_step="was php-fpm's configuration moved?") from error


def _entry(line: str, where: str, env: Mapping[str, str]) -> Entry:
    match = _ENTRY.fullmatch(line)
    if match is None:
        raise UsageError(f"this line is not understood: {line[:60]}", where=where, next_step=EXAMPLE)
    return Entry(match[1], match[2] or "", _value(match[3], where, env), where)


def _value(text: str, where: str, env: Mapping[str, str]) -> str:
    """A value as PHP's ini scanner gives it: words for booleans, quotes, ${NAME}, expressions of numbers and E_ constants."""
    parts = list(_tokens(text, where, env))
    if any(kind == "operator" for kind, _ in parts):
        return _expression(parts, where)
    if [kind for kind, _ in parts] == ["bare"]:
        word = parts[0][1]
        if word.lower() in _TRUE | _FALSE:
            return "1" if word.lower() in _TRUE else ""
        return str(CONSTANTS.get(word, word))
    return "".join(value for _, value in parts)


def _tokens(text: str, where: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise UsageError(f"the value is not understood from {text[at : at + 20]!r} on", where=where, next_step=EXAMPLE)
        at = match.end()
        kind, value = match.lastgroup, match[match.lastgroup]
        if kind == "comment":
            return
        if kind == "space" and text[at : at + 1] in {"", ";"}:
            continue
        if kind == "single":
            value = value[1:-1]
        elif kind == "double":
            value = re.sub(r"\$\{([^}]*)\}", lambda name: env.get(name[1], ""), re.sub(r"\\([\\\"'])", r"\1", value))
        elif kind == "name":
            value = env.get(value, "")
        yield kind, value.strip() if kind == "operator" else value


def _expression(parts: list[tuple[str, str]], where: str) -> str:
    """`E_ALL & ~E_NOTICE`: strictly from left to right, as in PHP's ini grammar; `~` and `!` bind to what follows."""
    words = deque(word for kind, value in parts if kind != "space" for word in (value if kind == "operator" else (value,)) if word.strip())

    def term() -> int:
        word = words.popleft()
        if word == "(":
            inner = whole()
            words.popleft()
            return inner
        if word in {"~", "!"}:
            return ~term() if word == "~" else int(not term())
        return CONSTANTS[word] if word in CONSTANTS else int(word)

    def whole() -> int:
        left = term()
        while words and words[0] in _BINARY:
            left = _BINARY[words.popleft()](left, term())
        return left

    try:
        number = whole()
    except (IndexError, ValueError) as error:
        raise UsageError("the expression is not understood", where=where, next_step=EXAMPLE) from error
    if words:
        raise UsageError(f"{words[0]!r} in the expression is not understood", where=where, next_step=EXAMPLE)
    return str(number)
