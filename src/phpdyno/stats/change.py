"""A ratio as the percent that people speak in. A percentage is never said without its interval,
or that there is none yet.

Ratios come as "how many times better": control / treatment where less is better (CPU, memory,
times), treatment / control where more is (requests per second).
"""

import math

from msgspec import Struct

MINUS = "−"
MOST_DECIMALS = 4


class Percent(Struct, frozen=True):
    """A change as a fraction, with the ends of its interval; negative where it became less."""

    value: float
    low: float | None
    high: float | None

    @property
    def decided(self) -> bool:
        """Whether its interval leaves out zero."""
        return self.low is not None and self.high is not None and not self.low <= 0.0 <= self.high


def change_of(value: float, low: float | None, high: float | None, *, less_is_better: bool) -> Percent:
    """The change of the measured quantity that a ratio says."""
    if not less_is_better:
        return Percent(value - 1, None if low is None else low - 1, None if high is None else high - 1)
    return Percent(1 / value - 1, None if high is None else 1 / high - 1, None if low is None else 1 / low - 1)


def signed(percent: Percent | None) -> str:
    """`−7.4 % (−8.7 to −6.1)`; `–` for none, and words where there is no interval yet."""
    if percent is None:
        return "–"
    if percent.low is None or percent.high is None:
        return "no interval yet"
    value, ends = apart(percent)
    return f"{value} ({ends})"


def apart(percent: Percent) -> tuple[str, str]:
    """`−7.4 %` and `−8.7 to −6.1`; words in the place of the ends where there is no interval."""
    if percent.low is None or percent.high is None:
        return one(percent.value), "no interval yet"
    digits = _digits(percent)
    return f"{_number(percent.value, digits)} %", f"{_number(percent.low, digits)} to {_number(percent.high, digits)}"


def one(fraction: float) -> str:
    """`−7.4 %`: a change that is one observation, without an interval."""
    return f"{_number(fraction, _decimals(fraction))} %"


def rounded(fraction: float) -> str:
    """`−2.5 %`, with as many digits as a round number takes."""
    sign = MINUS if fraction < 0 else "+" if fraction > 0 else ""
    return f"{sign}{100 * abs(fraction):.4g} %"


def said(percent: Percent, less: str, more: str, confidence: str, beside: str = "") -> str:
    """`7.4 % less CPU per request (95 % CI 2.6 to 12 %)`; where zero lies between the ends:
    `0.4 % less CPU per request (95 % CI 3.3 % more to 4.0 % less)`. `beside` stands behind the
    interval, within the parentheses."""
    if percent.low is None or percent.high is None:
        return f"no interval yet ({less} or {more})"
    digits = _digits(percent)
    value, low, high = (_plain(abs(each), digits) for each in (percent.value, percent.low, percent.high))
    fewer, further = less.partition(" ")[0], more.partition(" ")[0]
    if not percent.low < 0.0 < percent.high:
        ends = f"{low} to {high} %" if abs(percent.low) <= abs(percent.high) else f"{high} to {low} %"
    # The end on the other side comes first.
    elif percent.value < 0:
        ends = f"{high} % {further} to {low} % {fewer}"
    else:
        ends = f"{low} % {fewer} to {high} % {further}"
    return f"{value} % {less if percent.value < 0 else more} ({confidence} CI {ends}{beside})"


def within(percents: list[Percent]) -> str:
    """`±2.1 %`: the bound of all intervals together; '' where one has none."""
    ends = [end for each in percents for end in (each.low, each.high)]
    known = [abs(end) for end in ends if end is not None]
    if not known or len(known) < len(ends):
        return ""
    # A bound is never rounded down.
    digits = _decimals(max(known))
    return f"±{math.ceil(round(100 * max(known) * 10**digits, 6)) / 10**digits:.{digits}f} %"


def _number(fraction: float, digits: int) -> str:
    text = _plain(abs(fraction), digits)
    sign = "" if float(text) == 0 else MINUS if fraction < 0 else "+"
    return f"{sign}{text}"


def _plain(fraction: float, digits: int) -> str:
    text = f"{100 * abs(fraction):.{digits}f}"
    return f"{MINUS}{text}" if fraction < 0 and float(text) else text


def _digits(percent: Percent) -> int:
    """One decimal below twenty percent, none above; more where the interval is narrower than
    that, or where an end that is not zero would look like it."""
    ends = [each for each in (percent.low, percent.high) if each is not None]
    width = max(ends) - min(ends)
    digits = _decimals(max(abs(percent.value), *map(abs, ends)))
    if width > 0:
        digits = max(digits, math.ceil(-math.log10(100 * width)) + 1)
    while digits < MOST_DECIMALS and any(end != 0 and float(f"{100 * end:.{digits}f}") == 0 for end in ends):
        digits += 1
    return min(digits, MOST_DECIMALS)


def _decimals(fraction: float) -> int:
    return 1 if 100 * abs(fraction) < 20 else 0
