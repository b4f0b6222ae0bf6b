"""Intervals on one scale of log ratios, one strip below the other, each with its label above it.
Heights in px are the y axis."""

import math
from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct

from phpdyno.report.plots import LINE_PX, NARROW, WIDE, WIDE_PX, Figure, change_axis, hover, layout, note, padded, wrapped
from phpdyno.report.scale import Ends, reach

_STRIP_PX = 20
_GAP_PX = 14


class Spanned(Protocol):
    """Whatever has a ratio with an interval; nones without one."""

    @property
    def ratio(self) -> float | None:
        """The estimate."""

    @property
    def low(self) -> float | None:
        """Lower end."""

    @property
    def high(self) -> float | None:
        """Upper end."""


class Strip(Struct, frozen=True):
    """One line of such a plot: its name and what is said of it, its interval, its single blocks
    (log ratios), a colour, and a text for the pointer where that is another.

    `aa`: it compares the control with itself.
    """

    name: str
    words: str
    span: Spanned
    margin: float
    dots: tuple[tuple[float, str], ...]
    color: str
    said: str = ""
    aa: bool = False


def strips_of(held: Sequence[Strip], *, less_is_better: bool = True) -> Figure:
    """The plot, better to the right; its scale is the change of what was measured. What lies beyond
    the scale becomes an arrow at its edge. `wide` is the same for an element with more room."""
    narrow, wide = (_drawn(held, columns, less_is_better=less_is_better) for columns in (NARROW, WIDE))
    return {**narrow, "wide": {"from": WIDE_PX, **wide}}


def _drawn(held: Sequence[Strip], columns: int, *, less_is_better: bool) -> Figure:
    low, high = _range(held)
    data: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    top = 0.0
    for each in held:
        lines = (*wrapped(each.name, bold=True, columns=columns), *wrapped(each.words, columns=columns))
        notes.append(note(low, top, lines))
        begins = top + LINE_PX * len(lines) + 4
        at = begins + _STRIP_PX / 2
        shapes += _background(each, begins, low, high)
        data += _dots(each, at, low, high) + _interval(each, at, low, high)
        top = begins + _STRIP_PX + _GAP_PX
    made = layout(top + 44, left=12)
    made |= {"shapes": shapes, "annotations": notes}
    made["xaxis"] |= change_axis(low, high, most=6, less_is_better=less_is_better) | {
        "showgrid": False,
        "ticks": "outside",
        "tickcolor": "var(--grid)",
    }
    made["yaxis"] |= {"range": [top, 0], "visible": False}
    return {"data": data, "layout": made}


def _background(strip: Strip, top: float, low: float, high: float) -> list[dict[str, Any]]:
    """The whole scale, the margin, no effect. Labels stand between the strips, so that nothing
    covers them."""
    bound = math.log1p(strip.margin)
    place: dict[str, Any] = {"xref": "x", "yref": "y", "y0": top, "y1": top + _STRIP_PX, "layer": "below"}
    background = {**place, "type": "rect", "line": {"width": 0}}
    return [
        {**background, "x0": low, "x1": high, "fillcolor": "var(--strip)"},
        {**background, "x0": max(low, -bound), "x1": min(high, bound), "fillcolor": "var(--band)"},
        {**place, "type": "line", "x0": 0, "x1": 0, "line": {"color": "var(--muted)", "width": 1}},
    ]


def _interval(strip: Strip, at: float, low: float, high: float) -> list[dict[str, Any]]:
    span, color = strip.span, strip.color
    ends = _ends(strip)
    if ends is None:
        return []
    base = {"type": "scatter", "text": [hover(strip.said or f"{strip.name}: {strip.words}")], "hovertemplate": "%{text}<extra></extra>"}
    if ends[1] < low or ends[0] > high:
        left = ends[1] < low
        arrow = {"symbol": "triangle-left" if left else "triangle-right", "size": 13, "color": color}
        return [{**base, "mode": "markers", "x": [low if left else high], "y": [at], "marker": arrow, "cliponaxis": False}]
    if span.ratio is None:
        return []
    line = {"type": "scatter", "mode": "lines", "x": list(ends), "y": [at, at], "line": {"color": color, "width": 4}, "hoverinfo": "skip"}
    marker: dict[str, Any] = {"symbol": "diamond", "size": 11, "color": color, "line": {"color": "var(--card)", "width": 1}}
    return [line, {**base, "mode": "markers", "x": [math.log(span.ratio)], "y": [at], "marker": marker}]


def _dots(strip: Strip, at: float, low: float, high: float) -> list[dict[str, Any]]:
    mine = [(value, said) for value, said in strip.dots if low <= value <= high]
    if not mine:
        return []
    # Without an interval the single blocks are all there is to see.
    marker = {"color": strip.color, "size": 5, "opacity": 0.25 if strip.span.ratio is not None else 0.8}
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [value for value, _ in mine],
            "y": [at] * len(mine),
            "text": [hover(said) for _, said in mine],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": marker,
        }
    ]


def _ends(strip: Strip) -> tuple[float, float] | None:
    """Log ratios from where to where a strip has something to show: its interval, or without one
    its blocks."""
    if strip.span.low is not None and strip.span.high is not None:
        return math.log(strip.span.low), math.log(strip.span.high)
    values = [value for value, _ in strip.dots]
    return (min(values), max(values)) if values else None


def _range(held: Sequence[Strip]) -> tuple[float, float]:
    """Range in log ratios: the intervals within reach, the margins, and the blocks unless they lie
    far out."""
    ends = [_ends(strip) for strip in held]
    spans: dict[bool, list[Ends]] = {True: [], False: []}
    for strip, each in zip(held, ends, strict=True):
        spans[strip.aa].append((math.exp(each[0]) if each else None, math.exp(each[1]) if each else None, strip.margin))
    limit = reach(spans[False], spans[True])
    bound = max((math.log1p(strip.margin) for strip in held), default=0.0)
    near = [end for each in ends if each is not None for end in each if abs(end) <= limit]
    dots = [value for strip in held for value, _ in strip.dots if abs(value) <= 1.5 * limit]
    return padded(min([-bound, *near, *dots]), max([bound, *near, *dots]))
