"""A line whose parts have names (JSON, columns with a header, a format that is known) as a Hit."""

import math
import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote

from msgspec import Struct

from phpdyno.access_log.forms import names
from phpdyno.access_log.forms.decided import Decided
from phpdyno.access_log.forms.hit import METHOD, REQUEST_LINE, FieldsTaken, Hit, NoHit
from phpdyno.access_log.forms.layout import Layout
from phpdyno.access_log.hosts import MOST_HOST, NO_SITE, UNNAMED, bare_host, is_address, port_of
from phpdyno.access_log.times import Stamp, any_time

Evidence = Literal["raw", "decoded", "query apart", ""]
_NO_VERSION = re.compile(rb"([A-Za-z]{1,20}) (/\S*)")
_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
_BARE_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})|[\x00-\x20#\"]")
_FPM_PORTS = range(9000, 9100)
_SAFE = "/!$&'()*+,;=:@~"
_HTTPS = {"https": False, "http": True, "on": False, "off": True, "": None, "-": None, "true": False, "false": True}


class NamedLine(Struct, frozen=True):
    """The values of a line by their plain names, and the layout that it shares with others.
    `encoding` turns text into the bytes that it was read from."""

    form: str
    values: Mapping[str, Any]
    layout: Layout
    encoding: str = "utf-8"


def named_hit(line: NamedLine, decided: Decided) -> Hit | NoHit:
    """The request that a line's names tell of."""
    taken: dict[str, str] = {}
    request = _request_of(line, decided, taken)
    key, status = _first(line, line.layout.status, _status)
    if isinstance(request, str) or status is None:
        return request if isinstance(request, str) and status is not None else "no request in it"
    method, target, raw = request
    taken["status"] = line.layout.shown[key]
    host = _host(line, decided, taken)
    return Hit(
        method,
        target,
        status,
        host=host,
        stamp=_stamp(line, taken),
        by_server=_by_server(line),
        plain=_plain(line),
        cached=any(str(line.values.get(key, ""))[:3].lower() == "hit" for key in line.layout.cache),
        raw=raw,
        taken=_known(line.form, tuple(taken.items())),
    )


def path_evidence(line: NamedLine) -> tuple[str, Evidence]:
    """The key whose value would be the path, and what it shows: `raw` for a query or
    percent-encoding within it, `decoded` for what no client sends so, `query apart`."""
    if any(_bytes(line, key) for key in line.layout.target) or REQUEST_LINE.fullmatch(_bytes(line, "request")):
        return "", ""
    key, value = _first(line, line.layout.path, _text(line))
    if not value:
        return "", ""
    return key, _evidence(value)


def _evidence(value: bytes) -> Evidence:
    if _BARE_PERCENT.search(value):
        return "decoded"
    if b"?" in value or _PERCENT.search(value):
        return "raw"
    return "decoded" if not value.isascii() else ""


def _request_of(line: NamedLine, decided: Decided, taken: dict[str, str]) -> tuple[str, bytes, bytes] | NoHit:
    """Method, target and what the log has of it. The client's own target comes before the path,
    which servers decode and rewrite."""
    method_key, method = _first(
        line, names.METHOD, lambda value: value.upper() if isinstance(value, str) and METHOD.fullmatch(value) else None
    )
    key, target = _first(line, line.layout.target, _text(line))
    raw = target or b""
    if not (method and target):
        request_key, request = _first(line, line.layout.request, _text(line))
        found = _split_request(request or b"")
        if found is not None:
            method_key, method = (method_key, method) if method else (request_key, found[0])
            if not target:
                target, said = _joined(line, found[1], line.layout.shown[request_key]) if not found[0] else (found[1], "")
                key, raw, taken["target"] = request_key, request or b"", said or line.layout.shown[request_key]
        elif request and not target:
            return "no request line"
    if not target:
        key, target, raw = _path_target(line, decided, taken)
    if not method or not target:
        return "no request in it"
    taken["target"] = taken.get("target") or line.layout.shown[key]
    taken["method"] = line.layout.shown[method_key]
    return method, target, raw


def _split_request(request: bytes) -> tuple[str, bytes] | None:
    """Method ('' where there is none) and target of a request line, also of one that was cut."""
    found = REQUEST_LINE.fullmatch(request) or _NO_VERSION.fullmatch(request)
    if found is not None:
        return found[1].decode("ascii").upper(), found[2]
    return ("", request) if request.startswith(b"/") and b" " not in request else None


def _path_target(line: NamedLine, decided: Decided, taken: dict[str, str]) -> tuple[str, bytes, bytes]:
    """The target put together of a path and a query; b'' without a path."""
    key, path = _first(line, line.layout.path, _text(line))
    if not path:
        return "", b"", b""
    decoded = key in decided.decoded or (key not in decided.raw and _evidence(path) == "decoded")
    shown = line.layout.shown[key]
    target, said = _joined(line, quote(path, safe=_SAFE).encode() if decoded else path, shown)
    if said == shown and key in decided.raw:
        said = f"{shown} (as the client sent it)"
    taken["target"] = f"{said} (decoded: encoded again)" if key in decided.decoded else said
    return key, target, path + (b" + " + target.partition(b"?")[2] if said != shown and b"?" not in path and b"?" in target else b"")


def _joined(line: NamedLine, path: bytes, shown: str) -> tuple[bytes, str]:
    """A path with the query that stands apart, where it has none of its own; and what was taken."""
    key, query = _first(line, line.layout.query, _text(line))
    query = (query or b"").removeprefix(b"?")
    if query in {b"", b"-"} or b"?" in path:
        return path, shown
    return path + b"?" + query, f"{shown} + {line.layout.shown[key]}"


def _host(line: NamedLine, decided: Decided, taken: dict[str, str]) -> str:
    found = ""
    for key in line.layout.site:
        value = line.values.get(key)
        value = value[0] if isinstance(value, list) and value else value
        if key in decided.clients or not isinstance(value, str):
            continue
        if value.lower() not in NO_SITE and len(value) <= MOST_HOST and not is_address(value):
            taken["site"] = line.layout.shown[key]
            return bare_host(value)
        found = UNNAMED
    return found


def _stamp(line: NamedLine, taken: dict[str, str]) -> Stamp | None:
    stamp = None
    for key in line.layout.time:
        value = line.values.get(key)
        if value is None:
            continue
        if key == "date" and isinstance(hour := line.values.get("time"), str):
            value = f"{value}T{hour}"
        if (stamp := any_time(value)) is not None:
            taken["time"] = line.layout.shown[key]
            break
    took = _number(line.values.get(names.TOOK))
    if stamp is None or not stamp.fine or took is None or not 0.0 < took <= stamp.seconds:
        return stamp
    return Stamp(stamp.seconds - took, fine=True)


def _by_server(line: NamedLine) -> bool | None:
    """Whether the server asked nobody; None where it does not say, or asked another web server,
    which may have answered with a file of its own."""
    told = [value for key in line.layout.upstream if (value := line.values.get(key)) is not None]
    if not told:
        return None
    if all(isinstance(each, str) and each in {"", "-"} for each in told):
        return True
    address = str(line.values.get(names.UPSTREAM[0], "")).rpartition(", ")[2]
    return None if is_address(address) and port_of(address) not in _FPM_PORTS else False


def _plain(line: NamedLine) -> bool | None:
    for key in line.layout.scheme:
        value = line.values.get(key)
        if isinstance(value, str | bool) and (found := _HTTPS.get(str(value).lower())) is not None:
            return found
    port = next((value for key in line.layout.port if (value := line.values.get(key)) is not None), None)
    return {"80": True, "443": False}.get(str(port))


def _first(line: NamedLine, keys: tuple[str, ...], read: Any) -> tuple[str, Any]:
    """The first of these keys whose value can be read, and what was read; '' and None without
    one."""
    values = line.values
    for key in keys:
        value = values.get(key)
        if value is not None and (found := read(value)):
            return key, found
    return "", None


def _text(line: NamedLine) -> Any:
    def read(value: object) -> bytes | None:
        if not isinstance(value, str) or value in {"", "-"}:
            return None
        try:
            return value.encode(line.encoding)
        except UnicodeEncodeError:
            return value.encode("utf-8", "replace")

    return read


def _bytes(line: NamedLine, key: str) -> bytes:
    return _text(line)(line.values.get(key)) or b""


def _status(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and 100 <= number <= 999 else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


_MOST_MADE = 4096
_MADE: dict[tuple[str, tuple[tuple[str, str], ...]], FieldsTaken] = {}


def _known(form: str, fields: tuple[tuple[str, str], ...]) -> FieldsTaken:
    made = _MADE.get((form, fields))
    if made is None:
        made = FieldsTaken(form, fields)
        if len(_MADE) < _MOST_MADE:
            _MADE[form, fields] = made
    return made
