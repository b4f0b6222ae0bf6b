"""PHP source as tokens, and constant expressions in it: enough to see which paths a file names.
Nothing is run."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

Kind = Literal["string", "template", "variable", "word", "number", "sign"]
_OPEN = re.compile(r"<\?(?:php(?=\s|$)|=)", re.IGNORECASE)
_TOKEN = re.compile(
    r"""
      (?P<blank>\s+|\#(?!\[)[^\n]*?(?=\?>|\n|$)|//[^\n]*?(?=\?>|\n|$)|/\*.*?(?:\*/|\Z))
    | (?P<close>\?>)
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\$]|\\.|\$(?![\w{]))*")
    | (?P<template>"(?:[^"\\]|\\.)*")
    | (?P<heredoc><<<[ \t]*(["']?)(?P<name>\w+)["']?\r?\n)
    | (?P<variable>\$\w+)
    | (?P<word>[A-Za-z_\\\x80-\U0010ffff][\w\\]*)
    | (?P<number>\d[\w.]*)
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_ESCAPE = re.compile(r"\\([\\'\"$nrt])")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
MOST_DEPTH = 40
MOST_TEXT = 4096


class Token(Struct, frozen=True):
    """One word of PHP; `text` of a `string` is its value."""

    kind: Kind
    text: str


class Constant(Struct, frozen=True):
    """The value of an expression as far as it is constant: all of it if `whole`, else its
    beginning."""

    text: str
    whole: bool


def tokens_of(text: str) -> Iterator[Token]:
    """The tokens of all that stands between `<?php` and `?>`, comments left out."""
    place = 0
    while opened := _OPEN.search(text, place):
        place = opened.end()
        while found := _TOKEN.match(text, place):
            place = found.end()
            kind = found.lastgroup or "sign"
            if found["heredoc"]:
                end = re.compile(rf"^[ \t]*{found['name']}\b", re.MULTILINE).search(text, place)
                if end is None:
                    return
                kind, place = "template", end.end()
            if kind == "close":
                break
            if kind == "string":
                yield Token("string", _unquoted(found[0]))
            elif kind != "blank":
                yield Token(kind, found[0])  # type: ignore[arg-type]
        else:
            return


def _unquoted(literal: str) -> str:
    inner = literal[1:-1]
    if literal[0] == "'":
        return inner.replace("\\\\", "\0").replace("\\'", "'").replace("\0", "\\")
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), inner)


class Reader:
    """Evaluates constant expressions in the tokens of the file `path`; `known` are variables
    (`$root`) and constants by name."""

    def __init__(self, tokens: list[Token], path: Path, known: Mapping[str, str]) -> None:
        self.tokens = tokens
        self.path = path
        self.known = dict(known)

    def text_at(self, place: int) -> str:
        """A token's text in lower case, '' behind the last and for a string."""
        token = self.tokens[place] if 0 <= place < len(self.tokens) else None
        return "" if token is None or token.kind == "string" else token.text.lower()

    def value(self, place: int, depth: int = 0) -> tuple[Constant | None, int]:
        """The value of the expression that begins at a token, and the place behind what was read of
        it; None where already its beginning is not known."""
        text, whole, found = "", True, False
        while True:
            term, after = self._term(place, depth)
            if term is None:
                return (Constant(text, whole=False) if found else None), place
            text, whole, found, place = text + term.text, term.whole, True, after
            if len(text) > MOST_TEXT:  # $x = $x . $x, often enough
                return Constant("", whole=False), place
            if not whole or self.text_at(place) != ".":
                return Constant(text, whole), place
            place += 1

    def _term(self, place: int, depth: int) -> tuple[Constant | None, int]:
        if place >= len(self.tokens) or depth > MOST_DEPTH:
            return None, place
        token = self.tokens[place]
        if token.kind == "string":
            return Constant(token.text, whole=True), place + 1
        name = token.text.lstrip("\\").lower()
        if self.text_at(place + 1) == "(" and name in {"dirname", "realpath", "rtrim"}:
            return self._call(name, place + 2, depth)
        if name == "(":
            inner, after = self.value(place + 1, depth + 1)
            return (inner, after + 1) if inner and self.text_at(after) == ")" else (None, place)
        return self._named(token, name, place)

    def _named(self, token: Token, name: str, place: int) -> tuple[Constant | None, int]:
        own = {"__dir__": str(self.path.parent), "__file__": str(self.path), "directory_separator": "/"}
        held = own.get(name) if token.kind == "word" else None
        held = self.known.get(token.text.lstrip("\\")) if held is None else held
        known = held is not None and self.text_at(place + 1) not in {"(", "[", ":"}
        return (Constant(held, whole=True) if known and held is not None else None), place + 1

    def _call(self, name: str, place: int, depth: int) -> tuple[Constant | None, int]:
        inner, after = self.value(place, depth + 1)
        if inner is None or not inner.whole:
            return None, place
        text, levels = inner.text, 1
        if name == "dirname" and self.text_at(after) == "," and self.text_at(after + 1).isdecimal():
            levels, after = int(self.text_at(after + 1)), after + 2
        if name == "rtrim" and self.text_at(after) == ",":
            after += 2
        if self.text_at(after) != ")":
            return None, place
        if name == "dirname":
            for _ in range(min(levels, MOST_DEPTH)):
                text = text.rstrip("/").rpartition("/")[0] or ("/" if text.startswith("/") else ".")
        if name == "rtrim":
            text = text.rstrip("/\\ ")
        return Constant(text, whole=True), after + 1
