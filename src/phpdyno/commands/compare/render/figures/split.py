"""Where the CPU time of a request or operation goes: both arms of each treatment as stacked bars,
one below the other."""

from collections.abc import Iterable
from typing import Any

from phpdyno.commands.compare.view.shape import ArmCost, Row
from phpdyno.commands.compare.view.words import label
from phpdyno.report.plots import LINE_PX, Figure, hover, layout, note, wrapped
from phpdyno.report.words import milliseconds

PARTS = (("php", "PHP"), ("nginx", "nginx"), ("database", "database"), ("services", "services"), ("other", "other"))
"""Colour variable and name of each part, in the order of the bars."""

_BAR_PX = 16
_GAP_PX = 14


def cpu_split(rows: Iterable[Row]) -> Figure:
    """Two bars per treatment, each pair on its own scale. Heights in px are the y axis."""
    bars: list[tuple[float, float, str, dict[str, float]]] = []
    notes: list[dict[str, Any]] = []
    top = 0.0
    for row in rows:
        if row.control is None or row.treated is None:
            continue
        lines = wrapped(label(row), bold=True)
        notes.append(note(0, top, lines))
        top += LINE_PX * len(lines) + 4
        longest = max(sum(parts(row.control).values()), sum(parts(row.treated).values()))
        for arm, cost in (("control", row.control), ("treatment", row.treated)):
            split = parts(cost)
            said = f"{arm}: {milliseconds(sum(split.values()))} ms"
            notes.append(note(0, top, [said], color="var(--muted)"))
            bars.append((top + LINE_PX + _BAR_PX / 2 + 2, longest, f"{label(row)}, {arm}", split))
            top += LINE_PX + _BAR_PX + 6
        top += _GAP_PX
    made = layout(top + 12, left=12)
    made["margin"]["b"] = 4
    made |= {"annotations": notes, "barmode": "stack", "bargap": 0}
    made["xaxis"] |= {"range": [0, 1], "visible": False}
    made["yaxis"] |= {"range": [top, 0], "visible": False}
    there = [(key, name) for key, name in PARTS if key != "services" or any(split[key] for *_, split in bars)]
    return {"data": [_trace(bars, key, name) for key, name in there], "layout": made}


def parts(cost: ArmCost) -> dict[str, float]:
    """CPU milliseconds per request of each part; `other` is what the host spent beyond them
    (kernel, generator, this program)."""
    services = sum(cost.services_cpu_ms_per_request.values())
    named = cost.php_cpu_ms_per_request + cost.nginx_cpu_ms_per_request + cost.database_cpu_ms_per_request + services
    return {
        "php": cost.php_cpu_ms_per_request,
        "nginx": cost.nginx_cpu_ms_per_request,
        "database": cost.database_cpu_ms_per_request,
        "services": services,
        "other": max(0.0, cost.host_cpu_ms_per_request - named),
    }


def _trace(bars: list[tuple[float, float, str, dict[str, float]]], key: str, name: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "y": [at for at, _, _, _ in bars],
        "x": [split[key] / longest if longest else 0.0 for _, longest, _, split in bars],
        "width": _BAR_PX,
        "text": [hover(f"{about}: {name} {milliseconds(split[key])} ms") for _, _, about, split in bars],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": f"var(--{key})", "line": {"width": 0}},
    }
