"""Which column of a log's lines names the site, told by what the columns hold."""

from collections import Counter
from collections.abc import Mapping

from phpdyno.access_log.forms.decided import SitePlace
from phpdyno.access_log.hosts import Kind, bare_host, kind_of, port_of

_MOST_NAMES = 1000
_FEW = 20
_FEW_ADDRESSES = 5
_LINES_A_NAME = 3
"""Sites have more lines than this each; clients by their names have few."""
_MOST = 0.9
_HALF = 0.5


class ColumnSeen:
    """What one column held so far."""

    def __init__(self) -> None:
        self.kinds: Counter[Kind] = Counter()
        self.names: Counter[str] = Counter()
        self.addresses: set[str] = set()
        self.ports = 0

    def add(self, word: str) -> None:
        """Count the word that one line has in this column."""
        kind = kind_of(word)
        self.kinds[kind] += 1
        if kind == "address" and len(self.addresses) <= _FEW:
            self.addresses.add(word)
        if kind in {"site", "word"} or "@" in word:
            self.ports += port_of(word) is not None
            name = bare_host(word)
            if name in self.names or len(self.names) < _MOST_NAMES:
                self.names[name] += 1

    def share(self, lines: int, *kinds: Kind) -> float:
        """Share of all lines that hold one of these kinds here."""
        return sum(self.kinds[kind] for kind in kinds) / lines if lines else 0.0

    @property
    def of_servers(self) -> bool:
        """Whether its addresses are so few that they are a server's own, asked for by address."""
        return bool(self.kinds["site"]) and len(self.addresses) <= _FEW_ADDRESSES and self.kinds["address"] > 2 * len(self.addresses)

    @property
    def like_sites(self) -> bool:
        """Whether the names come often enough to be those of sites."""
        return len(self.names) <= _FEW or self.names.total() >= _LINES_A_NAME * len(self.names)


def site_place(seen: Mapping[SitePlace, ColumnSeen], lines: int, host: str) -> SitePlace | None:
    """Where lines name their site; None where no place does. A place that holds `host` is taken
    first."""
    found = [*_front(seen, lines), *_behind(seen, lines), *_proxied(seen, lines)]
    holding = [place for place in found if host and host in seen[place].names]
    return next(iter(holding or found), None)


def ambiguous_column(seen: Mapping[SitePlace, ColumnSeen], lines: int) -> SitePlace | None:
    """A column that holds a few names in all lines: the first where no address is in front, of
    sites or of clients; else the one before the time, of sites or of users."""
    first, user = SitePlace("front", 0), SitePlace("user")
    if first in seen and not _addressed(seen, lines) and not seen[first].kinds["address"]:
        return first if _all_names(seen[first], lines, "site", "word") else None
    return user if user in seen and _all_names(seen[user], lines, "site") else None


def _all_names(held: ColumnSeen, lines: int, *kinds: Kind) -> bool:
    return held.share(lines, *kinds) >= _MOST and len(held.names) > 1 and held.like_sites


def _addressed(seen: Mapping[SitePlace, ColumnSeen], lines: int) -> list[int]:
    """Columns in front that mostly hold addresses."""
    return [
        place.column
        for place, held in seen.items()
        if place.where == "front" and held.share(lines, "address") >= _HALF and not held.of_servers
    ]


def _front(seen: Mapping[SitePlace, ColumnSeen], lines: int) -> list[SitePlace]:
    """Columns of names beside one of addresses, those with ports first."""
    addresses = _addressed(seen, lines)
    if not addresses:
        first = SitePlace("front", 0)
        return [first] if first in seen and seen[first].ports >= _HALF * lines and lines and seen[first].names else []
    columns = sorted((place for place in seen if place.where == "front" and place.column not in addresses), key=lambda place: place.column)
    named = [place for place in columns if _share_of_named(seen[place]) >= _HALF and seen[place].like_sites]
    words = [
        place
        for place in columns
        if place.column + 1 in addresses and seen[place].share(lines, "site", "word") >= _MOST and len(seen[place].names) > 1
    ]
    named.sort(key=lambda place: (seen[place].ports < _HALF * lines, place.column))
    return named + [place for place in words if place not in named and seen[place].like_sites]


def _share_of_named(held: ColumnSeen) -> float:
    told = held.kinds.total() - held.kinds["none"] - (held.kinds["address"] if held.of_servers else 0)
    return held.kinds["site"] / told if told else 0.0


def _behind(seen: Mapping[SitePlace, ColumnSeen], lines: int) -> list[SitePlace]:
    columns = sorted((place for place in seen if place.where == "behind"), key=lambda place: place.column)
    return [
        place
        for place in columns
        if seen[place].share(lines, "site") >= _HALF and _share_of_named(seen[place]) >= _HALF and seen[place].like_sites
    ]


def _proxied(seen: Mapping[SitePlace, ColumnSeen], lines: int) -> list[SitePlace]:
    """A router or upstream of a proxy, where there are several: each is an app of its own."""
    places = [SitePlace("router"), SitePlace("upstream")]
    return [place for place in places if place in seen and seen[place].kinds.total() >= _HALF * lines and len(seen[place].names) > 1]
