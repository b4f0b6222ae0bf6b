"""Operations per second of several rows as bars, each below its name."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from phpdyno.report.plots import LINE_PX, Figure, caption, hover, inert, layout, note, wrapped

COLORS = ("var(--accent)", "var(--improved)", "var(--inconclusive)", "var(--regressed)", "var(--invalid)", "var(--muted)")
_PATTERNS = ("", "/", ".")
"""Of the bars whose colour was used before."""

_BAR_PX = 14
_NARROW_PX = 9
_LEGEND_PX = 19
_GAP_PX = 12


class Speed(Struct, frozen=True):
    """One bar: what it is of, operations per second, words below its name, its colour as a CSS
    value."""

    name: str
    per_s: float
    words: str
    color: str


def speeds_of(speeds: Sequence[Speed]) -> Figure:
    """The bars from the top down on one scale from 0 on. Heights in px are the y axis."""
    notes: list[dict[str, Any]] = []
    middles: list[float] = []
    top = 0.0
    for speed in speeds:
        name, said = wrapped(speed.name, bold=True), wrapped(speed.words)
        notes += [note(0, top, name), note(0, top + LINE_PX * len(name), said, color="var(--muted)")]
        top += LINE_PX * (len(name) + len(said)) + 6
        middles.append(top + _BAR_PX / 2)
        top += _BAR_PX + _GAP_PX
    made = layout(top + 42, left=12)
    made |= {"annotations": notes, "bargap": 0}
    made["xaxis"] |= {"title": caption("operations per second"), "rangemode": "tozero", "nticks": 6}
    made["yaxis"] |= {"range": [top, 0], "visible": False}
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": middles,
        "x": [speed.per_s for speed in speeds],
        "width": _BAR_PX,
        "text": [hover(f"{speed.name}: {speed.per_s:,.0f} operations per second") for speed in speeds],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": [speed.color for speed in speeds], "line": {"width": 0}},
    }
    return {"data": [bars], "layout": made}


def grouped_speeds(speeds: Mapping[str, Mapping[str, float]], operations: Sequence[str]) -> Figure:
    """A group of bars for each operation, in it one for each name of `speeds` (operations per
    second by operation); the legend is above."""
    names = list(speeds)
    legend = _LEGEND_PX * len(names) + _GAP_PX
    made = layout(len(operations) * (_NARROW_PX * len(names) + _GAP_PX) + 42 + legend, left=96)
    made |= {"barmode": "group", "bargap": 0.12, "showlegend": True, "legend": {"orientation": "v", "x": 0, "y": 1, "yanchor": "bottom"}}
    made["margin"] |= {"t": legend}
    made["xaxis"] |= {"title": caption("operations per second"), "rangemode": "tozero", "nticks": 5}
    made["yaxis"] |= {"autorange": "reversed", "showgrid": False}
    data = []
    for number, name in enumerate(names):
        of_name = [speeds[name].get(operation) for operation in operations]
        texts = ["" if each is None else hover(f"{name}, {at}: {each:,.0f}") for at, each in zip(operations, of_name, strict=True)]
        bars = {
            "type": "bar",
            "orientation": "h",
            "name": inert(name),
            "y": [inert(operation) for operation in operations],
            "x": of_name,
            "text": texts,
            "textposition": "none",
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {
                "color": COLORS[number % len(COLORS)],
                "line": {"width": 0},
                "pattern": {"shape": _PATTERNS[number // len(COLORS) % len(_PATTERNS)]},
            },
        }
        data.append(bars)
    return {"data": data, "layout": made}
