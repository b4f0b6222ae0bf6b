"""Lines of access logs, as nginx writes them."""

import json
from datetime import UTC, datetime

START_S = 1_795_255_200
"""2026-11-21 10:00:00 UTC."""


def combined(request: str = "GET / HTTP/1.1", *, status: int = 200, second: int = 0, user: str = "-", agent: str = "curl/8") -> bytes:
    """One line in the combined format, `second` seconds after 10:00."""
    time = datetime.fromtimestamp(START_S + second, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
    return f'192.0.2.7 - {user} [{time}] "{request}" {status} 512 "-" "{agent}"'.encode()


def json_line(**fields: object) -> bytes:
    """One line of a log_format with escape=json; what is not given is a GET of / answered 200."""
    return json.dumps({"request_method": "GET", "request_uri": "/", "status": 200} | fields, ensure_ascii=False).encode()
