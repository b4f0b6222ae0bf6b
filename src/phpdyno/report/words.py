"""Verdicts, numbers and scopes in words. A ratio is never said without its interval.

"95 % CI, simultaneous over 4 treatments" means: with a probability of at least 95 % all four
intervals hold their true values, at every block at which anyone looks (an anytime-valid sequence
for each, at alpha = 5 % / 4). With one treatment the addition falls away.
"""

import math

from phpdyno.model.plan import Metric, Transport, Unit

"""What the workload consists of."""

NOTHING = "–"
"""A cell without a figure."""

FEW_ANSWERS = "fewer than 100 valid answers a block: p99 would be the greatest of them"
"""Why a percentile of the service time has no figure."""

PER_SECOND: dict[Unit, str] = {"request": "req/s", "operation": "op/s"}
"""Heads of a column."""

PHP_NAME: dict[Transport, str] = {"http": "php-fpm", "fastcgi": "php-fpm", "script": "php"}
"""What the arm's PHP processes are called."""


_MOST_DECIMALS = 6
HERE = "this host, these minutes, these builds"
"""What a number holds for, beside the number; with the time where that is known."""


def metric_words(metric: Metric, unit: Unit) -> str:
    """A metric as it is said: `CPU per request`, `operations per second`."""
    return f"CPU per {unit}" if metric == "cpu" else f"{unit}s per second"


def service_words(name: str) -> str:
    """What the part of a service is called."""
    return f"service {name}"


def drained(in_flight: int, slot: int) -> str:
    """`5 %`: how many of a slot's requests are still under way when its last one is sent."""
    return percent(round(in_flight / slot, 3))


def draining(in_flight: int, slot: int) -> str:
    """The same as the end of a sentence about a slot."""
    return f"{drained(in_flight, slot)} of them end while the slot drains"


def visible(text: str) -> str:
    """Control characters (a hostile server's escape sequences, marks that turn the writing round)
    are shown instead of being obeyed."""
    return "".join(each if each.isprintable() else " " if each in "\t\r\n" else "�" for each in text)


def shortened(text: str, most: int) -> str:
    """The text, its middle left out when it is longer than `most` characters."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def count(number: int, thing: str) -> str:
    """`1 block`, `2 blocks`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def percent(fraction: float) -> str:
    """`0.05` as `5 %`, with as many digits as it takes and no more."""
    return f"{100 * fraction:.4g} %"


def milliseconds(value: float | None) -> str:
    """Three decimals or more below 10, fewer above: `109.3`, `21.11`, `1.400`, `0.0912`; `–` for
    none."""
    if value is None:
        return NOTHING
    return f"{value:.{1 if value >= 100 else 2 if value >= 10 else 3 if value >= 0.1 or value == 0 else 4}f}"


def rate(value: float | None) -> str:
    """Requests or operations per second, four digits or the whole number: `0.912`, `31.42`,
    `982.1`, `12041`; `-` when not recorded."""
    if value is None:
        return "-"
    return f"{value:.{0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 10 else 3}f}"


def duration(seconds: float) -> str:
    """`45 s`, `3 min 20 s`, `1 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def digits_for(low: float, high: float) -> int:
    """Enough to tell the ends apart by two digits, and an end apart from 1; at least what the size
    of the number deserves."""
    decimals = 3 if high < 2 else 2 if high < 10 else 1 if high < 100 else 0
    if high > low:
        decimals = max(decimals, math.ceil(-math.log10(high - low)) + 1)
    while decimals < _MOST_DECIMALS and any(end != 1 and float(f"{end:.{decimals}f}") == 1 for end in (low, high)):
        decimals += 1
    return min(decimals, _MOST_DECIMALS)
