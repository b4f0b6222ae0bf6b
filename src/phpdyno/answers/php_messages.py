"""What PHP says into a page where display_errors is on: warnings, notices, deprecations, errors."""

import re

_KINDS = rb"(?:Warning|Notice|Deprecated|Strict Standards|Catchable fatal error|Recoverable fatal error|Fatal error|Parse error)"
_PLACE = rb" in (?:<b>)?([^\s<>][^<>\n]{0,400}?)(?:</b>)? on line (?:<b>)?(\d+)"
_MESSAGE = re.compile(rb"(?:^|[\n>])(?:<b>)?(?:PHP )?(" + _KINDS + rb")(?:</b>)?: +([^\n]{1,2000}?)" + _PLACE)
_TAG = re.compile(r"<[^>]*>")
MOST = 3
"""Messages of one page that are told."""
_MOST_TEXT = 300


def php_messages(body: bytes) -> tuple[str, ...]:
    """PHP's messages in a decoded body, each once and as plain text, three at most."""
    if b" on line " not in body:
        return ()
    found = (
        f"{_plain(kind)}: {_plain(text)[:_MOST_TEXT]} in {_plain(file)} on line {line.decode()}"
        for kind, text, file, line in _MESSAGE.findall(body)
    )
    return tuple(dict.fromkeys(found))[:MOST]


def _plain(data: bytes) -> str:
    return " ".join(_TAG.sub("", data.decode("utf-8", "replace")).split())
