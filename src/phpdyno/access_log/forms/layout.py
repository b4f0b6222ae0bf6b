"""The names that lines of one kind have, looked up once for all of them."""

import functools
from collections.abc import Sequence

from msgspec import Struct

from phpdyno.access_log.forms import names

MOST_NAME = 64
"""Characters of the longest name that is looked at: none of those known is nearly so long."""
_MOST_CACHED = 4096


class Layout(Struct, frozen=True):
    """Names of a line in their order: `plains` as the tables have them ('' for one to pass over),
    `shown` by them as the log has each. The other fields are the names of one meaning that are
    there, the best first."""

    plains: tuple[str, ...]
    shown: dict[str, str]
    request: tuple[str, ...]
    target: tuple[str, ...]
    path: tuple[str, ...]
    query: tuple[str, ...]
    method: tuple[str, ...]
    status: tuple[str, ...]
    site: tuple[str, ...]
    scheme: tuple[str, ...]
    port: tuple[str, ...]
    time: tuple[str, ...]
    upstream: tuple[str, ...]
    cache: tuple[str, ...]


def layout_of(written: Sequence[str], plains: Sequence[str] = ()) -> Layout:
    """The layout of names as a log has them; `plains` where these are not to be told from them."""
    if sum(map(len, written)) > _MOST_CACHED:
        return _layout(tuple(written), tuple(plains))
    return _known(tuple(written), tuple(plains))


@functools.lru_cache(maxsize=512)
def _known(written: tuple[str, ...], plains: tuple[str, ...]) -> Layout:
    return _layout(written, plains)


def _layout(written: tuple[str, ...], plains: tuple[str, ...]) -> Layout:
    shown: dict[str, str] = {}
    kept = []
    for name, given in zip(written, plains or [""] * len(written), strict=True):
        plain = given or (names.plain_name(name) if len(name) <= MOST_NAME else "")
        kept.append("" if plain in shown else plain)
        if plain:
            shown.setdefault(plain, name)

    def there(known: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in known if name in shown)

    return Layout(
        plains=tuple(kept),
        shown=shown,
        request=there(names.REQUEST),
        target=there(names.TARGET),
        path=there(names.PATH),
        query=there(names.QUERY),
        method=there(names.METHOD),
        status=there(names.STATUS),
        site=there(names.SITE),
        scheme=there(names.SCHEME),
        port=there(names.PORT),
        time=there(names.TIME),
        upstream=there(names.UPSTREAM),
        cache=there(names.CACHE),
    )
