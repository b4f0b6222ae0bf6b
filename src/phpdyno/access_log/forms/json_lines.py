"""A JSON object as a line with names, whatever wrote it: nginx, Apache, Caddy, Traefik, a
collector."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from phpdyno.access_log.forms.named import NamedLine
from phpdyno.access_log.forms.names import plain_name

_FAULTS = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)
_DECODER = msgspec.json.Decoder(dict[str, Any])
_MOST_LEVELS = 3
_MOST_KEYS = 256
_WRAPPED = ("log", "message", "MESSAGE", "msg", "line")
"""Keys under which Docker, a journal and collectors keep a line of somebody else."""


def json_line(line: bytes) -> NamedLine | str | None:
    """The names of an object; its text where it only wraps a line of another log; None where it is
    no JSON."""
    encoding = "utf-8"
    read = _decoded(line)
    if read is None:
        encoding = "latin-1"
        read = _decoded(line.decode("latin-1").encode().replace(b"\\x", b"\\u00"))
    if read is None:
        return None
    wrapped = next((value for key in _WRAPPED if isinstance(value := read.get(key), str)), "")
    values: dict[str, Any] = {}
    shown: dict[str, str] = {}
    for path, value in _flat(read, "", 1):
        plain = plain_name(path)
        if plain not in values and len(values) < _MOST_KEYS:
            values[plain] = value
            shown[plain] = path
    if wrapped and len(wrapped) > 20 and "status" not in values:
        return wrapped
    form = "Caddy's JSON" if "request.uri" in values else "Traefik's JSON" if "downstreamstatus" in values else "JSON"
    return NamedLine(form, values, shown, encoding)


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
