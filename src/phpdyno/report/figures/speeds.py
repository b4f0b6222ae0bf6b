"""Operations per second of several rows as bars, each below its name."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from phpdyno.report.figures.base import LINE_PX, Figure, caption, hover, layout, note, wrapped

_BAR_PX = 14
_GAP_PX = 12


class Speed(Struct, frozen=True):
    """One bar: what it is of, operations per second, words below its name, its colour as a CSS value."""

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
