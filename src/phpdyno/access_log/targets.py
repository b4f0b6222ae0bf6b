"""The target of a request line as a path that can be asked again, or why it cannot."""

import functools
import re
from typing import Literal
from urllib.parse import unquote, unquote_to_bytes

from msgspec import Struct

from phpdyno.access_log.hosts import bare_host
from phpdyno.access_log.masks import masked_query, secret_path

MOST_CHARACTERS = 1024
_MOST_SEGMENT_BYTES = 255  # the longest name of a file: the server looks for one
_ORIGIN = re.compile(r"/[!-~]*")
_ABSOLUTE = re.compile(rb"https?://([^/?#@\s]+)(.*)", re.IGNORECASE | re.DOTALL)
_RAW = re.compile(rb"[\x80-\xff]")
_STATIC = re.compile(
    r"\.(?:css|m?js|map|png|jpe?g|gif|svgz?|webp|avif|ico|bmp|woff2?|ttf|otf|eot|mp4|webm|mp3|ogg|wav|pdf|zip|t?gz|bz2|7z|rar|exe|dmg|iso|apk|wasm)\Z",
    re.IGNORECASE,
)
_SCRIPT = re.compile(r"\.(?:php[0-9]?|phtml|phar)/", re.IGNORECASE)
"""PHP with something behind its name: `/assets.php/css/site.css` is PHP's."""
Refusal = Literal["form", "long", "secret"]
"""Why a target is not asked again: no plain path, more than 1,024 characters, a secret in the
path."""


class Clean(Struct, frozen=True, gc=False):
    """A path with its query, secrets masked; whether one was; whether its ending is a static
    file's."""

    path: str
    masked: bool
    static: bool


def split_absolute(target: bytes) -> tuple[str, bytes]:
    """Host and path of an absolute-form target (`GET http://shop/x`); of any other '' and the
    target itself."""
    found = _ABSOLUTE.fullmatch(target)
    if found is None:
        return "", target
    path = found[2]
    return bare_host(found[1].decode("latin-1")), path if path.startswith(b"/") else b"/" + path


def clean_target(target: bytes) -> Clean | Refusal:
    """Bytes beyond ASCII are percent-encoded, as a browser would have; what no request line can
    carry is refused."""
    if len(target) <= 256:
        return _known(target)
    return _cleaned(target) if len(target) <= MOST_CHARACTERS else "long"


@functools.lru_cache(maxsize=8192)
def _known(target: bytes) -> Clean | Refusal:
    return _cleaned(target)


def _cleaned(target: bytes) -> Clean | Refusal:
    text = _RAW.sub(lambda found: b"%%%02X" % found[0][0], target).decode("ascii")
    if len(text) > MOST_CHARACTERS:
        return "long"
    path, mark, query = text.partition("?")
    if not _ORIGIN.fullmatch(text) or "#" in text or not _plain_path(path):
        return "form"
    if secret_path(path):
        return "secret"
    query, masked = masked_query(query)
    clean = path + mark + query
    if len(clean) > MOST_CHARACTERS:
        return "long"
    return Clean(clean, masked, _is_static(path))


def _is_static(path: str) -> bool:
    return bool(_STATIC.search(path)) and not _SCRIPT.search(unquote(path) if "%" in path else path)


def _plain_path(path: str) -> bool:
    """No `//` in front (a client would take what follows for a host), no `.` or `..` segment, no
    NUL or line break, no overlong name."""
    plain = unquote_to_bytes(path)
    if plain.startswith((b"//", b"/\\")) or any(byte < 32 or byte == 127 for byte in plain):
        return False
    segments = plain.split(b"/")
    if any(len(segment) > _MOST_SEGMENT_BYTES or segment in {b".", b".."} for segment in segments):
        return False
    return ".." not in unquote(unquote(path)).replace("\\", "/").split("/")
