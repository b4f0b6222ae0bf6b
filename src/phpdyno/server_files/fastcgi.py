"""The FastCGI parameters of a request: as nginx is told to send them, and as our own client sends
them."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

NO_HEADERS: Mapping[str, str] = MappingProxyType({})
OWN_HEADERS = (("User-Agent", "phpdyno"), ("Accept", "*/*"))
FORM = "application/x-www-form-urlencoded"
"""What a body is taken for when the target does not say, as browsers and curl do."""

_PARAMS = (
    ("GATEWAY_INTERFACE", "CGI/1.1"),
    ("SERVER_SOFTWARE", "nginx"),
    ("SERVER_PROTOCOL", "$server_protocol"),
    ("SERVER_NAME", "$host"),
    ("SERVER_ADDR", "127.0.0.1"),
    # The port that the app believes in: ours is drawn anew for each instance and must not show in
    # its links.
    ("SERVER_PORT", "80"),
    ("REMOTE_ADDR", "127.0.0.1"),
    ("REQUEST_METHOD", "$request_method"),
    ("REQUEST_URI", "$request_uri"),
    ("DOCUMENT_ROOT", "$document_root"),
    ("DOCUMENT_URI", "$document_uri"),
    ("SCRIPT_NAME", "$fastcgi_script_name"),
    ("SCRIPT_FILENAME", "$document_root$fastcgi_script_name"),
    ("QUERY_STRING", "$query_string"),
    ("CONTENT_TYPE", "$content_type"),
    ("CONTENT_LENGTH", "$content_length"),
    ("REDIRECT_STATUS", "200"),
)


def nginx_params() -> tuple[tuple[str, str], ...]:
    """Name and nginx expression of every parameter."""
    return _PARAMS


def request_headers(*, host: str, headers: Mapping[str, str] = NO_HEADERS, body: bytes | None = None) -> list[tuple[str, str]]:
    """Header lines of a request, in their order; `headers` win over our own. `body` None: there is
    none, which is not an empty one."""
    given = {name.lower(): (name, value) for name, value in headers.items()}
    own = [*OWN_HEADERS, *((("Content-Type", FORM),) if body else ())]
    lines = [("Host", host), *(given.pop(name.lower(), (name, value)) for name, value in own), *given.values()]
    return lines if body is None else [*lines, ("Content-Length", str(len(body)))]


def request_params(
    *,
    path: str,
    host: str,
    docroot: Path,
    script: str,
    method: str = "GET",
    headers: Mapping[str, str] = NO_HEADERS,
    body: bytes | None = None,
) -> list[tuple[bytes, bytes]]:
    """The same parameters for a request for `path` that `script` (a path below docroot, with a
    leading slash) answers."""
    lines = request_headers(host=host, headers=headers, body=body)
    told = {name.lower(): value for name, value in lines}
    values = {
        "$server_protocol": "HTTP/1.1",
        "$host": host,
        "$request_method": method,
        "$request_uri": path,
        "$document_root": str(docroot),
        "$document_uri": script,
        "$fastcgi_script_name": script,
        "$document_root$fastcgi_script_name": f"{docroot}{script}",
        "$query_string": path.partition("?")[2],
        "$content_type": told.get("content-type", ""),
        "$content_length": told.get("content-length", ""),
    }
    params = [(name, values.get(value, value)) for name, value in _PARAMS]
    params += [(f"HTTP_{name.upper().replace('-', '_')}", value) for name, value in lines]
    return [(name.encode(), value.encode()) for name, value in params]


def http_request(*, path: str, host: str, method: str = "GET", headers: Mapping[str, str] = NO_HEADERS, body: bytes | None = None) -> bytes:
    """The HTTP/1.1 request that nginx turns into `request_params`."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in request_headers(host=host, headers=headers, body=body))
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + (body or b"")
