"""Times as access logs write them, as seconds since 1970."""

import functools
import math
from datetime import UTC, datetime, timedelta, timezone

from msgspec import Struct

_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}
_LATEST_S = 4_102_444_800.0  # the year 2100: beyond it lies junk
_MILLISECONDS_FROM = 1e11
_MOST_CHARACTERS = 64


class Stamp(Struct, frozen=True, gc=False):
    """Seconds since 1970; `fine` when fractions of a second were written."""

    seconds: float
    fine: bool = False


@functools.lru_cache(maxsize=4096)
def local_time(text: str) -> Stamp | None:
    """`21/Nov/2026:10:00:00 +0100` ($time_local); None when it is no time."""
    try:
        day, month, year = text[0:2], _MONTHS[text[3:6]], text[7:11]
        sign = {"+": 1, "-": -1}[text[21]]
        zone = timezone(sign * timedelta(hours=int(text[22:24]), minutes=int(text[24:26])))
        moment = datetime(int(year), month, int(day), int(text[12:14]), int(text[15:17]), int(text[18:20]), tzinfo=zone)
    except (ValueError, KeyError, IndexError, OverflowError):
        return None
    return _sane(moment.timestamp(), fine=False) if len(text) == 26 else None


@functools.lru_cache(maxsize=4096)
def iso_time(text: str) -> Stamp | None:
    """`2026-11-21T10:00:00+01:00` ($time_iso8601), with or without fractions; UTC when no zone is
    given; None when it is no time."""
    try:
        moment = datetime.fromisoformat(text)
        return _sane((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp(), fine="." in text)
    except (ValueError, OverflowError):
        return None


def epoch_time(value: float, *, fine: bool) -> Stamp | None:
    """Seconds ($msec), or milliseconds as some collectors write them; None when it is no time."""
    if not math.isfinite(value):
        return None
    return _sane(value / 1000, fine=True) if value >= _MILLISECONDS_FROM else _sane(value, fine=fine)


def any_time(value: object) -> Stamp | None:
    """A time in any of the three forms; None when it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str):
        if len(value) > _MOST_CHARACTERS:
            return None
        try:
            number = float(value)
        except ValueError:
            return local_time(value) or iso_time(value)
        return epoch_time(number, fine="." in value)
    try:
        return epoch_time(float(value), fine=isinstance(value, float))
    except OverflowError:
        return None


def _sane(seconds: float, *, fine: bool) -> Stamp | None:
    return Stamp(seconds, fine) if 0.0 <= seconds < _LATEST_S else None
