"""Bodies decoded from their Content-Encoding, so that compressed answers are compared as what a
reader sees."""

import zlib
from collections.abc import Iterable

MOST_DECODED = 256 << 20
"""Bytes of a body once it is decoded; what is larger is no page."""
_GZIP, _ZLIB, _RAW = 31, 15, -15


class CannotDecode(ValueError):  # noqa: N818 (it names the finding)
    """A body is not what its Content-Encoding says, or is in a coding that we do not know."""


def encodings(headers: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The codings of a body, in the order in which they were applied; none for a plain one."""
    listed = [value for name, value in headers if name.lower() == "content-encoding"]
    found = (each.strip().lower() for value in listed for each in value.split(","))
    return tuple(each.removeprefix("x-") for each in found if each not in {"", "identity"})


def decoded(body: bytes, codings: Iterable[str]) -> bytes:
    """The body without its codings. Raises CannotDecode."""
    for coding in reversed(tuple(codings)):
        body = _without(body, coding)
    return body


def _without(body: bytes, coding: str) -> bytes:
    if coding == "gzip":
        return _inflated(body, _GZIP, coding)
    if coding == "deflate":
        # Some servers send the bare stream under this name.
        try:
            return _inflated(body, _ZLIB, coding)
        except CannotDecode:
            return _inflated(body, _RAW, coding)
    raise CannotDecode(f"the coding {coding!r} is not known here")


def _inflated(body: bytes, window: int, coding: str) -> bytes:
    whole = bytearray()
    while body:
        stream = zlib.decompressobj(window)
        try:
            whole += stream.decompress(body, MOST_DECODED - len(whole))
        except zlib.error as error:
            raise CannotDecode(f"it is no {coding}: {error}") from error
        if not stream.eof:
            raise CannotDecode(f"its {coding} breaks off, or is larger than {MOST_DECODED >> 20} MiB")
        body = stream.unused_data if window == _GZIP else b""
    return bytes(whole)
