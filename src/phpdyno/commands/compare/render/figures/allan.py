"""The Allan curve of the calibration: why slots have the length that they have."""

import math
from collections.abc import Sequence
from typing import Any

from phpdyno.commands.compare.view.measuring import AllanRow
from phpdyno.model.plan import Unit
from phpdyno.report.plots import Figure, caption, layout, log_range

_MOST_TICKS = 7


def allan_deviation(points: Sequence[AllanRow], unit: Unit) -> Figure:
    """Deviation between adjacent slots over their length, both logarithmic, the chosen length
    marked."""
    return _curve(points, [100 * point.deviation for point in points], unit, "deviation, %", "%{y:.3g} %")


def allan_cost(points: Sequence[AllanRow], unit: Unit) -> Figure:
    """Variance × time over the length, both logarithmic, the chosen length marked: the lower, the
    sooner an effect is decided."""
    return _curve(points, [1e3 * point.cost_s for point in points], unit, "variance × time, ms", "%{y:.3g} ms")


def _curve(points: Sequence[AllanRow], values: Sequence[float], unit: Unit, measure: str, shown: str) -> Figure:
    lengths = [point.slot_requests for point in points]
    step = math.ceil(len(lengths) / _MOST_TICKS) if lengths else 1
    made = layout(200, left=62)
    made["xaxis"] |= {"type": "log", "title": caption(f"{unit}s per slot"), "tickmode": "array"}
    made["xaxis"] |= {"tickvals": lengths[::step], "ticktext": [str(each) for each in lengths[::step]]}
    if lengths:
        made["xaxis"]["range"] = [math.log10(min(lengths)) - 0.12, math.log10(max(lengths)) + 0.12]
    made["yaxis"] |= {"type": "log", "title": caption(measure), **log_range(values)}
    chosen = [point.slot_requests for point in points if point.chosen]
    line = {"color": "var(--improved)", "width": 1.5, "dash": "dot"}
    made["shapes"] = [
        {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": each, "x1": each, "line": line, "layer": "below"} for each in chosen
    ]
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": lengths,
        "y": [value if value > 0 else None for value in values],
        "text": [f"{point.slot_requests} per slot ({1e3 * point.slot_s:.3g} ms){', chosen' if point.chosen else ''}" for point in points],
        "hovertemplate": "%{text}: " + shown + "<extra></extra>",
        "line": {"color": "var(--muted)", "width": 1},
        "marker": {
            "color": ["var(--improved)" if point.chosen else "var(--accent)" for point in points],
            "symbol": ["diamond" if point.chosen else "circle" for point in points],
            "size": [12 if point.chosen else 7 for point in points],
            "opacity": 1,
        },
    }
    return {"data": [trace], "layout": made}
