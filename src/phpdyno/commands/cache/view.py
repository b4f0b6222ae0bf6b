"""What `phpdyno cache` says. Pure."""

from collections.abc import Iterator, Sequence

from phpdyno.commands.cache.cleaning import Cleaned
from phpdyno.commands.cache.listing import Item, Listing

HEADS = ("size", "made", "entry")
_UNITS = ("KiB", "MiB", "GiB", "TiB")
_STEP = 1024
_TWO_DIGITS = 9.95


def size(number: int) -> str:
    """Bytes as people read them: `0 B`, `512 B`, `31 MiB`, `1.2 GiB`."""
    if number < _STEP:
        return f"{number} B"
    power = min(len(_UNITS), (number.bit_length() - 1) // 10)
    value = number / _STEP**power
    return f"{value:.{0 if value >= _TWO_DIGITS else 1}f} {_UNITS[power - 1]}"


def rows(items: Sequence[Item]) -> Iterator[tuple[str, str, str, str]]:
    """Size, time (local), name, and what it is, which has a line of its own below the name."""
    for each in items:
        words = f"{each.words}; in use: {each.used_by}" if each.used_by else each.words
        yield size(each.bytes), each.made.astimezone().strftime("%Y-%m-%d %H:%M"), each.name, words


def is_empty(listing: Listing) -> bool:
    """Whether there is nothing to tell of."""
    return not listing.items and not listing.foreign


def empty_words(listing: Listing) -> str:
    """The one line for a cache that holds nothing."""
    return f"the cache is empty: {listing.place}"


def after_listing(listing: Listing, shown: Sequence[Item]) -> Iterator[str]:
    """What is said below the table."""
    yield f"{_entries(len(shown))}, {size(sum(each.bytes for each in shown))}, in {listing.place}"
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
    yield f"{_entries(len(cleaned.removed))} removed, {size(cleaned.bytes)} came free in {listing.place}"
    yield from foreign_words(listing)


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"
