"""What moved while measuring: each treatment's blocks, the control's own cost, steal and the
generator's lag."""

import math
from collections.abc import Sequence
from typing import Any

from phpdyno.commands.compare.view.measuring import BlockPoint, NoisePoint
from phpdyno.commands.compare.view.shape import Row, RunView
from phpdyno.commands.compare.view.words import block_change
from phpdyno.model.plan import Metric
from phpdyno.report.plots import Figure, caption, change_axis, hover, layout, marks, minutes, padded, time_axis
from phpdyno.report.words import metric_words
from phpdyno.stats.change import one

_LIMIT_IN_SIGHT = 3.0
"""A limit further than this many times above the worst block would flatten the plot: then only the
text names it."""

_LEAST_PERCENT = 0.1


def blocks_over_time(view: RunView, row: Row) -> Figure:
    """One treatment's blocks over time on its own scale, with the effect and its interval where
    there is one."""
    mine = [point for point in view.blocks if point.treatment == row.name]
    values = [point.log_ratio for point in mine] + [math.log(end) for end in (row.low, row.high) if end is not None]
    low, high = padded(min(values), max(values)) if values else (-0.1, 0.1)
    made = layout(170, left=62)
    made["shapes"] = _effect_shapes(row, low, high)
    made["xaxis"] |= time_axis([point.at_s for point in mine])
    made["yaxis"] |= change_axis(low, high, most=5, less_is_better=row.metric == "cpu")
    counted = [point for point in mine if not point.excluded]
    left_out = [point for point in mine if point.excluded]
    data = [
        _points(counted, row.metric, {"color": color_of(row), "size": 7}),
        _points(left_out, row.metric, {"color": "var(--muted)", "size": 8, "symbol": "x-thin-open"}),
    ]
    return {"data": data, "layout": made}


def control_over_time(view: RunView, metric: Metric) -> Figure:
    """What the control cost (or answered per second) from block to block: the machine's own
    movement."""
    points = [point for point in view.control_costs if point.metric == metric]
    values = [point.php_cpu_ms_per_request if metric == "cpu" else point.requests_per_s for point in points]
    unit = "ms" if metric == "cpu" else "/s"
    made = layout(230, left=62)
    made["xaxis"] |= time_axis([point.at_s for point in points])
    made["yaxis"] |= {"title": caption(f"ms per {view.unit}" if metric == "cpu" else metric_words(metric, view.unit)), "nticks": 6}
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [minutes(point.at_s) for point in points],
        "y": values,
        "text": [f"block {point.block + 1}{', excluded' if point.excluded else ''}" for point in points],
        "hovertemplate": f"%{{text}}: %{{y:.4g}} {unit}<extra></extra>",
        "line": {"color": "var(--muted)", "width": 1},
        "marker": marks([point.excluded for point in points], "var(--accent)"),
    }
    return {"data": [trace], "layout": made}


def steal_over_time(view: RunView) -> Figure:
    """The share of each block that the hypervisor took."""
    return _covariate(view.noise, [point.steal_fraction for point in view.noise], view.max_steal, "steal, %")


def lag_over_time(view: RunView) -> Figure:
    """The share of the driving in which the generator kept the server waiting."""
    known = [point for point in view.noise if point.lag_fraction is not None]
    limit = view.max_lag if any(point.metric == "throughput" for point in known) else view.max_lag_of_cpu
    return _covariate(known, [point.lag_fraction or 0.0 for point in known], limit, "generator late, %")


def said_of(point: BlockPoint, metric: Metric) -> str:
    """One block in words, for the pointer."""
    left_out = f"; excluded: {point.excluded}" if point.excluded else ""
    steal = 100 * point.steal_fraction
    return f"block {point.block + 1}: {one(block_change(point.log_ratio, metric))}, {point.pairs} pairs, steal {steal:.2g} %{left_out}"


def _covariate(points: Sequence[NoisePoint], fractions: Sequence[float], limit: float, unit: str) -> Figure:
    worst = max(fractions, default=0.0)
    in_sight = limit <= _LIMIT_IN_SIGHT * worst
    top = 1.15 * max(100 * worst, _LEAST_PERCENT, 100 * limit if in_sight else 0.0)
    made = layout(170, left=62)
    made["xaxis"] |= time_axis([point.at_s for point in points])
    # A little below 0, so that marks at 0 are whole.
    made["yaxis"] |= {"title": caption(unit), "range": [-0.06 * top, top], "nticks": 5}
    if in_sight:
        line = {"color": "var(--regressed)", "width": 1.5, "dash": "dash"}
        made["shapes"] = [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 100 * limit, "y1": 100 * limit, "line": line}]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [minutes(point.at_s) for point in points],
        "y": [100 * fraction for fraction in fractions],
        "text": [f"block {point.block + 1}{', excluded' if point.excluded else ''}" for point in points],
        "hovertemplate": "%{text}: %{y:.3g} %<extra></extra>",
        "marker": marks([point.excluded for point in points], "var(--accent)"),
    }
    return {"data": [trace], "layout": made}


def _points(points: Sequence[BlockPoint], metric: Metric, marker: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [minutes(point.at_s) for point in points],
        "y": [point.log_ratio for point in points],
        "text": [hover(said_of(point, metric)) for point in points],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": marker,
    }


def _effect_shapes(row: Row, low: float, high: float) -> list[dict[str, Any]]:
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "layer": "below"}
    shapes = [{**line, "y0": 0, "y1": 0, "line": {"color": "var(--muted)", "width": 1}}] if low <= 0 <= high else []
    if row.ratio is not None and row.low is not None and row.high is not None:
        ends = {"y0": math.log(row.low), "y1": math.log(row.high)}
        mean = math.log(row.ratio)
        shapes += [
            {**line, **ends, "type": "rect", "fillcolor": color_of(row), "opacity": 0.18, "line": {"width": 0}},
            {**line, "y0": mean, "y1": mean, "line": {"color": color_of(row), "width": 1.5}},
        ]
    return shapes


def color_of(row: Row) -> str:
    """The colour of a row's verdict."""
    return f"var(--{row.kind})"
