"""`phpdyno cache`: listed or cleaned, and printed."""

import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from phpdyno.commands.cache import view
from phpdyno.commands.cache.cleaning import clean as clean_cache
from phpdyno.commands.cache.listing import Item, chosen, listing_of
from phpdyno.commands.cache.looking import look_at_cache
from phpdyno.commands.common.live import print_line
from phpdyno.errors import DynoError
from phpdyno.host.lock import MeasuringLock
from phpdyno.paths import cache_path
from phpdyno.report.terminal_parts import inert

EXIT_LEFT = 1


def run(names: Sequence[str], *, clean: bool = False, json: bool = False) -> int:
    """List, or clean: 1 where something that was named is not removed, or something cannot be.

    Raises UsageError for a name that no entry has, DynoError.
    """
    listing = look_at_cache(cache_path())
    shown = chosen(listing, names)
    if clean and (json or not view.is_empty(listing)):
        return _clean(names, json=json)
    if json:
        _document(listing_of(listing.place, shown, listing.foreign))
    elif view.is_empty(listing):
        _lines([view.empty_words(listing)])
    else:
        _table(shown)
        _lines(view.after_listing(listing, shown))
    return 0


def _clean(names: Sequence[str], *, json: bool) -> int:
    """While another phpdyno measures nothing is removed: it may copy from the cache at any
    moment."""
    with ExitStack() as held:
        try:
            held.enter_context(MeasuringLock())
        except DynoError as error:
            what = "another phpdyno is at work on this host and may need any of it"
            raise DynoError(what, where=str(cache_path()), next_step="wait until it has ended") from error
        listing = look_at_cache(cache_path())
        cleaned = clean_cache(cache_path(), chosen(listing, names), named=bool(names))
    if json:
        _document(cleaned)
    else:
        _lines(view.after_cleaning(listing, cleaned))
    return EXIT_LEFT if any(names or each.failed for each in cleaned.left) else 0


def _table(items: Sequence[Item]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in view.HEADS:
        table.add_column(name, overflow="fold")
    for size, made, name, words in view.rows(items):
        table.add_row(size, made, Text("\n").join((inert(name), inert(words, "dim"))))
    Console().print(table)


def _lines(lines: Iterable[str]) -> None:
    console = Console()
    for line in lines:
        print_line(console, line)


def _document(found: msgspec.Struct) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n")
