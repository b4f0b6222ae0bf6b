"""The FastCGI parameters of a request: as nginx is told to send them, and as our own client sends them."""

from pathlib import Path

_PARAMS = (
    ("GATEWAY_INTERFACE", "CGI/1.1"),
    ("SERVER_SOFTWARE", "nginx"),
    ("SERVER_PROTOCOL", "$server_protocol"),
    ("SERVER_NAME", "$host"),
    ("SERVER_ADDR", "127.0.0.1"),
    # The port that the app believes in: ours is drawn anew for each instance and must not show in its links.
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


def request_params(*, path: str, host: str, docroot: Path, script: str) -> list[tuple[bytes, bytes]]:
    """The same parameters for a GET of `path` that `script` (a path below docroot, with a leading slash) answers."""
    query = path.partition("?")[2]
    values = {
        "$server_protocol": "HTTP/1.1",
        "$host": host,
        "$request_method": "GET",
        "$request_uri": path,
        "$document_root": str(docroot),
        "$document_uri": script,
        "$fastcgi_script_name": script,
        "$document_root$fastcgi_script_name": f"{docroot}{script}",
        "$query_string": query,
        "$content_type": "",
        "$content_length": "",
    }
    params = [(name, values.get(value, value)) for name, value in _PARAMS]
    params += [("HTTP_HOST", host), ("HTTP_USER_AGENT", "phpdyno"), ("HTTP_ACCEPT", "*/*")]
    return [(name.encode(), value.encode()) for name, value in params]


def http_request(*, path: str, host: str) -> bytes:
    """The HTTP/1.1 request that nginx turns into `request_params`."""
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: phpdyno\r\nAccept: */*\r\n\r\n".encode()
