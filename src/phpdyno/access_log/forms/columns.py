"""Lines in columns that have names: extended log files with a `#Fields` line (CloudFront, IIS),
LTSV, and `name=value` words."""

import re

from phpdyno.access_log.forms.layout import layout_of
from phpdyno.access_log.forms.named import NamedLine

_FIELDS = re.compile(rb"#Fields:\s*(.*)", re.IGNORECASE)
_TWICE = re.compile(r"%25([0-9A-Fa-f]{2})")
_LABEL = re.compile(rb"[A-Za-z_][\w.-]{0,40}:")
_PAIR = re.compile(r'(?:^|\s)([A-Za-z_][\w.-]{0,40})=("(?:[^"\\]|\\.)*"|[^\s"]*)')
_CLOUDFRONT = [
    "date", "time", "x-edge-location", "sc-bytes", "c-ip", "cs-method", "cs(Host)", "cs-uri-stem", "sc-status", "cs(Referer)",
    "cs(User-Agent)", "cs-uri-query", "cs(Cookie)", "x-edge-result-type", "x-edge-request-id", "x-host-header", "cs-protocol",
]  # fmt: skip
_CLOUDFRONT_LINE = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}\t[0-9]{2}:[0-9]{2}:[0-9]{2}\t[A-Z]{3}[0-9A-Z-]*\t")
_MOST_COLUMNS = 128


class Columns:
    """The columns that the last `#Fields` line named; they hold for what follows it."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def header(self, line: bytes) -> None:
        """Take the names of a `#Fields` line; any other comment changes nothing."""
        found = _FIELDS.match(line)
        if found is not None:
            self.names = found[1].decode("latin-1").split()[:_MOST_COLUMNS]

    def line(self, line: bytes) -> NamedLine | None:
        """The line under those names; None without names, or with too few words."""
        cloudfront = _CLOUDFRONT_LINE.match(line) is not None
        names = self.names or (_CLOUDFRONT if cloudfront else [])
        if not names:
            return None
        tabs = b"\t" in line
        words = line.decode("latin-1").rstrip("\r").split("\t" if tabs else " ", _MOST_COLUMNS)
        if len(words) < min(len(names), 5):
            return None
        layout = layout_of(names)
        values = dict(zip(layout.plains, words, strict=False))
        if "xedgelocation" in values:
            for key in ("csuristem", "csuriquery"):
                values[key] = _TWICE.sub(r"%\1", values.get(key, "-"))
        _one_moment(values)
        return NamedLine("CloudFront" if "xedgelocation" in values else "extended log file", values, layout, "latin-1")


def ltsv_line(line: bytes) -> NamedLine | None:
    """A line of `label:value` between tabs; None for any other."""
    parts = line.split(b"\t", _MOST_COLUMNS)
    if len(parts) < 3 or not all(map(_LABEL.match, parts[:3])):
        return None
    return _named("LTSV", [(label, value) for part in parts for label, _, value in [part.decode("latin-1").partition(":")]])


def pairs_line(line: bytes) -> NamedLine | None:
    """A line of `name=value` words (logfmt); None for one with fewer than four."""
    if line.count(b"=") < 4:
        return None
    pairs = _PAIR.findall(line[:65536].decode("latin-1"))
    if len(pairs) < 4:
        return None
    return _named("name=value", [(name, value[1:-1].replace('\\"', '"') if value.startswith('"') else value) for name, value in pairs])


def _named(form: str, pairs: list[tuple[str, str]]) -> NamedLine:
    layout = layout_of([name for name, _ in pairs[:_MOST_COLUMNS]])
    return NamedLine(form, dict(zip(layout.plains, (value for _, value in pairs), strict=False)), layout, "latin-1")


def _one_moment(values: dict[str, str]) -> None:
    """Date and time of two columns as one moment, in UTC."""
    if "date" in values and "time" in values:
        values["time"] = f"{values['date']}T{values['time']}"
