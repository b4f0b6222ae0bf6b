"""What `phpdyno cache` says. Pure."""

from collections.abc import Iterator, Sequence

from phpdyno.commands.cache.cleaning import Cleaned
from phpdyno.commands.cache.listing import Item, Listing
from phpdyno.host.files.room import size_in_words

HEADS = ("size", "made", "entry")


def rows(items: Sequence[Item]) -> Iterator[tuple[str, str, str, str]]:
    """Size, time (local), name, and what it is, which has a line of its own below the name."""
    for each in items:
        words = f"{each.words}; in use: {each.used_by}" if each.used_by else each.words
        yield size_in_words(each.bytes), each.made.astimezone().strftime("%Y-%m-%d %H:%M"), each.name, words


def is_empty(listing: Listing) -> bool:
    """Whether there is nothing to tell of."""
    return not listing.items and not listing.foreign


def empty_words(listing: Listing) -> str:
    """The one line for a cache that holds nothing."""
    return f"the cache is empty: {listing.place}"


def after_listing(listing: Listing, shown: Sequence[Item]) -> Iterator[str]:
    """What is said below the table."""
    yield f"{_entries(len(shown))}, {size_in_words(sum(each.bytes for each in shown))}, in {listing.place}"
    if any(each.stays for each in shown):
        yield "preload scripts stay unless they are named: phpdyno cache --clean preload"
    yield from foreign_words(listing)


def foreign_words(listing: Listing) -> Iterator[str]:
    """What of the cache is not ours."""
    for each in listing.foreign:
        yield f"not ours, left: {each}"


def after_cleaning(listing: Listing, cleaned: Cleaned) -> Iterator[str]:
    """What a cleaning did."""
    for item in cleaned.removed:
        yield f"removed {item.name}: {item.words}"
    for each in cleaned.left:
        yield f"left {each.name}: {each.why}"
    yield f"{_entries(len(cleaned.removed))} removed, {size_in_words(cleaned.bytes)} came free in {listing.place}"
    yield from foreign_words(listing)


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"
