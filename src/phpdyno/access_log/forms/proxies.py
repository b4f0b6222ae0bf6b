"""The forms of proxies that log neither JSON nor the combined format: AWS load balancers, HAProxy,
Nginx Proxy Manager."""

import re

from phpdyno.access_log.forms.layout import layout_of
from phpdyno.access_log.forms.named import NamedLine
from phpdyno.access_log.hosts import kind_of

_TIME = rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,20}Z"
_AWS = re.compile(
    rb"(?:(https?|h2|grpcs?|wss?|tls) )?(" + _TIME + rb") \S+ \S+ (\S+) [-0-9.]+ [-0-9.]+ [-0-9.]+ ([0-9]{3}|-) ([0-9]{3}|-) \S+ \S+ "
    rb'"([A-Za-z]{1,20} \S+ HTTP/[0-9.]{1,5}|[^"]*)"'
)
_HAPROXY = re.compile(
    rb"\S+:[0-9]+ \[([0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:.]{8,15})\] (\S+) ([^\s/]+)/(\S+) [-+0-9/]+ ([0-9]{3}|-1) [-+0-9]+ \S+ \S+ \S{4} "
    rb'[0-9/+]+ [0-9/]+ (?:\{([^}]*)\} )?(?:\{[^}]*\} )?"([^"]*)"'
)
_HAPROXY_ESCAPE = re.compile(rb"#([0-9A-F]{2})")
_MANAGER = re.compile(
    rb"\[([0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:]{8} [+-][0-9]{4})\] (\S+) (\S+) ([0-9]{3}) - ([A-Za-z]{1,20}) (https?) (\S+) "
    rb'"([^"\\]*(?:\\.[^"\\]*)*)" \[Client '
)
_SHOWN = {
    "request": "the quoted request",
    "status": "the status for the client",
    "startutc": "the time in front",
    "host": "the word with the site",
    "scheme": "the scheme or type",
    "vhost": "the backend",
    "upstreamaddr": "the target",
    "timelocal": "[…]",
    "requestmethod": "the word behind the status",
    "requesturi": "the quoted address",
}


def proxy_line(line: bytes) -> NamedLine | None:
    """A line of one of these; None for any other."""
    return _aws(line) or _haproxy(line) or _manager(line)


def _aws(line: bytes) -> NamedLine | None:
    found = _AWS.match(line)
    if found is None:
        return None
    kind, time, target, status, of_target, request = (each.decode("latin-1") if each is not None else "" for each in found.groups())
    values = {"startutc": time, "status": status if status != "-" else of_target, "request": request, "upstreamaddr": target}
    if kind:
        values["scheme"] = "http" if kind in {"http", "ws"} else "https"
    return _named("AWS load balancer", values)


def _haproxy(line: bytes) -> NamedLine | None:
    found = _HAPROXY.match(line)
    if found is None:
        return None
    time, frontend, backend, server, status, captured, request = (each or b"" for each in found.groups())
    values = {
        "timelocal": time.decode("latin-1") + " +0000",
        "status": status.decode(),
        "request": _HAPROXY_ESCAPE.sub(lambda each: bytes([int(each[1], 16)]), request).decode("latin-1"),
    }
    if server == b"<NOSRV>":
        values["upstreamaddr"] = "-"
    if frontend.endswith(b"~"):
        values["scheme"] = "https"
    host = next((word for word in captured.decode("latin-1").split("|") if kind_of(word) == "site"), "")
    values["host" if host else "vhost"] = host or backend.decode("latin-1").rstrip("~")
    return _named("HAProxy", values)


def _manager(line: bytes) -> NamedLine | None:
    found = _MANAGER.match(line)
    if found is None:
        return None
    time, _, upstream, status, method, scheme, host, target = (each.decode("latin-1") for each in found.groups())
    values = {
        "timelocal": time,
        "status": status,
        "requestmethod": method,
        "scheme": scheme,
        "host": host,
        "requesturi": target,
    }
    if upstream == "-":
        values["upstreamaddr"] = upstream
    return _named("Nginx Proxy Manager", values)


def _named(form: str, values: dict[str, str]) -> NamedLine:
    names = tuple(values)
    return NamedLine(form, values, layout_of([_SHOWN[name] for name in names], names), "latin-1")
