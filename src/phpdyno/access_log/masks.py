"""Secrets and personal data in a URL: told by a parameter's name, or by the looks of a value."""

import functools
import re
from itertools import pairwise
from urllib.parse import unquote, unquote_plus

MASKED = "masked"
_WORDS = re.compile(
    r"(?:apikey|auth|authorization|bearer|checksum|code|cred|credential|credentials|csrf|email|hash|hmac|iban|jsessionid|jwt|key"
    r"|login|mail|nonce|oauth|otp|pass|passphrase|passwd|password|phone|phpsessid|pin|pw|pwd|secret|sess|session|sessionid|sid"
    r"|sig|sign|signature|ssid|ssn|state|tel|ticket|token|user|userid|username|wpnonce|xsrf)"
)
_PARTS = re.compile(r"passw|passphrase|secret|token|apikey|sess(ion)?_?id|signature|credential|e-?mail|nonce")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_JWT = re.compile(r"eyJ[\w-]{6,}\.[\w-]{4,}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?=[0-9a-fA-F]*[0-9])[0-9a-fA-F]{32,}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_RUN = re.compile(r"[A-Za-z0-9+/_=-]{20,}")
_PIECE = re.compile(r"[A-Za-z0-9]+")
_EMAIL = re.compile(r"(?<![^\s@/?&=:])[^\s@/?&=:]+@[^\s@/?&=]+\.[A-Za-z]{2,}")
_USERINFO = re.compile(r"://[^\s/@]+@")
_INNER = re.compile(r"[?&;#]")
_MOST_LAYERS = 3
_MIXED = 0.3
"""Share of neighbours of different kind (upper, lower, digit) from which letters look drawn: base64
has 0.62, base36 0.40, words 0.1."""


def masked_query(query: str) -> tuple[str, bool]:
    """The query with secret values replaced, and whether one was. Names and order stay."""
    pairs = [_known_pair(pair) if len(pair) <= 64 else _masked_pair(pair) for pair in query.split("&")]
    changed = "&".join(pairs)
    return changed, changed != query


def secret_path(path: str) -> bool:
    """Whether a path carries what looks like a secret, or an address of e-mail; it cannot be
    replaced, since another page would answer."""
    plain = _plain(path, plus=False)
    if any(secret_value(segment) for segment in plain.split("/")):
        return True
    return any(secret_name(name) and value for pair in plain.split(";")[1:] for name, _, value in [pair.partition("=")])


def secret_name(name: str) -> bool:
    """Whether a parameter's name says that its value is secret or personal: `api_key`, `userToken`,
    `auth[sid]`; not `keyword`."""
    words = [word.lower() for word in _WORD.findall(name)]
    return any(_WORDS.fullmatch(word) for word in (name.lower(), *words)) or bool(_PARTS.search(name.lower()))


def secret_value(value: str) -> bool:
    """Whether a decoded value looks like a key (32 hex digits, a UUID, a JWT, drawn letters), an
    e-mail address or a login in a URL."""
    if len(value) < 5:
        return False
    if _EMAIL.search(value) or _USERINFO.search(value):
        return True
    return bool(_JWT.search(value) or _HEX.search(value) or _UUID.search(value)) or any(_drawn(run) for run in _RUN.findall(value))


@functools.lru_cache(maxsize=8192)
def _known_pair(pair: str) -> str:
    return _masked_pair(pair)


def _masked_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    if not equals:
        return MASKED if _secret_text(_plain(pair)) else pair
    if secret_value(_plain(name)):
        return f"{MASKED}={MASKED}"
    if value and (secret_name(_plain(name)) or _secret_text(_plain(value))):
        return f"{name}={MASKED}"
    return pair


def _secret_text(value: str) -> bool:
    """A value, or an address with a query of its own inside one."""
    if secret_value(value):
        return True
    inner = (part.partition("=") for part in _INNER.split(value) if "=" in part) if "=" in value else ()
    return any(content and secret_name(name) for name, _, content in inner)


def _drawn(run: str) -> bool:
    """Whether a run of letters and digits looks drawn at random rather than written: kinds change
    often within its pieces."""
    pieces = _PIECE.findall(run)
    if sum(map(len, pieces)) < 20 or not any(character.isdigit() for character in run):
        return False
    kinds = [["u" if c.isupper() else "d" if c.isdigit() else "l" for c in piece] for piece in pieces]
    neighbours = sum(len(piece) - 1 for piece in kinds)
    changes = sum(a != b for piece in kinds for a, b in pairwise(piece))
    return neighbours > 0 and changes / neighbours >= _MIXED


def _plain(text: str, *, plus: bool = True) -> str:
    """Percent-decoded, up to three times over, as secrets in addresses within addresses are."""
    for _ in range(_MOST_LAYERS):
        if "%" not in text and "+" not in text:
            break
        text = unquote_plus(text) if plus else unquote(text)
        plus = False
    return text
