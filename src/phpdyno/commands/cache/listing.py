"""What the cache holds, as data: entries with their names, and which of them a person means.
Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from phpdyno.config.nearest import nearest
from phpdyno.errors import UsageError

Kind = Literal["app", "database", "build", "step", "requests", "preload", "unfinished"]
"""`step`: of making a build. `unfinished`: what was ended half-way, and what a cleaning that was
ended has left."""


class Item(Struct, frozen=True, kw_only=True):
    """An entry of the cache."""

    name: Annotated[str, Meta(description="Its path below the cache.")]
    kind: Annotated[Kind, Meta(description="What kind of thing it is.")]
    words: Annotated[str, Meta(description="What it is.")]
    bytes: Annotated[int, Meta(description="Room that it takes on the disk.")]
    made: Annotated[datetime, Meta(description="When it was made.")]
    also: Annotated[tuple[str, ...], Meta(description="Other names that it answers to; several entries may share one.")] = ()
    used_by: Annotated[str, Meta(description="Who makes or uses it now; empty where nobody does.")] = ""

    @property
    def stays(self) -> bool:
        """Whether it is removed only where it is named: something that is no phpdyno may need it,
        and nobody can tell."""
        return self.kind == "preload"


class Listing(Struct, frozen=True, kw_only=True):
    """All of the cache."""

    schema: Annotated[Literal["phpdyno.cache/1"], Meta(description="Name and version of this format.")] = "phpdyno.cache/1"
    place: Annotated[str, Meta(description="Where the cache is.")]
    items: Annotated[tuple[Item, ...], Meta(description="Its entries, the newest first.")] = ()
    bytes: Annotated[int, Meta(description="Room that they take together.")] = 0
    foreign: Annotated[tuple[str, ...], Meta(description="Paths below the cache that are not phpdyno's, which never touches them.")] = ()


def listing_of(place: str, items: Iterable[Item], foreign: Iterable[str]) -> Listing:
    """The newest first, and those that are not ours by name."""
    ordered = tuple(sorted(items, key=lambda each: (-each.made.timestamp(), each.name)))
    return Listing(place=place, items=ordered, bytes=sum(each.bytes for each in ordered), foreign=tuple(sorted(foreign)))


def chosen(listing: Listing, names: Sequence[str]) -> tuple[Item, ...]:
    """The entries that answer to these names; without names, all. Raises UsageError for a name that
    none has."""
    if not names:
        return listing.items
    known = {name for each in listing.items for name in (each.name, *each.also)}
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near}?" if near else "see what it has with: phpdyno cache"
            what = f"the cache has no entry {name!r}"
            raise UsageError(what, where="cache", next_step=hint)
    wanted = set(names)
    return tuple(each for each in listing.items if not wanted.isdisjoint((each.name, *each.also)))
