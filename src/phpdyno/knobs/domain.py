"""What values a knob takes. Each domain says in words why it refuses one."""

import re
from collections.abc import Callable

from msgspec import Struct

TRUE = frozenset({"1", "on", "yes", "true"})
FALSE = frozenset({"0", "off", "no", "false", "none", ""})
_SIZE = re.compile(r"(-?\d+)\s*([kKmMgG]?)")
_DURATION = re.compile(r"(\d{1,9})([smhd]?)")
_FACTOR = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class Domain(Struct, frozen=True):
    """`describe` in words; `accepts` decides a value given as text; `same` whether two spellings
    mean the same.

    `words`: all that there is to choose from; empty for any other domain.
    """

    describe: str
    accepts: Callable[[str], bool]
    canonical: Callable[[str], str]
    words: tuple[str, ...] = ()

    def same(self, one: str, other: str) -> bool:
        """Whether two spellings are the same value (`on` and `1`, `64M` and `67108864`)."""
        return self.canonical(one) == self.canonical(other)

    def spelled(self, value: str) -> str:
        """A word to choose (`TCP`) as servers and proofs have it; any other value as it was
        given."""
        return self.canonical(value) if self.words else value


def _seconds(value: str) -> str:
    match = _DURATION.fullmatch(value.strip())
    return str(int(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]]) if match else value


def size_bytes(value: str) -> int | None:
    """Bytes of a php.ini size (`64M`), None when it is none."""
    match = _SIZE.fullmatch(value.strip())
    return int(match[1]) * _FACTOR[match[2].lower()] if match else None


def _boolean(value: str) -> str:
    low = value.strip().lower()
    return "1" if low in TRUE else "0" if low in FALSE else low


BOOLEAN = Domain("a boolean (0 or 1)", lambda value: value.strip().lower() in TRUE | FALSE, _boolean)
SIZE = Domain("a size (64M, 4096K, bytes)", lambda value: size_bytes(value) is not None, lambda value: str(size_bytes(value)))
TEXT = Domain("text", lambda value: True, lambda value: value)
DURATION = Domain("seconds, or a number with s, m, h or d", lambda value: _DURATION.fullmatch(value.strip()) is not None, _seconds)


def integer(least: int, most: int) -> Domain:
    """A whole number within bounds."""

    def accepts(value: str) -> bool:
        return re.fullmatch(r"-?\d{1,18}", value.strip()) is not None and least <= int(value) <= most

    return Domain(f"a whole number from {least} to {most}", accepts, lambda value: str(int(value)) if accepts(value) else value)


_LEVEL = re.compile(r"-?\d{1,10}|0[xX][0-9a-fA-F]{1,16}")


def _level(value: str) -> str:
    text = value.strip()
    return str(int(text, 16 if text[:2].lower() == "0x" else 10)) if _LEVEL.fullmatch(text) else value


BITS = Domain("a whole number, or bits in hexadecimal (0x7FFEBFFF)", lambda value: _LEVEL.fullmatch(value.strip()) is not None, _level)
LEVEL = Domain("E_ constants as php.ini has them, without quotes (E_ALL & ~E_NOTICE), or their number", BITS.accepts, _level)

_BUFFERS = re.compile(r"(\d{1,4})\s+(\d{1,9})([kKmM]?)")


def buffers_of(value: str) -> tuple[int, int] | None:
    """Number and bytes of each in nginx's `NUMBER SIZE`, None when it is none."""
    match = _BUFFERS.fullmatch(value.strip())
    return (int(match[1]), int(match[2]) * _FACTOR[match[3].lower()]) if match else None


def buffers_bytes(value: str) -> int | None:
    """Bytes of all buffers in nginx's `NUMBER SIZE`, None when it is none; nginx wants two at
    least."""
    number, size = buffers_of(value) or (0, 0)
    return number * size if number >= 2 and size > 0 else None


def _buffers(value: str) -> str:
    found = buffers_of(value)
    return f"{found[0]} {found[1]}" if found else value


BUFFERS = Domain("a number from 2 and a size (16 16k)", lambda value: buffers_bytes(value) is not None, _buffers)
WEB_SIZE = Domain(
    "a size (16k, 1m, bytes)",
    lambda value: re.fullmatch(r"[1-9]\d{0,8}[kKmM]?", value.strip()) is not None,
    lambda value: str(size_bytes(value)),
)


def choice(*values: str) -> Domain:
    """One of the named values."""
    return Domain("one of " + ", ".join(values), lambda value: value.strip().lower() in values, lambda value: value.strip().lower(), values)


_JIT_DIGITS = re.compile(r"[0-2]?[0-2]?[0-5][0-5]")
_JIT_WORDS = {"disable": "disable", **dict.fromkeys(FALSE - {"", "none"}, "off"), **dict.fromkeys(TRUE, "tracing")}


def _jit(value: str) -> str:
    low = value.strip().lower()
    low = _JIT_WORDS.get(low, low)
    return {"tracing": "1254", "function": "1205"}.get(low, low)


JIT = Domain(
    "disable, off, on, tracing, function, or four digits CRTO",
    lambda value: value.strip().lower() in {*_JIT_WORDS, "tracing", "function"} or bool(_JIT_DIGITS.fullmatch(value.strip())),
    _jit,
)
