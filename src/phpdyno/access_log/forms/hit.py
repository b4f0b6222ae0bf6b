"""A hit is the request that one log line tells of, whatever the form of the log."""

import re
from typing import Literal

from msgspec import Struct

from phpdyno.access_log.times import Stamp

REQUEST_LINE = re.compile(rb"([A-Za-z]{1,20}) (\S+) HTTP/[0-9.]{1,5}")
METHOD = re.compile(r"[A-Za-z]{1,20}")
NoHit = Literal["no request in it", "no request line", "a comment"]
"""Why a line is no Hit: nothing that we know, a line of a known form whose request is none (a TLS
greeting, `-`), a comment."""
_ESCAPED = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|u00([0-9A-Fa-f]{2})|([\"\\/]))")


class FieldsTaken(Struct, frozen=True):
    """The form of a line, and which of its fields was taken for what: `("site", "column 1")`."""

    form: str
    fields: tuple[tuple[str, str], ...] = ()


UNSAID = FieldsTaken("")


class Hit(Struct, frozen=True, gc=False):
    """One request: `target` as it stood in the request line (bytes), `host` '' where the line has
    no place for one, `-` where it names none there.

    `stamp` is the request's start where the log has its duration and fractions of a second, else
    when it was logged, at its end. `by_server` says that the web server answered without asking
    anybody, None where the log does not tell; `plain` that it was asked without TLS, likewise;
    `cached` that a cache answered. `raw` is what the target was made of, as it stands in the log.
    """

    method: str
    target: bytes
    status: int
    host: str = ""
    stamp: Stamp | None = None
    by_server: bool | None = None
    plain: bool | None = None
    cached: bool = False
    raw: bytes = b""
    taken: FieldsTaken = UNSAID


def unescaped(text: bytes) -> bytes:
    """Turn what nginx and Apache escape as `\\x22`, `\\u001f` or `\\"` into the bytes that were
    sent."""
    if b"\\" not in text:
        return text
    return _ESCAPED.sub(lambda found: bytes([int(found[1] or found[2], 16)]) if found[1] or found[2] else found[3], text)
