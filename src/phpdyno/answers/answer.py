"""One fetched response, as data."""

from msgspec import Struct


class Answer(Struct, frozen=True):
    """Status, headers in the order received (names in any case), and the whole body, decoded from
    its transfer coding and its content coding.

    `coded` names the content coding that it came in, '' for none; then `sent_bytes` is its length
    as it came. `undecoded` says why it is still coded.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    coded: str = ""
    sent_bytes: int | None = None
    undecoded: str = ""


def excerpt(data: bytes, most: int = 48) -> str:
    """At most `most` bytes as one quoted, printable line."""
    text = data[:most].decode("utf-8", "backslashreplace")
    return repr(text) + ("…" if len(data) > most else "")
