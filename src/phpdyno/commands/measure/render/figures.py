"""What an arm does as more is asked of it: throughput, times, CPU by component over the requests in
flight, and memory."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from phpdyno.commands.measure.view.shape import ArmRow, Estimate, PointRow, SweepView, VisitRow
from phpdyno.commands.measure.view.words import estimate_words, load_words, memory_words, percentile_name
from phpdyno.report.plots import LINE_PX, Figure, caption, hover, layout, log_range, note, wrapped
from phpdyno.report.words import milliseconds
from phpdyno.stats.visits import PERCENTS

COLORS = ("var(--accent)", "var(--improved)", "var(--regressed)", "var(--invalid)", "var(--inconclusive)", "var(--muted)")
"""Of arms in the order of the plan, and of percentiles from the 50th on."""

PARTS = (("php", "php-fpm"), ("nginx", "nginx"), ("database", "database"), ("services", "services"), ("other", "network"))
"""Colour variable and name of each part of a bar."""

_BAR_PX = 16
_GAP_PX = 14

_TICK_GAP = 0.085
"""Share of the axis that a tick's number takes on a phone."""


def throughput_plot(view: SweepView) -> Figure:
    """Requests per second of every arm over the requests in flight, with intervals; single visits
    as dots."""
    rows = [row for row in view.points if row.loop == "closed" and row.per_s is not None]
    made = _over_concurrency([row.concurrency for row in rows], 320, "requests per second")
    made["yaxis"] |= {"rangemode": "tozero"}
    data: list[dict[str, Any]] = []
    for number, arm in enumerate(view.arms):
        mine = [row for row in rows if row.arm == arm.name]
        data.append(_dots([each for each in view.visits if each.arm == arm.name and not each.open_share], color_at(number)))
        data.append(_line([(row.concurrency, row.per_s, f"{arm.name}, {load_words(row)}") for row in mine], color_at(number), "per s"))
    return {"data": data, "layout": made}


def times_plot(rows: Sequence[PointRow]) -> Figure:
    """Service times of one arm over the requests in flight, logarithmic: one line per
    percentile."""
    closed = [row for row in rows if row.loop == "closed"]
    made = _over_concurrency([row.concurrency for row in closed], 280, "service time, ms")
    data, values = [], []
    for number, percent in enumerate(PERCENTS):
        held = [
            (row.concurrency, each.ms, f"{percentile_name(percent)}, {load_words(row)}")
            for row in closed
            for each in row.percentiles
            if each.percent == percent
        ]
        values += [ms.value for _, ms, _ in held]
        data.append(_line(held, color_at(number), "ms"))
    made["yaxis"] |= {"type": "log", **log_range(values)}
    return {"data": data, "layout": made}


def cpu_plot(rows: Sequence[PointRow]) -> Figure:
    """CPU per valid request of one arm as stacked bars, one per load. Network stands on top only
    where it is accounted apart."""
    known = [row for row in rows if row.cpu is not None]
    made = layout(240, left=62)
    made |= {"barmode": "stack", "bargap": 0.35}
    made["xaxis"] |= {"type": "category", "title": caption("requests in flight (o: open loop)")}
    made["yaxis"] |= {"title": caption("CPU ms per request"), "nticks": 6, "rangemode": "tozero"}
    names = [f"o {row.concurrency}" if row.loop == "open" else str(row.concurrency) for row in known]
    there = [(key, name) for key, name in PARTS if key != "services" or any(_part(row, name) for row in known)]
    return {"data": [_bars(known, names, key, name) for key, name in there], "layout": made}


def memory_plot(view: SweepView) -> Figure:
    """PSS of each arm's pool as a bar, its shared memory apart; all on one scale. Heights in px are
    the y axis."""
    held = [(arm, arm.memory) for arm in view.arms if arm.memory is not None]
    notes: list[dict[str, Any]] = []
    bars: list[tuple[float, str, float, float]] = []
    top = 0.0
    for arm, memory in held:
        lines = wrapped(arm.name, bold=True)
        notes += [note(0, top, lines), note(0, top + LINE_PX * len(lines), wrapped(memory_words(memory)), color="var(--muted)")]
        top += LINE_PX * (len(lines) + len(wrapped(memory_words(memory)))) + 6
        shared = memory.shared_kib or 0.0
        bars.append((top + _BAR_PX / 2, arm.name, shared / 1024, (memory.pss_pool_kib - shared) / 1024))
        top += _BAR_PX + _GAP_PX
    made = layout(top + 42, left=12)
    made |= {"annotations": notes, "barmode": "stack", "bargap": 0}
    made["xaxis"] |= {"title": caption("PSS of all workers, MiB"), "rangemode": "tozero", "nticks": 6}
    made["yaxis"] |= {"range": [top, 0], "visible": False}
    parts = (("shared memory", "var(--other)", 2), ("the workers' own part", "var(--php)", 3))
    return {"data": [_memory_bars(bars, name, color, column) for name, color, column in parts], "layout": made}


def _memory_bars(bars: Sequence[tuple[float, str, float, float]], name: str, color: str, column: int) -> dict[str, Any]:
    values = [bar[2] if column == 2 else bar[3] for bar in bars]
    return {
        "type": "bar",
        "orientation": "h",
        "y": [bar[0] for bar in bars],
        "x": values,
        "width": _BAR_PX,
        "text": [hover(f"{bar[1]}: {name} {value:.1f} MiB") for bar, value in zip(bars, values, strict=True)],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": color, "line": {"width": 0}},
    }


def has_cpu(rows: Sequence[PointRow]) -> bool:
    """Whether there is a bar to draw."""
    return any(row.cpu is not None for row in rows)


def has_times(rows: Sequence[PointRow]) -> bool:
    """Whether there is a percentile to draw."""
    return any(row.percentiles for row in rows if row.loop == "closed")


def color_at(number: int) -> str:
    """The colour of the arm or percentile of that number, from 0."""
    return COLORS[number % len(COLORS)]


def arm_colors(arms: Sequence[ArmRow]) -> tuple[tuple[str, str], ...]:
    """Each arm's name with its colour, for the caption."""
    return tuple((arm.name, color_at(number)) for number, arm in enumerate(arms))


def concurrency_ticks(loads: Sequence[int]) -> list[int]:
    """Those loads that a logarithmic axis has room to name, the first and the last among them."""
    held = sorted(set(loads))
    if len(held) < 2:
        return held
    gap = _TICK_GAP * math.log(held[-1] / held[0])
    kept = [held[0]]
    for load in held[1:-1]:
        if math.log(load / kept[-1]) >= gap and math.log(held[-1] / load) >= gap:
            kept.append(load)
    return [*kept, held[-1]]


def _over_concurrency(loads: Sequence[int], height: float, measure: str) -> dict[str, Any]:
    """A layout with the requests in flight, logarithmic, from left to right."""
    made = layout(height, left=62)
    at = concurrency_ticks(loads)
    made["xaxis"] |= {"type": "log", "title": caption("requests in flight"), "tickmode": "array"}
    made["xaxis"] |= {"tickvals": at, "ticktext": [str(each) for each in at]}
    if at:
        made["xaxis"]["range"] = [math.log10(at[0]) - 0.08, math.log10(at[-1]) + 0.08]
    made["yaxis"] |= {"title": caption(measure), "nticks": 6}
    return made


def _line(held: Sequence[tuple[int, Estimate | None, str]], color: str, unit: str) -> dict[str, Any]:
    """Values with their intervals as error bars; none where there is no interval."""
    known = [(load, found, said) for load, found, said in held if found is not None]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [load for load, _, _ in known],
        "y": [found.value for _, found, _ in known],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [_reach(found, lambda each: each.high) for _, found, _ in known],
            "arrayminus": [_reach(found, lambda each: each.low) for _, found, _ in known],
            "color": color,
            "thickness": 1.2,
            "width": 3,
        },
        "text": [hover(f"{said}: {estimate_words(found)} {unit}") for _, found, said in known],
        "hovertemplate": "%{text}<extra></extra>",
        "line": {"color": color, "width": 1},
        "marker": {"color": color, "size": 6},
    }


def _reach(found: Estimate, end: Callable[[Estimate], float | None]) -> float:
    at = end(found)
    return 0.0 if at is None else abs(at - found.value)


def _dots(visits: Sequence[VisitRow], color: str) -> dict[str, Any]:
    """Single visits; excluded ones as crosses."""
    held = [each for each in visits if each.per_s is not None]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [each.concurrency for each in held],
        "y": [each.per_s for each in held],
        "text": [
            hover(f"{each.arm}, c = {each.concurrency}, round {each.round}{f': excluded, {each.excluded}' if each.excluded else ''}")
            for each in held
        ],
        "hovertemplate": "%{text}: %{y:.4g} per s<extra></extra>",
        "marker": {
            "color": ["var(--muted)" if each.excluded else color for each in held],
            "symbol": ["x-thin-open" if each.excluded else "circle" for each in held],
            "size": 5,
            "opacity": 0.35,
        },
    }


def _bars(rows: Sequence[PointRow], names: Sequence[str], key: str, name: str) -> dict[str, Any]:
    values = [_part(row, name) for row in rows]
    return {
        "type": "bar",
        "x": list(names),
        "y": values,
        "text": [hover(f"{load_words(row)}: {name} {milliseconds(value)} ms") for row, value in zip(rows, values, strict=True)],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": f"var(--{key})", "line": {"width": 0}},
    }


def _part(row: PointRow, name: str) -> float:
    """One part of a bar; 0 for what was not read, and for a network that is contained in the
    others."""
    cpu = row.cpu
    if cpu is None:
        return 0.0
    found = {
        "php-fpm": cpu.php,
        "nginx": cpu.nginx,
        "database": cpu.database,
        "services": cpu.services,
        "network": cpu.network if cpu.network_apart else None,
    }[name]
    return found.value if found is not None else 0.0
