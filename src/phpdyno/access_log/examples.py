"""A few lines and what was made of them, for a reader to see that the log was understood."""

import re

from phpdyno.access_log.forms.hit import Hit
from phpdyno.access_log.forms.lacking import lacking
from phpdyno.access_log.forms.named import NamedLine
from phpdyno.access_log.reader import LogReader
from phpdyno.access_log.summary import LineExample, UnreadLine
from phpdyno.access_log.targets import Clean, clean_target, split_absolute

MOST = 5
_TELLING = 2
_MOST_SHOWN = 100
_SPECIAL = re.compile(r"[?%]")


class Examples:
    """The first lines of different targets, and of those with a query or an escape."""

    def __init__(self) -> None:
        self.first_unread: UnreadLine | None = None
        self._plain: dict[str, LineExample] = {}
        self._telling: dict[str, LineExample] = {}
        self._left_out: dict[str, LineExample | None] = {}

    def add(self, number: int, hit: Hit, clean: Clean) -> None:
        """Take a line that a target is made of as a possible example."""
        held = self._telling if _SPECIAL.search(clean.path) else self._plain
        if len(held) < MOST and clean.path not in held:
            raw = "" if clean.masked else hit.raw.decode("utf-8", "backslashreplace")
            held[clean.path] = LineExample(number, _cut(raw), clean.path)

    def left_out(self, number: int, hit: Hit, reason: str) -> None:
        """Take a line that is in no target as an example of its reason, one a reason; never one
        that may hold a secret."""
        if reason not in self._left_out and len(self._left_out) < MOST:
            clean = clean_target(split_absolute(hit.target)[1])
            raw = hit.raw.decode("utf-8", "backslashreplace")
            shown = isinstance(clean, Clean) and not clean.masked
            self._left_out[reason] = LineExample(number, _cut(raw), "") if shown else None

    def unread(self, number: int, line: bytes, reader: LogReader) -> None:
        """A line that could not be read; the first of them is kept."""
        if self.first_unread is None:
            parts = reader.parts(line)
            lacks = lacking(parts) if isinstance(parts, NamedLine) else ""
            self.first_unread = UnreadLine(number, _cut(line[: 4 * _MOST_SHOWN].decode("utf-8", "backslashreplace")), lacks)

    def chosen(self) -> tuple[LineExample, ...]:
        """At most five examples, in the order of their lines, the telling ones among them."""
        telling, plain = list(self._telling.values()), list(self._plain.values())
        left_out = [each for each in self._left_out.values() if each is not None]
        chosen = [*telling[:_TELLING], *plain, *telling[_TELLING:], *left_out][:MOST]
        return tuple(sorted(chosen, key=lambda each: each.line))


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"
