"""nginx's log_format as a LinePattern."""

import re

from phpdyno.access_log.forms.names import plain_name
from phpdyno.access_log.log_format.pattern import LinePattern, Value

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z0-9_]+)\}|([A-Za-z0-9_]+))")
_DIRECTIVE = re.compile(r"\s*log_format\s+\S+\s+(?:escape=\w+\s+)?(.*?);?\s*", re.DOTALL)
_PIECE = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s'";]+)""", re.DOTALL)
_ONLY_PIECES = re.compile(r"""(?:escape=\w+\s+)?'(?:[^'\\]|\\.)*'(?:\s+'(?:[^'\\]|\\.)*')*\s*;?""", re.DOTALL)
_UNQUOTED = re.compile(r"""\\(["'\\])""")
_NUMBER = r"[0-9.]+|-|"
_LIST = r"[^\s,]+(?:(?:, ?| : )[^\s,]+)*|-|"
_PATTERNS = {
    "request": r"[A-Za-z]{1,20} \S+ HTTP/[0-9.]{1,5}|-|",
    "status": r"[0-9]{3}",
    "time_local": r"[0-9A-Za-z/:]+ [+-][0-9]{4}",
    "time_iso8601": r"[0-9T:Z+-]+",
    "scheme": r"https?",
    "https": r"on|",
    "server_port": r"[0-9]*",
    "is_args": r"\??",
    "request_method": r"[A-Za-z-]{1,20}|",
    **dict.fromkeys(("body_bytes_sent", "bytes_sent", "request_length", "msec", "request_time", "connection", "remote_port"), _NUMBER),
    **{
        f"upstream_{name}": _LIST
        for name in ("addr", "status", "response_time", "connect_time", "header_time", "response_length", "cache_status")
    },
    "http_x_forwarded_for": _LIST,
    "proxy_add_x_forwarded_for": _LIST,
}
_FREE = {"remote_user", "http_user_agent", "http_referer", "http_cookie", "uri", "document_uri", "request_body"}
_NAMES = {"uri": "decodedpath", "document_uri": "decodedpath", "is_args": "isargs", "upstream_http_host": "upstreamhttphost"}


def nginx_pattern(text: str) -> LinePattern:
    """The format of `log_format`: its text with $variables, its quoted pieces as they stand in
    nginx.conf, or the whole directive. Raises UsageError."""
    text = _joined(text)
    parts: list[str | Value] = []
    end = 0
    for found in _VARIABLE.finditer(text):
        if found.start() > end:
            parts.append(text[end : found.start()])
        name = (found[1] or found[2]).lower()
        pattern = _PATTERNS.get(name, "")
        parts.append(Value(_NAMES.get(name, plain_name(name)), found[0], f"(?:{pattern})" if pattern else "", spaces=name in _FREE))
        end = found.end()
    if end < len(text):
        parts.append(text[end:])
    return LinePattern(parts, kind="log_format")


def _joined(text: str) -> str:
    """The pieces of a directive as the one text that nginx makes of them."""
    directive = _DIRECTIVE.fullmatch(text)
    if directive is None and not _ONLY_PIECES.fullmatch(text.strip()):
        return text.strip("\n")
    pieces = _PIECE.findall(directive[1] if directive else re.sub(r"\A\s*escape=\w+", "", text))
    return "".join(_UNQUOTED.sub(r"\1", single or double or bare) for single, double, bare in pieces)
