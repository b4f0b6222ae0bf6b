"""What a DNS message asks, and the addresses that it answers. Pure; whatever is no such message is
None."""

import ipaddress

from msgspec import Struct

_HEADER = 12
_LONGEST = 255
ADDRESS_TYPES = {1: 4, 28: 16}
"""Lengths of A and AAAA."""


class DnsMessage(Struct, frozen=True):
    """One question with what came with it."""

    number: int
    response: bool
    name: str
    kind: int
    addresses: tuple[str, ...]


def read_message(data: bytes) -> DnsMessage | None:
    """The first question, and the addresses among the answers that are whole."""
    if len(data) < _HEADER or int.from_bytes(data[4:6]) < 1:
        return None
    named = _name(data, _HEADER)
    if named is None or len(data) < named[1] + 4:
        return None
    name, place = named
    kind = int.from_bytes(data[place : place + 2])
    response = bool(data[2] & 0x80)
    answers = _addresses(data, place + 4, int.from_bytes(data[6:8])) if response else ()
    return DnsMessage(int.from_bytes(data[:2]), response, name, kind, answers)


def _name(data: bytes, place: int) -> tuple[str, int] | None:
    """A name that is spelt out, as in a question, and where it ends."""
    labels: list[str] = []
    while place < len(data) and place < _HEADER + _LONGEST:
        length = data[place]
        if length == 0:
            return ".".join(labels), place + 1
        if length > 63:
            return None
        labels.append(data[place + 1 : place + 1 + length].decode(errors="backslashreplace").lower())
        place += 1 + length
    return None


def _addresses(data: bytes, place: int, count: int) -> tuple[str, ...]:
    """Those of the answers, whatever name they are for: an alias leads there from the one that was
    asked for."""
    found: list[str] = []
    for _ in range(count):
        place = _past_name(data, place)
        if place + 10 > len(data):
            break
        kind, length = int.from_bytes(data[place : place + 2]), int.from_bytes(data[place + 8 : place + 10])
        value = data[place + 10 : place + 10 + length]
        if ADDRESS_TYPES.get(kind) == len(value):
            found.append(str(ipaddress.ip_address(value)))
        place += 10 + length
    return tuple(found)


def _past_name(data: bytes, place: int) -> int:
    while place < len(data):
        length = data[place]
        if length == 0:
            return place + 1
        if length > 63:
            return place + 2
        place += 1 + length
    return place
