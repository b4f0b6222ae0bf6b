"""The FastCGI parameters of a request: as nginx is told to send them, and as our own client sends
them. They are those of Debian's snippets/fastcgi-php.conf."""

import base64
import binascii
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from phpdyno.model.workload import Scheme

NO_HEADERS: Mapping[str, str] = MappingProxyType({})
OWN_HEADERS = (("User-Agent", "phpdyno"), ("Accept", "*/*"))
FORM = "application/x-www-form-urlencoded"
"""What a body is taken for when the target does not say, as browsers and curl do."""
SPLIT = r"^(.+?\.php)(/.*)$"
"""What Debian's nginx takes for a script with something behind its name (PATH_INFO)."""
_SPLIT = re.compile(SPLIT, re.DOTALL)
CLIENT_PORT = "50000"
PORTS: Mapping[Scheme, str] = MappingProxyType({"http": "80", "https": "443"})

_PARAMS = (
    ("GATEWAY_INTERFACE", "CGI/1.1"),
    ("SERVER_SOFTWARE", "nginx/$nginx_version"),
    ("SERVER_PROTOCOL", "$server_protocol"),
    ("SERVER_NAME", "$host"),
    ("SERVER_ADDR", "127.0.0.1"),
    ("REMOTE_ADDR", "127.0.0.1"),
    ("REMOTE_PORT", CLIENT_PORT),
    ("REMOTE_USER", "$remote_user"),
    ("REQUEST_METHOD", "$request_method"),
    ("REQUEST_URI", "$request_uri"),
    ("DOCUMENT_ROOT", "$document_root"),
    ("DOCUMENT_URI", "$document_uri"),
    ("SCRIPT_NAME", "$fastcgi_script_name"),
    ("SCRIPT_FILENAME", "$document_root$fastcgi_script_name"),
    ("PATH_INFO", "$path_info"),
    ("QUERY_STRING", "$query_string"),
    ("CONTENT_TYPE", "$content_type"),
    ("CONTENT_LENGTH", "$content_length"),
    ("REDIRECT_STATUS", "200"),
)


def nginx_params(scheme: Scheme = "http") -> tuple[tuple[str, str], ...]:
    """Name and nginx expression of every parameter.

    Ports are those that the app believes in: ours are drawn anew for each instance and connection,
    and must not show in its links.
    """
    secure = (("HTTPS", "on"),) if scheme == "https" else ()
    return (*_PARAMS, ("SERVER_PORT", PORTS[scheme]), ("REQUEST_SCHEME", scheme), *secure)


def split_path_info(uri: str) -> tuple[str, str]:
    """Script and PATH_INFO of a decoded path, as nginx splits it; a path without a script in it is
    all script."""
    found = _SPLIT.match(uri)
    return (found[1], found[2]) if found else (uri, "")


def names_script(uri: str) -> bool:
    """Whether a decoded path is one of PHP's: a name that ends in .php, last or with more behind
    it."""
    return uri.endswith(".php") or ".php/" in uri


def basic_user(authorization: str) -> str:
    """The user of an Authorization header, as nginx has it in $remote_user; '' where it names
    none."""
    kind, _, coded = authorization.partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        user, colon, _ = base64.b64decode(coded.strip(), validate=True).decode("latin-1").partition(":")
    except (ValueError, binascii.Error):
        return ""
    return user if colon else ""


def server_name(host: str) -> str:
    """A Host header as nginx has it in $host: in lower case, without its port."""
    low = host.lower()
    return low[: low.find("]") + 1] if low.startswith("[") else low.partition(":")[0]


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
    path_info: str = "",
    scheme: Scheme = "http",
    nginx: str = "",
) -> list[tuple[bytes, bytes]]:
    """The same parameters for a request for `path` that `script` (a path below docroot, with a
    leading slash) answers; `nginx` is the version to be named, '' for none."""
    lines = request_headers(host=host, headers=headers, body=body)
    told = {name.lower(): value for name, value in lines}
    values = {
        "nginx/$nginx_version": f"nginx/{nginx}" if nginx else "nginx",
        "$server_protocol": "HTTP/1.1",
        "$host": server_name(host),
        "$remote_user": basic_user(told.get("authorization", "")),
        "$path_info": path_info,
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
    params = [(name, values.get(value, value)) for name, value in nginx_params(scheme)]
    params += [(f"HTTP_{name.upper().replace('-', '_')}", value) for name, value in lines]
    return [(name.encode(), value.encode(errors="surrogateescape")) for name, value in params]


def http_request(*, path: str, host: str, method: str = "GET", headers: Mapping[str, str] = NO_HEADERS, body: bytes | None = None) -> bytes:
    """The HTTP/1.1 request that nginx turns into `request_params`."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in request_headers(host=host, headers=headers, body=body))
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + (body or b"")
