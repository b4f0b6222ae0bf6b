"""The report of a comparison as one HTML page that needs no network; what every page has in common
is in frame.py."""

from typing import get_args

from phpdyno.commands.compare.render.figures import allan, forest, split, time
from phpdyno.commands.compare.view import words as row_words
from phpdyno.commands.compare.view.calibrations import forecast, pairs_of
from phpdyno.commands.compare.view.shape import RunView
from phpdyno.commands.explain.render.page import FILTERS, TEMPLATES, inside, inside_figures
from phpdyno.model.plan import Metric
from phpdyno.report import words
from phpdyno.report.answer.shape import CommandAnswer
from phpdyno.report.frame import Filters, render_frame
from phpdyno.report.plots import Figure

_FILTERS: Filters = {
    "rate": words.rate,
    "label": row_words.label,
    "finding": row_words.finding,
    "blocks_words": row_words.blocks_words,
    "tone": row_words.tone,
    "failures": row_words.failures,
    "failed_proofs": row_words.failed_proofs,
    "proof_word": row_words.proof_word,
    "aa_finding": row_words.aa_finding,
    "pairs_of": pairs_of,
    "metric": words.metric_words,
    "service": words.service_words,
    "whole": row_words.whole_stack_words,
    "stack_change": row_words.whole_stack_change,
    "changed": row_words.changed,
}


def render_page(view: RunView, answer: CommandAnswer | None = None) -> str:
    """The whole page as text, the answer first. About 5 MB, nearly all of it plotly.js."""
    figures = figures_of(view)
    return render_frame(
        "report.html.j2",
        figures,
        packages=["phpdyno.commands.compare.render", TEMPLATES],
        filters={**_FILTERS, **FILTERS},
        warnings=view.preflight_warnings,
        answer=answer,
        view=view,
        **inside(view.explained or ()),
        rows=row_words.ordered(view.rows),
        groups=row_words.by_metric(view.rows),
        calibration_aa={metric: row_words.aa_of(view, metric) for metric in get_args(Metric)},
        forecasts={each.metric: forecast(each, row_words.margin_of(view, each.metric), view.budget_s) for each in view.calibrations},
        services=row_words.services_of(view.rows),
        php=words.PHP_NAME[view.transport],
        per_second=words.PER_SECOND[view.unit],
        blocks={row.name: f"blocks-{number}" for number, row in enumerate(view.rows) if f"blocks-{number}" in figures},
    )


def figures_of(view: RunView) -> dict[str, Figure]:
    """Every plot that the run has data for, by the id of its place on the page."""
    figures: dict[str, Figure] = {}
    for metric in row_words.by_metric(view.rows):
        if forest.has_forest(view, metric):
            figures[f"forest-{metric}"] = forest.forest(view, metric)
    if any(row.control is not None and row.treated is not None for row in view.rows):
        figures["split"] = split.cpu_split(row_words.ordered(view.rows))
    for row in view.calibrations:
        if len(row.allan) > 1:
            figures[f"allan-deviation-{row.metric}"] = allan.allan_deviation(row.allan, view.unit)
            figures[f"allan-cost-{row.metric}"] = allan.allan_cost(row.allan, view.unit)
    for metric in dict.fromkeys(point.metric for point in view.control_costs):
        figures[f"control-{metric}"] = time.control_over_time(view, metric)
    if view.noise:
        figures["steal"] = time.steal_over_time(view)
    if any(point.lag_fraction is not None for point in view.noise):
        figures["lag"] = time.lag_over_time(view)
    measured = {point.treatment for point in view.blocks}
    figures |= {f"blocks-{number}": time.blocks_over_time(view, row) for number, row in enumerate(view.rows) if row.name in measured}
    figures |= inside_figures(view.explained or ())
    return figures | {f"carry-{number}": forest.carry_over_plot(check, view.unit) for number, check in enumerate(view.carry_over)}
