"""Volatile spans: how long one may be, of which bytes, and how a live value in a page is recognised
as one whole."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

SLACK_BYTES = 16
DIGITS = frozenset(b"0123456789")
LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") | frozenset(range(0x80, 0x100))
WHITE = frozenset(b" \t\r\n\v\f")
BASE64_SIGNS = frozenset(b"+/=-_")
LONG_TOKEN_BYTES = 16

_CLOCK = rb"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[APap][Mm]\b)?"
_ZONE = rb"(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
_MONTH = rb"[A-Z][a-z]{2,8}"
_DATE = rb"(?:\d{4}-\d{2}-\d{2}|\d{1,2} " + _MONTH + rb" \d{4}|" + _MONTH + rb" \d{1,2}, \d{4}|\d{1,2}[./]\d{1,2}[./]\d{4})"
_DAY = rb"(?:[A-Z][a-z]{2,8},? )?" + _DATE
WHOLES = re.compile(
    rb"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"  # a UUID
    rb"|" + _DAY + rb"(?:[T ,]+(?:at )?" + _CLOCK + _ZONE + rb")?"  # a date, with or without a time
    rb"|"
    + _CLOCK
    + _ZONE  # a time
    + rb"|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?"  # a number
)
"""Expressions that are volatile as a whole: a clock whose seconds were seen to move will also show
another minute, hour and day."""


class Gap(Struct, frozen=True):
    """A volatile span: `low` to `high` bytes, all of them from `allowed`."""

    low: int
    high: int
    allowed: frozenset[int]


def gap_of(values: Sequence[bytes]) -> Gap:
    """A span that the observed values, and others of their kind, fit into: at most twice as long as
    the longest, plus 16 bytes."""
    seen = frozenset().union(*values)
    longest = max(len(value) for value in values)
    allowed = set(seen)
    if seen & DIGITS:
        allowed |= DIGITS
    if seen & LETTERS:
        allowed |= LETTERS | DIGITS
        if seen & BASE64_SIGNS or (seen & DIGITS and longest >= LONG_TOKEN_BYTES):
            allowed |= BASE64_SIGNS
    if seen & WHITE:
        allowed |= WHITE
    return Gap(0 if any(not value for value in values) else 1, 2 * longest + SLACK_BYTES, frozenset(allowed))


def whole_spans(body: bytes, holes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those live values (start, end) in `body` that a hole (start, end; rising) lies in or
    overlaps; an empty hole also at their edge."""
    ends = [end for _, end in holes]
    spans = []
    for match in WHOLES.finditer(body):
        for start, end in holes[bisect_right(ends, match.start() - 1) :]:
            if start > match.end():
                break
            if (start < match.end() and end > match.start()) or start == end:
                spans.append(match.span())
                break
    return spans
