"""What a web server's error log says of answers that it could not pass on, in its own words, and
the setting that helps. Pure."""

import re
from collections.abc import Mapping

from phpdyno.knobs.domain import size_bytes

_NGINX = re.compile(r"\[(?:error|crit|alert|emerg)\] \d+#\d+: \*\d+ (?!FastCGI sent in stderr)(.*?)(?:, client: |$)", re.MULTILINE)
_TOO_BIG_HEADER = "upstream sent too big header"
_ENOUGH = 32 << 10


def web_fault(said: str, web: Mapping[str, str]) -> str:
    """The last fault in what an nginx with the settings `web` has said; '' where there is none."""
    found = _NGINX.findall(said)
    return f"nginx: {found[-1]}{_remedy(found[-1], web)}" if found else ""


def _remedy(words: str, web: Mapping[str, str]) -> str:
    if _TOO_BIG_HEADER in words:
        had = size_bytes(web.get("fastcgi_buffer_size", "4k")) or 0
        return f" (its first buffer is too small for the page's headers: give web.fastcgi_buffer_size={max(_ENOUGH, 2 * had) >> 10}k)"
    return ""
