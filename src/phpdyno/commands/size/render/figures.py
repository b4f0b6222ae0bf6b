"""The plots of a run of `size`: throughput and memory over workers, response times over the rate,
workers over time."""

import math
from typing import Any

from phpdyno.commands.measure.render.figures import concurrency_ticks
from phpdyno.commands.size.found import SizeFound
from phpdyno.commands.size.words import mib, ms, rate
from phpdyno.report.plots import Figure, caption, hover, layout

PATH = 60
"""Points of a drawn curve."""
COLORS = {"static": "var(--accent)", "dynamic": "var(--regressed)", "ondemand": "var(--improved)"}


def size_figures(found: SizeFound) -> dict[str, Figure]:
    """Every plot that the run has data for, by the id of its place on the page."""
    figures = {"throughput": throughput_plot(found), "memory": memory_plot(found)} if found.pools else {}
    if found.foretold:
        figures["response"] = response_plot(found)
    if found.managers:
        figures["workers"] = workers_plot(found)
    return figures


def throughput_plot(found: SizeFound) -> Figure:
    """Requests per second over workers: the search as a line, the confirmation with intervals, the
    scalability law as a summary."""
    made = _over_workers(found, "requests per second")
    data: list[dict[str, Any]] = []
    if found.summary is not None:
        law, first, last = found.summary, found.pools[0].workers, found.pools[-1].workers
        at = [first * (last / first) ** (step / PATH) for step in range(PATH + 1)]
        values = [law.per_s * n / (1.0 + law.contention * (n - 1.0) + law.coherence * n * (n - 1.0)) for n in at]
        data.append(_path(at, values, "Universal Scalability Law", "var(--muted)", dash="dot"))
    data.append(
        _marked(
            [row.workers for row in found.pools],
            [row.per_s for row in found.pools],
            [f"{row.workers} workers: {rate(row.per_s)} requests/s" for row in found.pools],
            "var(--accent)",
            line=True,
        )
    )
    held = [row for row in found.confirmed if row.per_s is not None]
    marks = _marked(
        [row.workers for row in held],
        [row.per_s.value for row in held if row.per_s],
        [f"{row.what}, {row.workers} workers: {rate(row.per_s.value)} requests/s" for row in held if row.per_s],
        "var(--improved)",
        line=False,
    )
    marks["error_y"] = {
        "type": "data",
        "symmetric": False,
        "array": [(row.per_s.high or row.per_s.value) - row.per_s.value for row in held if row.per_s],
        "arrayminus": [row.per_s.value - (row.per_s.low or row.per_s.value) for row in held if row.per_s],
        "color": "var(--improved)",
        "thickness": 1.2,
        "width": 3,
    }
    return {"data": [*data, marks], "layout": made}


def memory_plot(found: SizeFound) -> Figure:
    """Memory of the whole pool over workers, MiB."""
    made = _over_workers(found, "MiB of the pool", height=240)
    known = [row for row in found.pools if row.memory is not None]
    totals = [((row.memory.pss_pool_kib + (row.memory.master_kib or 0.0)) / 1024) for row in known if row.memory]
    said = [f"{row.workers} workers: {mib(total * 1024)}" for row, total in zip(known, totals, strict=True)]
    return {"data": [_marked([row.workers for row in known], totals, said, "var(--php)", line=True)], "layout": made}


def response_plot(found: SizeFound) -> Figure:
    """The 99th percentile over the rate of arrivals: simulation, M/G/c as a check, and what was
    measured."""
    made = layout(280, left=62)
    made["xaxis"] |= {"title": caption("requests that arrive per second"), "nticks": 6, "rangemode": "tozero"}
    made["yaxis"] |= {"title": caption("p99, ms"), "type": "log", "nticks": 6}
    rates = [row.rate_per_s for row in found.foretold]
    data = [
        _marked(
            rates,
            [row.p99_ms for row in found.foretold],
            [f"{rate(row.rate_per_s)}/s: p99 {ms(row.p99_ms)}, {row.waits:.1%} wait" for row in found.foretold],
            "var(--accent)",
            line=True,
        )
    ]
    checked = [(row.rate_per_s, row.mgc_p99_ms) for row in found.foretold if row.mgc_p99_ms is not None]
    data.append(_path([at for at, _ in checked], [value for _, value in checked], "M/G/c", "var(--muted)", dash="dot"))
    pool = found.recommended
    if pool.p99_ms is not None:
        data.append(_marked([pool.rate_per_s], [pool.p99_ms.value], [f"measured: {ms(pool.p99_ms.value)}"], "var(--improved)", line=False))
    return {"data": data, "layout": made}


def workers_plot(found: SizeFound) -> Figure:
    """Workers over the seconds of the burst, a step line for each manager."""
    made = layout(240, left=62)
    made["xaxis"] |= {"title": caption("seconds from the burst's start"), "nticks": 7, "rangemode": "tozero"}
    made["yaxis"] |= {"title": caption("workers"), "nticks": 6, "rangemode": "tozero"}
    last = max((at for row in found.managers for at, _ in row.workers), default=1.0) + 1.0
    data = []
    for row in found.managers:
        at = [each for each, _ in row.workers]
        counts: list[float] = [count for _, count in row.workers]
        drawn = _path([*at, last], [*counts, counts[-1]], f"pm = {row.manager}", COLORS[row.manager])
        drawn["line"]["shape"] = "hv"
        data.append(drawn)
    return {"data": data, "layout": made}


def _over_workers(found: SizeFound, measure: str, *, height: float = 320) -> dict[str, Any]:
    sizes = sorted({*(row.workers for row in found.pools), *(row.workers for row in found.confirmed)})
    made = layout(height, left=62)
    at = concurrency_ticks(sizes)
    made["xaxis"] |= {
        "type": "log",
        "title": caption("workers"),
        "tickmode": "array",
        "tickvals": at,
        "ticktext": [str(each) for each in at],
    }
    if at:
        made["xaxis"]["range"] = [math.log10(at[0]) - 0.08, math.log10(at[-1]) + 0.08]
    made["yaxis"] |= {"title": caption(measure), "nticks": 6, "rangemode": "tozero"}
    return made


def _path(at: list[float], values: list[float], name: str, color: str, *, dash: str = "solid") -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": at,
        "y": values,
        "name": name,
        "hovertemplate": f"{hover(name)}: %{{y:.4g}}<extra></extra>",
        "line": {"color": color, "width": 1.4, "dash": dash},
    }


def _marked(at: list[Any], values: list[float], said: list[str], color: str, *, line: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers" if line else "markers",
        "x": at,
        "y": values,
        "text": [hover(each) for each in said],
        "hovertemplate": "%{text}<extra></extra>",
        "line": {"color": color, "width": 1},
        "marker": {"color": color, "size": 6 if line else 9},
    }
