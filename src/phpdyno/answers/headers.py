"""Which headers must be equal between arms.

Left out, because they come from the server or the transport and say nothing of the answer: Date,
Server, X-Powered-By (another PHP version or `expose_php` is a legitimate treatment), Connection,
Keep-Alive, Transfer-Encoding, Content-Length and Content-Encoding (the decoded body is compared),
and of Vary the word Accept-Encoding, which comes with compression. Compared by name only,
because their values move with time: Expires, Last-Modified, ETag, Age; Set-Cookie by the cookie's
name. Every other header is compared by name and value, but for values that already differ between
two answers of the control (a request id, a nonce in a policy), which count by name, and names that
not every answer of the control has, which do not count.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

IGNORED = frozenset(
    {"date", "server", "x-powered-by", "connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding"}
)
BY_NAME = frozenset({"expires", "last-modified", "etag", "age"})

Headers = Iterable[tuple[str, str]]


class HeaderProfile(Struct, frozen=True):
    """The headers that the control's answers agree on.

    `values`: per lower-case name the sorted values; `volatile`: names whose values move;
    `unsteady`: names that some answers lack.
    """

    values: dict[str, tuple[str, ...]]
    volatile: frozenset[str]
    unsteady: frozenset[str]

    def differs(self, headers: Headers) -> str | None:
        """None when equal, else the first difference in words."""
        got = _normal(headers)
        for name in sorted(self.values.keys() | got.keys()):
            if name in self.unsteady:
                continue
            if name not in got:
                return f"the header {name} is missing"
            if name not in self.values:
                return f"there is a header {name}: {', '.join(got[name])[:80]!r} that the control does not send"
            if name not in self.volatile and got[name] != self.values[name]:
                return f"header {name}: expected {', '.join(self.values[name])[:80]!r}, got {', '.join(got[name])[:80]!r}"
        return None


def learn_headers(answers: Sequence[Headers]) -> HeaderProfile:
    """The profile of at least one answer's headers."""
    seen = [_normal(headers) for headers in answers]
    names = frozenset().union(*seen)
    unsteady = frozenset(name for name in names if any(name not in each for each in seen))
    steady = names - unsteady
    volatile = frozenset(name for name in steady if any(each[name] != seen[0][name] for each in seen))
    return HeaderProfile({name: seen[0][name] for name in sorted(steady)}, volatile, unsteady)


def _normal(headers: Headers) -> dict[str, tuple[str, ...]]:
    values: dict[str, list[str]] = {}
    for name, value in headers:
        low = name.lower()
        if low not in IGNORED and (reduced := _reduced(low, value)) is not None:
            values.setdefault(low, []).append(reduced)
    return {name: tuple(sorted(found)) for name, found in values.items()}


def _reduced(name: str, value: str) -> str | None:
    """What of a value is compared; None where nothing of the header is."""
    if name == "vary":
        words = [word for each in value.split(",") if (word := each.strip()) and word.lower() != "accept-encoding"]
        return ", ".join(words) or None
    if name == "set-cookie":
        return value.partition("=")[0].strip()
    return "" if name in BY_NAME else value.strip()
