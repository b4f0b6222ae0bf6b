"""A look at the head of a log that settles what one line leaves open: where the site stands, what a
path is."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from phpdyno.access_log.forms.decided import Decided, SitePlace
from phpdyno.access_log.forms.named import Evidence, NamedLine, path_evidence
from phpdyno.access_log.forms.text import TextLine, keyed_site, site_words
from phpdyno.access_log.head.columns_seen import ColumnSeen, ambiguous_column, site_place
from phpdyno.access_log.hosts import bare_host, is_address
from phpdyno.access_log.reader import LogReader
from phpdyno.errors import UsageError

_KNOWN_STATUSES = frozenset(
    (100, 101, 102, 103, *range(200, 209), 226, *range(300, 309), *range(400, 419), *range(421, 430), 431, 440, 444, 449, 451, 460, 463,
     *range(494, 500), *range(500, 512), *range(520, 531), 561, 598, 599)
)  # fmt: skip
_COMMON_FORMAT = '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"'
_ODD_SHARE = 0.1
_MIXED_SHARE = 0.2
_NEARLY_ALL = 0.8
_LEAST_LINES = 5
_MOST_KEYS = 64
_FEW_ADDRESSES = 5


class Survey:
    """What the lines so far show; bounded, whatever they hold."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._text = 0
        self._odd = 0
        self._seen: dict[SitePlace, ColumnSeen] = defaultdict(ColumnSeen)
        self._keyed: Counter[int] = Counter()
        self._paths: dict[str, Counter[Evidence]] = defaultdict(Counter)
        self._hosts: dict[str, Counter[bool]] = defaultdict(Counter)
        self._addresses: dict[str, set[str]] = defaultdict(set)
        self._scripts: Counter[str] = Counter()
        self._shown: dict[str, str] = {}

    def add(self, line: bytes) -> None:
        """Look at one line."""
        parts = self._reader.parts(line)
        if isinstance(parts, TextLine):
            self._add_text(parts)
        elif isinstance(parts, NamedLine):
            self._add_named(parts)

    def decided(self, host: str = "", *, where: str = "") -> tuple[Decided, tuple[str, ...]]:
        """What holds for the whole log, and what a user should know of it. `host` is the site that
        is looked for. Raises UsageError where two readings are possible."""
        if self._text >= _LEAST_LINES and self._odd >= _ODD_SHARE * self._text:
            what = f"the number behind the request is no HTTP status in {self._odd:,} of {self._text:,} lines; is it the size?"
            raise UsageError(
                what, where=where, next_step="say what is what with --log-format, as log_format or LogFormat of the server has it"
            )
        notes = [*self._rewritten()]
        decided = Decided(
            site=self._site(host, where, notes),
            decoded=frozenset(key for key in self._paths if self._is_decoded(key, notes)),
            raw=frozenset(key for key, seen in self._paths.items() if seen["raw"] and seen["raw"] >= seen["decoded"]),
            clients=frozenset(key for key, seen in self._hosts.items() if self._is_client(key, seen)),
        )
        return decided, tuple(notes)

    def _add_text(self, line: TextLine) -> None:
        self._text += 1
        self._odd += line.status not in _KNOWN_STATUSES
        for place, word in site_words(line):
            self._seen[place].add(word)
        keyed = keyed_site(line)
        if keyed is not None:
            self._keyed[keyed] += 1

    def _add_named(self, line: NamedLine) -> None:
        key, evidence = path_evidence(line)
        if key and (key in self._paths or len(self._paths) < _MOST_KEYS):
            self._paths[key][evidence] += 1
            self._scripts[key] += str(line.values[key]).endswith("/index.php")
            self._shown[key] = line.layout.shown[key]
        for key in line.layout.site:
            value = line.values.get(key)
            if isinstance(value, str) and value not in {"", "-", "_"}:
                address = is_address(value)
                self._hosts[key][address] += 1
                if address and len(self._addresses[key]) <= _FEW_ADDRESSES:
                    self._addresses[key].add(value)

    def _site(self, host: str, where: str, notes: list[str]) -> SitePlace | None:
        keyed = next((column for column, count in self._keyed.most_common(1) if count >= self._text / 2), None)
        if keyed is not None:
            return SitePlace("behind", keyed)
        place = site_place(self._seen, self._text, bare_host(host))
        if place is None:
            return self._unclear(host, where)
        if place.where == "behind":
            notes.append(f"{place.words} looks like the name of a site ({_examples(self._seen[place])}): it is taken for it")
        return place

    def _unclear(self, host: str, where: str) -> SitePlace | None:
        """The column of a line that may name sites, or clients, or users."""
        place = ambiguous_column(self._seen, self._text)
        if place is None:
            return None
        seen = self._seen[place]
        if bare_host(host) in {bare_host(name) for name in seen.names}:
            return place
        who, column = ("clients", "the first column") if place.where == "front" else ("users", place.words)
        what = f"{column} holds {len(seen.names)} names ({_examples(seen)}): of sites, or of {who}?"
        other = f"give --log-format '{_COMMON_FORMAT}'"
        step = f"{host} is none of them; if they are {who} {other}" if host else f"name one with --log-host if they are sites, else {other}"
        raise UsageError(what, where=where, next_step=step)

    def _rewritten(self) -> Iterator[str]:
        """A note where a path is what nginx made of the address: its front controller in nearly all
        lines."""
        for key, seen in self._paths.items():
            if self._scripts[key] >= _NEARLY_ALL * seen.total() and seen.total() >= _LEAST_LINES:
                many = f"{self._scripts[key]:,} of {seen.total():,} lines"
                said = f"{self._shown[key]} is /index.php in {many}: servers log there what they made of an address"
                yield f"{said}; $request_uri is what visitors asked"

    def _is_client(self, key: str, seen: Counter[bool]) -> bool:
        """Whether a key named like a host holds addresses, but for a few of a server's own."""
        return not seen[False] or (seen[True] >= seen[False] and len(self._addresses[key]) > _FEW_ADDRESSES)

    def _is_decoded(self, key: str, notes: list[str]) -> bool:
        seen = self._paths[key]
        both = seen["raw"] + seen["decoded"]
        if both and min(seen["raw"], seen["decoded"]) >= max(_MIXED_SHARE * both, 3):
            notes.append(
                f"{self._shown[key]} holds a query or %XX in {seen['raw']:,} lines and what no client sends so in {seen['decoded']:,}:"
                f" read as the {'client sent it' if seen['raw'] >= seen['decoded'] else 'server decoded it'}; --log-format would settle it"
            )
        return seen["decoded"] > seen["raw"]


def _examples(seen: ColumnSeen) -> str:
    most = [name for name, _ in seen.names.most_common(3)]
    return ", ".join(most) + (", …" if len(seen.names) > len(most) else "")
