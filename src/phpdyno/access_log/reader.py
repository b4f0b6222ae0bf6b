"""Any line of a log as a Hit: its form is recognised, or named before."""

from phpdyno.access_log.forms.columns import Columns, ltsv_line, pairs_line
from phpdyno.access_log.forms.decided import UNDECIDED, Decided
from phpdyno.access_log.forms.envelopes import unwrapped
from phpdyno.access_log.forms.hit import Hit, NoHit
from phpdyno.access_log.forms.json_lines import json_line
from phpdyno.access_log.forms.named import NamedLine, named_hit
from phpdyno.access_log.forms.proxies import proxy_line
from phpdyno.access_log.forms.text import TextLine, loose_line, text_hit, text_line
from phpdyno.access_log.hosts import MOST_HOST, UNNAMED
from phpdyno.access_log.log_format.pattern import LinePattern
from phpdyno.access_log.targets import split_absolute

_MOST_BEFORE = 512
_BOM = b"\xef\xbb\xbf"


class LogReader:
    """Reads the lines of one log in their order. Where `pattern` is given all lines are in that
    form; else each is recognised by itself, and `decided` settles what one line leaves open."""

    def __init__(self, pattern: LinePattern | None = None, decided: Decided = UNDECIDED) -> None:
        self.pattern = pattern
        self.decided = decided
        self._columns = Columns()

    def hit(self, line: bytes) -> Hit | NoHit:
        """The request that a line tells of, or why it tells of none."""
        parts = self.parts(line)
        if isinstance(parts, str):
            return parts
        return text_hit(parts, self.decided.site) if isinstance(parts, TextLine) else named_hit(parts, self.decided)

    def site(self, hit: Hit) -> str:
        """The site that a hit is of: what its line names, else the host of a whole URL; `-` where
        most lines name a site and this one does not, '' where there is no place for one."""
        if hit.host not in {"", UNNAMED}:
            return hit.host
        return split_absolute(hit.target)[0][:MOST_HOST] or (UNNAMED if hit.host and self.decided.named else "")

    def parts(self, line: bytes) -> TextLine | NamedLine | NoHit:
        """The parts of a line, not yet read."""
        if self.pattern is not None:
            return self.pattern.line(line) or self.pattern.line(unwrapped(line)) or "no request in it"
        line = line.removeprefix(_BOM).strip()
        if line.startswith(b"{"):
            return self._json(line)
        if line.startswith(b"#"):
            self._columns.header(line)
            return "a comment"
        inner = unwrapped(line)
        return self._json(inner) if inner.startswith(b"{") else self._recognised(inner)

    def _json(self, line: bytes) -> TextLine | NamedLine | NoHit:
        read = json_line(line)
        if isinstance(read, str):
            inner = unwrapped(read.encode("utf-8", "replace").strip())
            again = json_line(inner) if inner.startswith(b"{") else self._recognised(inner)
            return "no request in it" if again is None or isinstance(again, str) else again
        return read or "no request in it"

    def _recognised(self, line: bytes) -> TextLine | NamedLine | NoHit:
        if self._columns.names and (named := self._columns.line(line)):
            return named
        return (
            text_line(line)
            or proxy_line(line)
            or self._columns.line(line)
            or ltsv_line(line)
            or pairs_line(line)
            or loose_line(line)
            or _object_behind(line)
            or "no request in it"
        )


def _object_behind(line: bytes) -> NamedLine | None:
    """A JSON object that stands behind words of a line, as Caddy's console has it."""
    start = line.find(b"{")
    read = json_line(line[start:]) if 0 < start < _MOST_BEFORE and line.endswith(b"}") else None
    return None if isinstance(read, str) else read


def parse_line(line: bytes) -> Hit | None:
    """The request that a line tells of when nothing else is known of its log; None when it tells of
    none."""
    hit = LogReader().hit(line)
    return None if isinstance(hit, str) else hit
