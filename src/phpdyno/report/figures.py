"""The plots of the page as plotly figures: plain data, drawn by plotly.js in the reader's browser. Pure.

Colours are names of CSS variables (`var(--ink)`), which the page replaces, so that a figure is right in dark and in light. Text from
outside is escaped here, because plotly.js reads a few HTML tags in its labels.
"""

import html
import math
import textwrap
from collections.abc import Sequence
from typing import Any

from phpdyno.report.forest import reach, ticks
from phpdyno.report.shape import BlockPoint, Row, RunView
from phpdyno.report.words import change, finding, interval, label, middle

Figure = dict[str, Any]
"""`data` and `layout`, as plotly.js takes them."""

_LINE_PX = 16
_STRIP_PX = 20
_GAP_PX = 14
_WRAP = 40
"""Characters of a label's line: about 300 px, which a phone has."""


_EXCLUDED: dict[str, Any] = {"color": "var(--muted)", "size": 9, "symbol": "x-thin-open", "line": {"width": 2}}


def forest(view: RunView) -> Figure:
    """All effects with their intervals on one scale, A/A arms first, the single blocks as dots. Heights in px are the y axis."""
    rows = sorted(view.rows, key=lambda row: not row.is_aa)
    low, high = _span(view, rows)
    data: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    top = 0.0
    for row in rows:
        lines = _label(row)
        notes.append(_note(low, top, "<br>".join(lines)))
        strip = top + _LINE_PX * len(lines) + 4
        at = strip + _STRIP_PX / 2
        shapes += _strip(row, strip, low, high)
        data += _dots(view.blocks, row, at, low, high) + _interval(row, at, low, high)
        top = strip + _STRIP_PX + _GAP_PX
    layout = _layout(top + 44, left=12)
    layout |= {"shapes": shapes, "annotations": notes}
    layout["xaxis"] |= _ratio_axis(low, high, most=6) | {"showgrid": False, "ticks": "outside", "tickcolor": "var(--grid)"}
    layout["yaxis"] |= {"range": [top, 0], "visible": False}
    return {"data": data, "layout": layout}


def blocks_over_time(view: RunView, row: Row) -> Figure:
    """One treatment's blocks over time on its own scale, with the effect and its interval where there is one."""
    mine = [point for point in view.blocks if point.treatment == row.name]
    values = [point.log_ratio for point in mine] + [math.log(end) for end in (row.low, row.high) if end is not None]
    low, high = _padded(min(values), max(values)) if values else (-0.1, 0.1)
    layout = _layout(170, left=62)
    layout["shapes"] = _effect_shapes(row, low, high)
    layout["xaxis"] |= _time_axis([point.at_s for point in mine])
    layout["yaxis"] |= _ratio_axis(low, high, most=5)
    counted = [point for point in mine if not point.excluded]
    left_out = [point for point in mine if point.excluded]
    data = [
        _points(counted, {"color": _color(row), "size": 7}),
        _points(left_out, {"color": "var(--muted)", "size": 8, "symbol": "x-thin-open"}),
    ]
    return {"data": data, "layout": layout}


def control_over_time(view: RunView) -> Figure:
    """What the control cost from block to block: the machine's own movement."""
    points = view.control_costs
    layout = _layout(230, left=62)
    layout["xaxis"] |= _time_axis([point.at_s for point in points])
    layout["yaxis"] |= {"title": {"text": "ms per request", "font": {"size": 11}}, "nticks": 6}
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [_minutes(point.at_s) for point in points],
        "y": [point.php_cpu_ms_per_request for point in points],
        "text": [f"block {point.block + 1}{', excluded' if point.excluded else ''}" for point in points],
        "hovertemplate": "%{text}: %{y:.4g} ms<extra></extra>",
        "line": {"color": "var(--muted)", "width": 1},
        "marker": {
            "color": ["var(--muted)" if point.excluded else "var(--accent)" for point in points],
            "symbol": [_EXCLUDED["symbol"] if point.excluded else "circle" for point in points],
            "size": [9 if point.excluded else 6 for point in points],
            "line": {"width": [2 if point.excluded else 0 for point in points]},
        },
    }
    return {"data": [trace], "layout": layout}


def _label(row: Row) -> list[str]:
    name = [f"<b>{html.escape(line, quote=False)}</b>" for line in _wrapped(label(row))]
    if row.kind == "invalid":
        said = "no number: invalid"
    elif row.ratio is None:
        said = f"{finding(row)}: {row.kind}"
    else:
        said = f"{change(row) or middle(row) + '×'} ({interval(row)}): {row.kind}"
    return name + [html.escape(line, quote=False) for line in _wrapped(said)]


def _wrapped(text: str) -> list[str]:
    """Lines of at most `_WRAP` characters; settings joined by `;` break there."""
    spaced = text.replace(";", "; ")
    return textwrap.wrap(spaced, _WRAP, break_long_words=True, break_on_hyphens=False) or [""]


def _note(x: float, y: float, text: str) -> dict[str, Any]:
    where = {"x": x, "y": y, "xref": "x", "yref": "y", "xanchor": "left", "yanchor": "top", "align": "left", "borderpad": 0}
    return {**where, "text": text, "showarrow": False, "font": {"size": 12, "color": "var(--ink)"}}


def _strip(row: Row, top: float, low: float, high: float) -> list[dict[str, Any]]:
    """Ground of one row: the whole scale, the margin, no effect. Labels stand between the strips, so that nothing covers them."""
    bound = math.log1p(row.margin)
    place: dict[str, Any] = {"xref": "x", "yref": "y", "y0": top, "y1": top + _STRIP_PX, "layer": "below"}
    ground = {**place, "type": "rect", "line": {"width": 0}}
    return [
        {**ground, "x0": low, "x1": high, "fillcolor": "var(--strip)"},
        {**ground, "x0": max(low, -bound), "x1": min(high, bound), "fillcolor": "var(--band)"},
        {**place, "type": "line", "x0": 0, "x1": 0, "line": {"color": "var(--muted)", "width": 1}},
    ]


def _interval(row: Row, at: float, low: float, high: float) -> list[dict[str, Any]]:
    if row.ratio is None or row.low is None or row.high is None:
        return []
    ends = math.log(row.low), math.log(row.high)
    color = _color(row)
    said = html.escape(f"{label(row)}: {finding(row)}", quote=False)
    base = {"type": "scatter", "text": [said], "hovertemplate": "%{text}<extra></extra>"}
    if ends[1] < low or ends[0] > high:
        left = ends[1] < low
        arrow = {"symbol": "triangle-left" if left else "triangle-right", "size": 13, "color": color}
        return [{**base, "mode": "markers", "x": [low if left else high], "y": [at], "marker": arrow, "cliponaxis": False}]
    line = {"type": "scatter", "mode": "lines", "x": list(ends), "y": [at, at], "line": {"color": color, "width": 4}, "hoverinfo": "skip"}
    marker: dict[str, Any] = {"symbol": "diamond", "size": 11, "color": color, "line": {"color": "var(--card)", "width": 1}}
    return [line, {**base, "mode": "markers", "x": [math.log(row.ratio)], "y": [at], "marker": marker}]


def _dots(points: Sequence[BlockPoint], row: Row, at: float, low: float, high: float) -> list[dict[str, Any]]:
    mine = [point for point in points if point.treatment == row.name and not point.excluded and low <= point.log_ratio <= high]
    if not mine:
        return []
    trace = _points(mine, {"color": _color(row), "size": 5, "opacity": 0.25})
    return [{**trace, "x": [point.log_ratio for point in mine], "y": [at] * len(mine)}]


def _points(points: Sequence[BlockPoint], marker: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [_minutes(point.at_s) for point in points],
        "y": [point.log_ratio for point in points],
        "text": [_hover(point) for point in points],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": marker,
    }


def _hover(point: BlockPoint) -> str:
    left_out = f"<br>excluded: {html.escape(point.excluded, quote=False)}" if point.excluded else ""
    ratio, steal = math.exp(point.log_ratio), 100 * point.steal_fraction
    return f"block {point.block + 1}: {ratio:.4g}×, {point.pairs} pairs, steal {steal:.2g} %{left_out}"


def _effect_shapes(row: Row, low: float, high: float) -> list[dict[str, Any]]:
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "layer": "below"}
    shapes = [{**line, "y0": 0, "y1": 0, "line": {"color": "var(--muted)", "width": 1}}] if low <= 0 <= high else []
    if row.ratio is not None and row.low is not None and row.high is not None:
        ends = {"y0": math.log(row.low), "y1": math.log(row.high)}
        mean = math.log(row.ratio)
        shapes += [
            {**line, **ends, "type": "rect", "fillcolor": _color(row), "opacity": 0.18, "line": {"width": 0}},
            {**line, "y0": mean, "y1": mean, "line": {"color": _color(row), "width": 1.5}},
        ]
    return shapes


def _span(view: RunView, rows: Sequence[Row]) -> tuple[float, float]:
    """Range of the forest in log ratios: the intervals within reach, the margin, and the blocks unless they lie far out."""
    limit = reach(rows)
    bound = math.log1p(view.margin)
    ends = [math.log(end) for row in rows for end in (row.low, row.high) if end is not None]
    near = [end for end in ends if abs(end) <= limit]
    dots = [point.log_ratio for point in view.blocks if not point.excluded and abs(point.log_ratio) <= 1.5 * limit]
    return _padded(min([-bound, *near, *dots]), max([bound, *near, *dots]))


def _padded(low: float, high: float) -> tuple[float, float]:
    pad = max(0.06 * (high - low), 1e-4)
    return low - pad, high + pad


def _ratio_axis(low: float, high: float, most: int) -> dict[str, Any]:
    at = ticks(low, high, most)
    return {
        "range": [low, high],
        "tickmode": "array",
        "tickvals": [math.log(each) for each in at],
        "ticktext": [f"{each:g}×" for each in at],
    }


def _time_axis(times_s: Sequence[float]) -> dict[str, Any]:
    longest = max(times_s, default=0.0)
    return {
        "title": {"text": "minutes", "standoff": 8, "font": {"size": 11}},
        "range": [0, max(0.1, _minutes(longest) * 1.04)],
        "nticks": 7,
    }


def _minutes(seconds: float) -> float:
    return round(seconds / 60, 4)


def _layout(height: float, *, left: int) -> dict[str, Any]:
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


def _color(row: Row) -> str:
    return f"var(--{row.kind})"
