"""One line of an access log as a Hit: nginx's (and Apache's) combined format, or a JSON object."""

import math
import re
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from phpdyno.access_log.times import Stamp, any_time, local_time

_COMBINED = re.compile(
    rb"[^ ]+ [^\r\n]{0,1024}?\[([^\]\r\n]{1,40})\] "
    rb'"([^"\\]*(?:\\.[^"\\]*)*)" ([0-9]{3}) (?:[0-9]+|-)(?: |\r?$)'
)
_REQUEST = re.compile(rb"([A-Za-z]{1,20}) (\S+) HTTP/[0-9.]{1,5}")
_METHOD = re.compile(r"[A-Za-z]{1,20}")
_ESCAPED = re.compile(rb"\\x([0-9A-Fa-f]{2})|\\([\"\\])")
_NO_HOST = {"", "-", "_"}


class Hit(Struct, frozen=True, gc=False):
    """One request: `target` as it stood in the request line (bytes), `host` '' where the log does
    not say.

    `stamp` is the request's start where the log has its duration and fractions of a second, else
    when it was logged, at its end. `by_nginx` says that nginx answered without asking anybody, None
    where the log does not tell.
    """

    method: str
    target: bytes
    status: int
    host: str = ""
    stamp: Stamp | None = None
    by_nginx: bool | None = None
    json: bool = False


class _Line(Struct, frozen=True, gc=False):
    """The keys that are looked at, under nginx's names of its variables and a few common others."""

    request: Any = None
    request_uri: Any = None
    uri: Any = None
    url: Any = None
    path: Any = None
    args: Any = None
    query_string: Any = None
    method: Any = None
    request_method: Any = None
    status: Any = None
    msec: Any = None
    time_iso8601: Any = None
    time_local: Any = None
    timestamp: Any = None
    time: Any = None
    at_timestamp: Any = msgspec.field(default=None, name="@timestamp")
    ts: Any = None
    host: Any = None
    http_host: Any = None
    server_name: Any = None
    request_time: Any = None
    upstream_addr: Any = None
    upstream_status: Any = None
    upstream_response_time: Any = None


_DECODER = msgspec.json.Decoder(_Line)


def parse_line(line: bytes) -> Hit | None:
    """The request that a line tells of; None when it tells of none."""
    start = line.lstrip()[:1]
    return _from_json(line) if start == b"{" else _from_combined(line)


def _from_combined(line: bytes) -> Hit | None:
    found = _COMBINED.match(line)
    if found is None:
        return None
    time, request, status = found.groups()
    parts = _REQUEST.fullmatch(request)
    if parts is None:
        return None
    stamp = local_time(time.decode("latin-1"))
    return Hit(parts[1].decode("ascii").upper(), unescaped(parts[2]), int(status), "", stamp)


def unescaped(text: bytes) -> bytes:
    """What nginx and Apache write as `\\x22` or `\\"`, as the byte that it was."""
    if b"\\" not in text:
        return text
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]) if found[1] else found[2], text)


def _from_json(line: bytes) -> Hit | None:
    encoding = "utf-8"
    try:
        read: _Line | None = _DECODER.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError):
        encoding = "latin-1"
        read = _repaired(line)
    if read is None:
        return None
    status = _number(read.status)
    request = _request_of(read, encoding)
    if request is None or status is None or not 100 <= status <= 999:
        return None
    method, target = request
    return Hit(method, target, int(status), _host(read), _stamp(read), _by_nginx(read), json=True)


def _repaired(line: bytes) -> _Line | None:
    """JSON with raw bytes that are no UTF-8, or written with nginx's default escapes (`\\x22`),
    which are no JSON."""
    try:
        return _DECODER.decode(line.decode("latin-1").encode().replace(b"\\x", b"\\u00"))
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError):
        return None


def _request_of(read: _Line, encoding: str) -> tuple[str, bytes] | None:
    """Method and target. `request_uri` is what the client sent; `uri` comes last, as nginx decodes
    and rewrites it."""
    method = next((each for each in (read.request_method, read.method) if isinstance(each, str) and _METHOD.fullmatch(each)), "")
    target = _bytes(read.request_uri, encoding)
    whole = _REQUEST.fullmatch(_bytes(read.request, encoding)) if not (method and target) else None
    if whole is not None:
        method = method or whole[1].decode("ascii")
        target = target or whole[2]
    target = target or _bytes(read.url, encoding) or _bytes(read.path, encoding) or _rebuilt(read, encoding)
    return (method.upper(), target) if method and target else None


def _rebuilt(read: _Line, encoding: str) -> bytes:
    path = _bytes(read.uri, encoding)
    query = _bytes(read.args, encoding) or _bytes(read.query_string, encoding)
    encoded = quote(path, safe="/!$&'()*+,;=:@~").encode() if path else b""
    return encoded + b"?" + query if encoded and query not in {b"", b"-"} else encoded


def _bytes(value: object, encoding: str) -> bytes:
    if not isinstance(value, str):
        return b""
    try:
        return value.encode(encoding)
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace")


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _stamp(read: _Line) -> Stamp | None:
    written = (read.msec, read.time_iso8601, read.time_local, read.timestamp, read.at_timestamp, read.time, read.ts)
    stamp = next((found for each in written if each is not None and (found := any_time(each))), None)
    took = _number(read.request_time)
    if stamp is None or not stamp.fine or took is None or not 0.0 < took <= stamp.seconds:
        return stamp
    return Stamp(stamp.seconds - took, fine=True)


def _host(read: _Line) -> str:
    for value in (read.host, read.http_host, read.server_name):
        if isinstance(value, str) and value not in _NO_HOST:
            return bare_host(value)
    return ""


def bare_host(value: str) -> str:
    """A host in lower case and without its port or last dot."""
    name, colon, port = value.lower().rpartition(":")
    return (name if colon and port.isdigit() else value.lower()).rstrip(".")


def _by_nginx(read: _Line) -> bool | None:
    told = [each for each in (read.upstream_addr, read.upstream_status, read.upstream_response_time) if each is not None]
    return all(isinstance(each, str) and each in {"", "-"} for each in told) if told else None
