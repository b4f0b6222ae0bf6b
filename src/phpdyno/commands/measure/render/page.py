"""The report of a sweep as one HTML page that needs no network; what every page has in common is in
frame.py."""

from phpdyno.commands.measure.render import figures as plots
from phpdyno.commands.measure.view.shape import SweepView
from phpdyno.commands.measure.view.words import (
    cross_words,
    estimate_words,
    failures,
    load_words,
    mean_words,
    mib,
    open_words,
    percentile_name,
    percentile_of,
    share,
    value_words,
    whole,
)
from phpdyno.report.answer.shape import CommandAnswer
from phpdyno.report.frame import Filters, render_frame
from phpdyno.report.plots import Figure
from phpdyno.stats.visits import PERCENTS

_FILTERS: Filters = {
    "estimate": estimate_words,
    "value": value_words,
    "percentile": percentile_of,
    "load": load_words,
    "failures": failures,
    "cross": cross_words,
    "open_facts": open_words,
    "mean": mean_words,
    "whole": whole,
    "mib": mib,
    "share": share,
    "p": percentile_name,
}


def render_sweep(view: SweepView, answer: CommandAnswer | None = None) -> str:
    """The whole page as text, the answer first. About 5 MB, nearly all of it plotly.js."""
    return render_frame(
        "sweep.html.j2",
        sweep_figures(view),
        packages=["phpdyno.commands.measure.render"],
        filters=_FILTERS,
        warnings=view.warnings,
        answer=answer,
        view=view,
        arms=[(number, arm, [row for row in view.points if row.arm == arm.name]) for number, arm in enumerate(view.arms)],
        percents=PERCENTS,
        served=any(row.cpu is not None and row.cpu.services is not None for row in view.points),
        percent_colors=[(percentile_name(percent), plots.color_at(number)) for number, percent in enumerate(PERCENTS)],
        arm_colors=plots.arm_colors(view.arms),
        left_out=[row for row in view.visits if row.excluded],
    )


def sweep_figures(view: SweepView) -> dict[str, Figure]:
    """Every plot that the sweep has data for, by the id of its place on the page."""
    figures: dict[str, Figure] = {}
    closed = [row for row in view.points if row.loop == "closed"]
    if any(row.per_s is not None for row in closed):
        figures["throughput"] = plots.throughput_plot(view)
    if any(arm.memory is not None for arm in view.arms):
        figures["memory"] = plots.memory_plot(view)
    for number, arm in enumerate(view.arms):
        mine = [row for row in view.points if row.arm == arm.name]
        if plots.has_times(mine):
            figures[f"times-{number}"] = plots.times_plot(mine)
        if plots.has_cpu(mine):
            figures[f"cpu-{number}"] = plots.cpu_plot(mine)
    return figures
