"""Names of sites and addresses of clients, told from each other."""

import functools
import ipaddress
import re
from typing import Literal

Kind = Literal["address", "site", "word", "none", "other"]
"""What a word of a line is: an address (or a list of some), a site's name (with a dot or a port), a
plain word, nothing (`-`), something else."""
MOST_HOST = 260
"""Characters of the longest host, its port included."""
UNNAMED = "-"
"""The host of a line that has a place for the site, and names none there."""
NO_SITE = frozenset({"", "-", "_", '""', "''", "default"})
"""What stands where a request named no site."""
_NAME = re.compile(r"(?=[^:]*[A-Za-z])[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?\.?(?::[0-9]{1,5})?")
_TOP = re.compile(r"[A-Za-z]{2,}|xn--[A-Za-z0-9-]+")
_PORT = re.compile(r"(.*[^:]):([0-9]{1,5})|(\[.*\]):([0-9]{1,5})")
_NO_ADDRESS = frozenset({"-", "unknown", "unix", "unix:", ""})


def bare_host(value: str) -> str:
    """A host in lower case and without its port or last dot."""
    name, colon, port = value.lower().rpartition(":")
    return (name if colon and port.isdigit() else value.lower()).rstrip(".")


def port_of(value: str) -> int | None:
    """The port of `shop.example:443`; None where none is written."""
    name, _, port = value.rpartition(":")
    whole = name and (":" not in name or name.endswith("]"))
    return int(port) if whole and port.isdecimal() and len(port) <= 5 else None


def is_address(value: str) -> bool:
    """Whether a word is an IP address, with a port or without, or a list of some (as
    X-Forwarded-For has it)."""
    return len(value) <= MOST_HOST and _known_address(value)


def kind_of(word: str) -> Kind:
    """What a word of a line looks like."""
    return _known_kind(word) if len(word) <= MOST_HOST else "other"


@functools.lru_cache(maxsize=8192)
def _known_address(value: str) -> bool:
    parts = [part.strip() for part in value.split(",")]
    return any(map(_one_address, parts)) and all(part.lower() in _NO_ADDRESS or _one_address(part) for part in parts)


@functools.lru_cache(maxsize=8192)
def _known_kind(word: str) -> Kind:
    if word in NO_SITE:
        return "none"
    if is_address(word):
        return "address"
    if not _NAME.fullmatch(word):
        return "other"
    name = bare_host(word)
    top = name.rpartition(".")[2]
    if "." in name:
        return "site" if _TOP.fullmatch(top) else "other"
    return "site" if port_of(word) is not None or name == "localhost" else "word"


def _one_address(value: str) -> bool:
    """An address, also `192.0.2.7:80`, `[2001:db8::1]` and `[2001:db8::1]:80`."""
    if "." not in value and ":" not in value:
        return False
    with_port = _PORT.fullmatch(value)
    tries = [value, *([with_port[1] or with_port[3]] if with_port else [])]
    for each in tries:
        try:
            ipaddress.ip_address(each.strip("[]").partition("%")[0])
        except ValueError:
            continue
        return True
    return False
