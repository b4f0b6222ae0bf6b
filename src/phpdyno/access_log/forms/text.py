"""Lines of text with a request line in quotes and its status behind it: the combined and common
formats, also with columns before or behind, and what looks like them."""

import re
from collections.abc import Iterator

from msgspec import Struct

from phpdyno.access_log.forms.decided import SitePlace
from phpdyno.access_log.forms.hit import REQUEST_LINE, FieldsTaken, Hit, NoHit, unescaped
from phpdyno.access_log.hosts import MOST_HOST, UNNAMED, bare_host, kind_of, port_of
from phpdyno.access_log.times import Stamp, iso_time, local_time

_COMBINED = re.compile(
    rb"([^ ]+ [^\r\n]{0,1024}?)\[([^\]\r\n]{1,40})\] "
    rb'"([^"\\]*(?:\\.[^"\\]*)*)" ([0-9]{3}) (?:[0-9]+|-)(?=[ "]|\r?$)'
)
_LOOSE = re.compile(
    rb'([^\r\n]{0,2048}?)"([A-Za-z]{1,20} \S+ HTTP/[0-9.]{1,5})"[\s|,;]+'
    rb'(?:[^\s"|]*[^\s"|0-9][^\s"|]*[\s|]+){0,4}"?([0-9]{3})"?(?=[\s|,;]|$)'
)
_ANY_TIME = re.compile(
    rb"([0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:]{8} [+-][0-9]{4})"
    rb"|([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?:Z| ?[+-][0-9]{2}:?[0-9]{2})?)"
)
_SPLIT = re.compile(rb"[\s|;]+")
_WORDS = re.compile(rb'[A-Za-z_]{1,30}[=:]"[^"]{0,1024}"|"(?:[^"\\]|\\.)*"|\[[^\]]{0,256}\]|[^\s|;]+')
_KEYED = re.compile(r"(?:host|http_host|vhost|virtual_host|server_name|servername|sn|domain|site|authority)[=:](.*)", re.IGNORECASE)
_ROUTER = re.compile(rb'^ (?:"[^"]*" ){2}[0-9]+ "([^"]+)" "[^"]*" [0-9]+ms')
_UPSTREAM = re.compile(rb'^ "[^"]*" "(?:[^"\\]|\\.)*" [0-9]+ [0-9.]+ \[([^\]]*)\] ')
_MOST_COLUMNS = 24


class TextLine(Struct, frozen=True, gc=False):
    """The parts of a line: `front` before the request, `behind` after the status. `certain` is
    False where the line only looks like one of the known formats."""

    front: bytes
    time: bytes
    request: bytes
    status: int
    behind: bytes
    certain: bool = True


def text_line(line: bytes) -> TextLine | None:
    """A line in the combined or common format; None for any other."""
    found = _COMBINED.match(line)
    return None if found is None else TextLine(found[1], found[2], found[3], int(found[4]), line[found.end() :])


def loose_line(line: bytes) -> TextLine | None:
    """A line that has at least a request line in quotes, and a status behind it; None for any
    other."""
    found = _LOOSE.match(line)
    if found is None:
        return None
    time = _ANY_TIME.search(found[1]) or _ANY_TIME.search(line, found.end())
    front = _ANY_TIME.sub(b" ", found[1]).replace(b"[ ]", b" ")
    return TextLine(front, time[0] if time else b"", found[2], int(found[3]), line[found.end() :], certain=False)


def text_hit(line: TextLine, place: SitePlace | None) -> Hit | NoHit:
    """The request of a line whose site is at a place that was found before."""
    parts = REQUEST_LINE.fullmatch(line.request)
    if parts is None:
        return "no request line"
    host, plain = _site(line, place) if place else ("", None)
    return Hit(
        parts[1].decode("ascii").upper(),
        unescaped(parts[2]),
        line.status,
        host=host,
        stamp=_stamp(line.time),
        plain=plain,
        raw=line.request,
        taken=_taken(line, place, absolute=parts[2][:4].lower() == b"http"),
    )


def front_words(line: TextLine) -> list[str]:
    """The words before the request, in their order; a list of addresses is one."""
    front = line.front.replace(b", ", b",").strip(b" |[]\t")
    words = [word.strip(b'"[]|,').decode("latin-1") for word in _SPLIT.split(front)][:_MOST_COLUMNS]
    return [word or "-" for word in words]


def words_behind(line: TextLine) -> list[str]:
    """The words after the status, without their quotes; of `host="shop.example"` the value."""
    return [_unquoted(word) for word in _WORDS.findall(line.behind[:4096])[:_MOST_COLUMNS]]


def site_words(line: TextLine) -> Iterator[tuple[SitePlace, str]]:
    """Each word that could be the site's name, with its place: no referer, no agent. The last one
    in front is the user's name, unless it is an address."""
    front = front_words(line)
    last = len(front) - 1 if line.certain and kind_of(front[-1]) != "address" else len(front)
    for column, word in enumerate(front):
        yield SitePlace("front", column) if column < max(last, 1) else SitePlace("user"), word
    behind = words_behind(line)
    skipped = 2 if line.behind.lstrip(b" ").startswith(b'"') else 0
    for column, word in enumerate(behind):
        if column >= skipped:
            yield SitePlace("behind", column), word
    for where, pattern in (("router", _ROUTER), ("upstream", _UPSTREAM)):
        if found := pattern.match(line.behind):
            yield SitePlace(where), found[1].decode("latin-1")  # type: ignore[arg-type]


def keyed_site(line: TextLine) -> int | None:
    """The column behind the status that says by its name that it holds the site
    (`host="shop.example"`)."""
    words = _WORDS.findall(line.behind[:4096])[:_MOST_COLUMNS]
    return next((column for column, word in enumerate(words) if _KEYED.fullmatch(word.decode("latin-1"))), None)


def word_at(line: TextLine, place: SitePlace) -> str:
    """The word at a place; '' where the line has none there."""
    if place.where == "front":
        words = front_words(line)
    elif place.where == "behind":
        words = words_behind(line)
    elif place.where == "user":
        return front_words(line)[-1]
    else:
        return next((word for each, word in site_words(line) if each.where == place.where), "")
    return words[place.column] if place.column < len(words) else ""


def _site(line: TextLine, place: SitePlace) -> tuple[str, bool | None]:
    """The host at a place, `-` for none; whether its port is that of http, None for neither."""
    word = word_at(line, place)
    port = port_of(word)
    host = bare_host(word) if kind_of(word) in {"site", "word", "other"} else UNNAMED
    return host[:MOST_HOST], None if port not in {80, 443} else port == 80


def _unquoted(word: bytes) -> str:
    text = word.decode("latin-1")
    keyed = _KEYED.fullmatch(text)
    return (keyed[1] if keyed else text).strip('"[],')


def _stamp(time: bytes) -> Stamp | None:
    text = time.decode("latin-1")
    return local_time(text) or iso_time(text.replace(",", "."))


def _taken(line: TextLine, place: SitePlace | None, *, absolute: bool) -> FieldsTaken:
    known = "combined format" if line.behind[:2] == b' "' else "common format"
    name = known if line.certain else "text that is like the combined format"
    key = (name, place, bool(line.time), absolute)
    made = _MADE.get(key)
    if made is None:
        made = _MADE[key] = _described(*key)
    return made


_MADE: dict[tuple[str, SitePlace | None, bool, bool], FieldsTaken] = {}


def _described(name: str, place: SitePlace | None, timed: bool, absolute: bool) -> FieldsTaken:
    where = place.words if place else "the host of the whole URL" if absolute else ""
    fields = (
        ("site", where),
        ("request", '"METHOD /address HTTP/…"'),
        ("status", "the number behind it"),
        ("time", "[…]" if timed else ""),
    )
    return FieldsTaken(name, tuple(field for field in fields if field[1]))
