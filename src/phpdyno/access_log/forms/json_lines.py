"""A JSON object as a line with names, whatever wrote it: nginx, Apache, Caddy, Traefik, a
collector."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from phpdyno.access_log.forms.layout import layout_of
from phpdyno.access_log.forms.named import NamedLine

_FAULTS = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)
_DECODER = msgspec.json.Decoder(dict[str, Any])
_MOST_LEVELS = 3
_MOST_KEYS = 256
_LEAST_LINE = 20
_WRAPPED = ("log", "message", "MESSAGE", "msg", "line")
"""Keys under which Docker, a journal and collectors keep a line of somebody else."""


def json_line(line: bytes) -> NamedLine | str | None:
    """The names of an object; its text where it only wraps a line of another log; None where it is
    no JSON."""
    encoding = "utf-8"
    line = line.rstrip(b" ,")
    read = _decoded(line)
    if read is None:
        encoding = "latin-1"
        read = _decoded(line.decode("latin-1").encode().replace(b"\\x", b"\\u00"))
    if read is None:
        return None
    flat = read if dict not in map(type, read.values()) else dict(_flat(read, "", 1))
    if len(flat) > _MOST_KEYS:
        flat = dict(islice(flat.items(), _MOST_KEYS))
    layout = layout_of(tuple(flat))
    if not layout.status and (wrapped := _wrapped(read)):
        return wrapped
    by_name = dict(zip(layout.plains, flat.values(), strict=True))
    form = "Caddy's JSON" if "request.uri" in by_name else "Traefik's JSON" if "downstreamstatus" in by_name else "JSON"
    return NamedLine(form, by_name, layout, encoding)


def _wrapped(read: Mapping[str, Any]) -> str:
    """A line of another log within an object; '' without one."""
    return next((value for key in _WRAPPED if isinstance(value := read.get(key), str) and len(value) > _LEAST_LINE), "")


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        return _DECODER.decode(line)
    except _FAULTS:
        return None


def _flat(value: Mapping[str, Any], above: str, level: int) -> Iterator[tuple[str, Any]]:
    """Each key with the keys above it, those of the object itself first."""
    inner = []
    for key, each in value.items():
        if isinstance(each, dict):
            inner.append((key, each))
        else:
            yield above + key, each
    if level < _MOST_LEVELS:
        for key, each in inner:
            yield from _flat(each, f"{above}{key}.", level + 1)
