"""A log format that is known, as an expression that takes its lines apart."""

import re
from collections.abc import Sequence

from msgspec import Struct

from phpdyno.access_log.forms import names
from phpdyno.access_log.forms.hit import unescaped
from phpdyno.access_log.forms.layout import layout_of
from phpdyno.access_log.forms.named import NamedLine
from phpdyno.errors import UsageError

_MOST_FREE = 4
"""Values that may hold anything and stand between blanks: each makes a line that does not fit
dearer."""
_ENCLOSED = {('"', '"'): r'(?:[^"\\]|\\.)*', ("[", "]"): r"[^\]]*"}
_NEEDED = (
    ("the request", (*names.REQUEST, *names.TARGET, *names.PATH)),
    ("the method", (*names.REQUEST, *names.METHOD)),
    ("the status", names.STATUS),
)


class Value(Struct, frozen=True):
    """A value in a format: its plain name, as the format writes it, and the expression of what it
    can be ('' for anything). `spaces` says that it can hold blanks."""

    name: str
    shown: str
    pattern: str = ""
    spaces: bool = False


class LinePattern:
    """A format as text and values in their order. `kind` is what it is called in a report."""

    def __init__(self, parts: Sequence[str | Value], *, kind: str) -> None:
        self.kind = kind
        self._values: list[Value] = []
        free = 0
        expression = ""
        for index, part in enumerate(parts):
            if isinstance(part, str):
                expression += re.escape(part)
                continue
            before, after = _text_at(parts, index - 1)[-1:], _text_at(parts, index + 1)
            following = parts[index + 1] if index + 1 < len(parts) else None
            pattern, is_free = _pattern(part, before, after, following)
            free += is_free
            self._values.append(part)
            expression += f"({pattern})"
        if free > _MOST_FREE:
            raise UsageError(
                f"{free} values of it may hold blanks and stand without quotes", where="--log-format", next_step="quote them in the log"
            )
        self._expression = re.compile(expression.encode("latin-1", "replace"))
        self._layout = layout_of([value.shown for value in self._values], self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """Plain names of its values."""
        return tuple(value.name for value in self._values)

    def line(self, line: bytes) -> NamedLine | None:
        """The values of a line; None for one that does not fit."""
        found = self._expression.fullmatch(line.rstrip(b"\r\n"))
        if found is None:
            return None
        values: dict[str, str] = {}
        for value, text in zip(self._values, found.groups(), strict=True):
            if values.get(value.name, "-") in {"", "-"}:
                values[value.name] = text.decode("latin-1") if value.name in names.REQUEST else unescaped(text).decode("latin-1")
        return NamedLine(self.kind, values, self._layout, "latin-1")


def require_parts(pattern: LinePattern, *, where: str) -> None:
    """Raise UsageError for a format that lacks what a request is made of."""
    for what, keys in _NEEDED:
        if not set(pattern.names) & set(keys):
            raise UsageError(
                f"the format does not hold {what}",
                where=where,
                next_step="a log of this format cannot be asked again; use one with request and status",
            )


def _text_at(parts: Sequence[str | Value], index: int) -> str:
    part = parts[index] if 0 <= index < len(parts) else ""
    return part if isinstance(part, str) else ""


def _pattern(value: Value, before: str, after: str, following: str | Value | None) -> tuple[str, bool]:
    """The expression of a value between these texts, and whether it may be anything."""
    if isinstance(following, Value):
        return _beside(value, following, quoted=before == '"'), False
    enclosed = _ENCLOSED.get((before, after[:1]))
    if enclosed or value.pattern:
        return enclosed or value.pattern, False
    if not after:
        return r".{0,8192}", False
    stop = after[0]
    if value.spaces and stop == " ":
        return r".{0,1024}?", True
    return (r"\S*?" if stop in ":." else f"[^{re.escape(stop)}]*"), False


def _beside(value: Value, following: Value, *, quoted: bool) -> str:
    """The expression of a value that another one follows without anything between them."""
    if value.name == "decodedpath" and following.name in {"isargs", "querystring"}:
        return r'[^?"]*' if quoted else r'[^?"\s]*'
    if value.name in names.SITE and following.name in {"requesturi", "decodedpath"}:
        return r'[^/\s"?]*'
    if value.pattern or following.name == "serverport":
        return value.pattern or r"\S*?"
    what = f"{value.shown}{following.shown} stand without anything between them: where one ends cannot be told"
    raise UsageError(what, where="--log-format", next_step="give a log whose format has something between them")
