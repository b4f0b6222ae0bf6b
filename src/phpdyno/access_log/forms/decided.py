"""Decides for a log as a whole what one line alone leaves open: it could be read in two ways."""

from typing import Literal

from msgspec import Struct

Where = Literal["front", "user", "behind", "router", "upstream"]


class SitePlace(Struct, frozen=True):
    """Where a line of text names its site: a column before the request, the one before the time
    (where the user's name would be), a word behind the status (both counted from 0), or the name
    of a proxy's router or upstream, which stands for the site."""

    where: Where
    column: int = 0

    @property
    def words(self) -> str:
        """The place as a reader counts it."""
        named = {
            "front": f"column {self.column + 1}",
            "user": "the column before the time",
            "behind": f"word {self.column + 1} behind the status",
            "router": "the router",
            "upstream": "the upstream",
        }
        return named[self.where]


class Decided(Struct, frozen=True):
    """Readings that hold for all lines of a log.

    `site` is where lines of text name it, None where they do not. `decoded` are keys (in small
    letters, without punctuation) that hold a path as the server decoded it, `raw` those that hold
    it as the client sent it, with its query. `clients` are keys named like a host that hold
    addresses of clients. `named` says that most lines with a place for the site name one,
    `both_schemes` that http and https are in the log.
    """

    site: SitePlace | None = None
    decoded: frozenset[str] = frozenset()
    raw: frozenset[str] = frozenset()
    clients: frozenset[str] = frozenset()
    named: bool = False
    both_schemes: bool = False


UNDECIDED = Decided()
