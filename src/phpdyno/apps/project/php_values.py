"""Values that a PHP configuration holds, read without running it: constants, variables and arrays
of literals."""

import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from phpdyno.apps.project.php_text import Reader, Token, tokens_of

Value = str | dict[str, "Value"] | None
"""Text (numbers, true and false too), an array by its keys, or None for what only running it would
tell."""
MOST_BYTES = 1 << 18
MOST_STEPS = 300_000
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_ASKS = frozenset({"env", "getenv", "getenv_docker"})


def text_of(path: Path) -> str:
    """The text of a plain file that is no longer than a configuration; '' for anything else."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ""


def defined_in(path: Path) -> dict[str, Value]:
    """What a file's `define('NAME', …)` say, also those of `Config::define`."""
    return {name: value for kind, name, value in _told(path) if kind == "constant"}


def assigned_in(path: Path) -> dict[str, Value]:
    """What a file's assignments say, by the variable's name; `$a['b']['c'] = …` goes into the array
    `a`. A property of a class counts as a variable."""
    return {name: value for kind, name, value in _told(path) if kind == "variable"}


def returned_by(path: Path) -> dict[str, Value]:
    """The array that a file returns; empty where it returns none."""
    found = [value for kind, _, value in _told(path) if kind == "returned"]
    return found[-1] if found and isinstance(found[-1], dict) else {}


def at(value: Value, *keys: str) -> Value:
    """What an array holds below these keys; None where there is nothing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def word(value: Value, *keys: str) -> str:
    """The text below these keys; '' where there is none."""
    found = at(value, *keys)
    return found if isinstance(found, str) else ""


class _TooMuch(Exception):  # noqa: N818 (it is no fault, but the end of the reading)
    """More was looked at than any configuration needs."""


def _told(path: Path) -> Iterator[tuple[str, str, Value]]:
    with suppress(_TooMuch):
        yield from _all_told(path)


def _all_told(path: Path) -> Iterator[tuple[str, str, Value]]:
    reading = _Values(Reader(list(tokens_of(text_of(path))), path, {}))
    tokens = reading.reader.tokens
    held: dict[str, Value] = {}
    for place, token in enumerate(tokens):
        if reading.text_at(place) == "define" and reading.text_at(place + 1) == "(" and reading.text_at(place + 3) == ",":
            value, _ = reading.value(place + 4)
            if isinstance(value, str):
                reading.reader.known[tokens[place + 2].text] = value
            yield "constant", tokens[place + 2].text, value
        elif token.kind == "variable":
            keys, after = reading.keys(place + 1)
            if reading.text_at(after) == "=" and reading.text_at(after + 1) not in {"=", ">"}:
                name = token.text[1:]
                held[name] = _put(held.get(name), keys, reading.value(after + 1)[0])
                yield "variable", name, held[name]
        elif reading.text_at(place) == "return":
            yield "returned", "", reading.value(place + 1)[0]


def _put(into: Value, keys: list[str], value: Value) -> Value:
    if not keys:
        return value
    table = dict(into) if isinstance(into, dict) else {}
    table[keys[0]] = _put(table.get(keys[0]), keys[1:], value)
    return table


class _Values:
    """Reads one value after another from a reader's tokens."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.left = MOST_STEPS

    def text_at(self, place: int) -> str:
        return self.reader.text_at(place).lstrip("\\")

    def keys(self, place: int) -> tuple[list[str], int]:
        """The keys in brackets behind a variable, and the place behind them."""
        keys = []
        while self.text_at(place) == "[" and self.text_at(place + 2) == "]":
            keys.append(self._token(place + 1).text)
            place += 3
        return keys, place

    def value(self, place: int, depth: int = 0) -> tuple[Value, int]:
        """The value that begins at a token, and the place of the comma, the bracket or the
        semicolon that ends it."""
        found: Value = None
        word_here = self.text_at(place)
        if depth < 40 and (word_here == "[" or (word_here == "array" and self.text_at(place + 1) == "(")):
            found, place = self._array(place + (1 if word_here == "[" else 2), depth)
        elif word_here in _ASKS and self.text_at(place + 1) == "(":
            found = self._asked(place + 2)
        elif word_here in {"true", "false", "null"}:
            found = word_here
        elif self._token(place).kind == "number":
            found = self._token(place).text
        else:
            known, after = self.reader.value(place)
            if known is not None and known.whole and self.text_at(after) in {",", ";", "]", ")", "=", ""}:
                found, place = known.text, after
        return found, self._end_of(place)

    def _asked(self, place: int) -> Value:
        """The default of `env('NAME', 'default')`; None without one."""
        return self.value(place + 2)[0] if self.text_at(place + 1) == "," else None

    def _array(self, place: int, depth: int) -> tuple[Value, int]:
        table: dict[str, Value] = {}
        while place < len(self.reader.tokens) and self.text_at(place) not in {"]", ")"}:
            key, number = str(len(table)), place
            if (arrow := self._arrow_behind(place)) is not None:
                key, number = self._token(place).text, arrow + 2
            table[key], place = self.value(number, depth + 1)
            if self.text_at(place) != ",":
                break
            place += 1
        return table, place + 1

    def _arrow_behind(self, place: int) -> int | None:
        """The place of the arrow behind a key, which is a literal or `Name::class`."""
        for each in range(place + 1, place + 5):
            if self.text_at(each) == "=" and self.text_at(each + 1) == ">":
                return each
            if self.text_at(each) in {",", "[", "(", "]", ")"}:
                return None
        return None

    def _end_of(self, place: int) -> int:
        """The comma, the closing bracket or the semicolon behind an expression."""
        open_ones = 0
        while place < len(self.reader.tokens):
            self.left -= 1
            if self.left < 0:
                raise _TooMuch
            text = self.text_at(place)
            if open_ones == 0 and text in {",", ";", "]", ")"}:
                break
            open_ones += (text in _CLOSING) - (text in {")", "]", "}"})
            place += 1
        return place

    def _token(self, place: int) -> Token:
        return self.reader.tokens[place] if place < len(self.reader.tokens) else Token("sign", "")
