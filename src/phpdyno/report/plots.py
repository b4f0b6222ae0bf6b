"""What all plots share: layout, axes, colours, and text from outside made harmless."""

import html
import math
import textwrap
from collections.abc import Sequence
from typing import Any

from phpdyno.report.scale import ticks
from phpdyno.report.words import shortened, visible
from phpdyno.stats.change import rounded

Figure = dict[str, Any]
"""`data` and `layout`, as plotly.js takes them."""

LINE_PX = 16
NARROW, WIDE = 40, 110
"""Characters of a label's line: about 300 px, which a phone has, and 750."""
WIDE_PX = 820
"""A plot that is so wide has its labels in wide lines."""

_DENSE_DECADES = 2.2
_SPARSE_DECADES = 5.0

_MOST = 240
"""Characters of a name in a plot; the whole of it stands in the text."""


def layout(height: float, *, left: int) -> dict[str, Any]:
    """A layout without decoration, `height` px high, with `left` px for the labels of the y
    axis."""
    axis = {
        "gridcolor": "var(--grid)",
        "zeroline": False,
        "linecolor": "var(--grid)",
        "fixedrange": True,
        "tickangle": 0,
        "tickfont": {"size": 11},
    }
    return {
        "height": round(height),
        "margin": {"l": left, "r": 16, "t": 8, "b": 42},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "var(--ink)", "size": 12, "family": "system-ui, sans-serif"},
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "var(--card)", "bordercolor": "var(--muted)", "font": {"color": "var(--ink)"}},
        "xaxis": dict(axis),
        "yaxis": dict(axis),
    }


def inert(text: str) -> str:
    """Text that plotly.js shows as it is: no tags, no control characters."""
    return html.escape(visible(text), quote=False)


def wrapped(text: str, *, bold: bool = False, columns: int = NARROW) -> list[str]:
    """Inert lines of a label, by default such that a phone has room for; settings joined by `;`
    break there."""
    spaced = shortened(visible(text), _MOST).replace(";", "; ")
    lines = [
        html.escape(line, quote=False) for line in textwrap.wrap(spaced, columns, break_long_words=True, break_on_hyphens=False) or [""]
    ]
    return [f"<b>{line}</b>" for line in lines] if bold else lines


def hover(text: str) -> str:
    """Inert text for a pointer that rests on a mark."""
    return inert(shortened(text, _MOST))


def note(x: float, y: float, lines: Sequence[str], *, color: str = "var(--ink)") -> dict[str, Any]:
    """Lines of inert text whose upper left corner is at x, y of the axes."""
    where = {"x": x, "y": y, "xref": "x", "yref": "y", "xanchor": "left", "yanchor": "top", "align": "left", "borderpad": 0}
    return {**where, "text": "<br>".join(lines), "showarrow": False, "font": {"size": 12, "color": color}}


def caption(text: str) -> dict[str, Any]:
    """The title of an axis."""
    return {"text": text, "standoff": 8, "font": {"size": 11}}


def change_axis(low: float, high: float, most: int, *, less_is_better: bool) -> dict[str, Any]:
    """An axis of log ratios ("how many times better") whose ticks are round changes of what was
    measured, in percent."""
    turn = -1 if less_is_better else 1
    least, greatest = sorted((turn * low, turn * high))
    at = ticks(least, greatest, most)
    return {
        "range": [low, high],
        "tickmode": "array",
        "tickvals": [turn * math.log(each) for each in at],
        "ticktext": [rounded(each - 1) for each in at],
    }


def time_axis(times_s: Sequence[float]) -> dict[str, Any]:
    """Minutes since the start."""
    longest = max(times_s, default=0.0)
    return {"title": caption("minutes"), "range": [0, max(0.1, minutes(longest) * 1.04)], "nticks": 7}


def minutes(seconds: float) -> float:
    """Rounded to what a plot can show."""
    return round(seconds / 60, 4)


def padded(low: float, high: float) -> tuple[float, float]:
    """A range with some air."""
    pad = max(0.06 * (high - low), 1e-4)
    return low - pad, high + pad


def marks(excluded: Sequence[bool], color: str) -> dict[str, Any]:
    """Markers of points over time: filled ones, and crosses for excluded blocks."""
    return {
        "color": ["var(--muted)" if each else color for each in excluded],
        "symbol": ["x-thin-open" if each else "circle" for each in excluded],
        "size": [9 if each else 6 for each in excluded],
        "line": {"width": [2 if each else 0 for each in excluded], "color": "var(--muted)"},
        # Sizes that differ would make them see-through otherwise.
        "opacity": 1,
    }


def log_range(values: Sequence[float]) -> dict[str, Any]:
    """A range of at least a factor of two, with ticks at 1, 2, 3, 5 and 7 (fewer over decades):
    flat curves look flat, ticks are readable."""
    positive = [value for value in values if value > 0]
    if not positive:
        return {}
    middle = math.log10(min(positive) * max(positive)) / 2
    half = max(math.log10(2.2) / 2, 0.58 * math.log10(max(positive) / min(positive)))
    low, high = middle - half, middle + half
    bases = (1, 2, 3, 5, 7) if high - low <= _DENSE_DECADES else (1, 3) if high - low <= _SPARSE_DECADES else (1,)
    round_ones = [base * 10.0**power for power in range(math.floor(low), math.ceil(high) + 1) for base in bases]
    inside = [each for each in round_ones if low <= math.log10(each) <= high]
    return {"range": [low, high], "tickmode": "array", "tickvals": inside, "ticktext": [f"{each:.4g}" for each in inside]}
