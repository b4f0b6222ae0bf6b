"""All effects of one metric with their intervals on one scale, what the control does to itself
first, the single blocks as dots."""

from phpdyno.commands.compare.render.figures.time import color_of, said_of
from phpdyno.commands.compare.view.measuring import AaRow, CarryOverRow
from phpdyno.commands.compare.view.shape import Row, RunView
from phpdyno.commands.compare.view.words import aa_finding, aa_of, by_metric, carried, change, finding, label
from phpdyno.model.plan import Metric, Unit
from phpdyno.report.plots import Figure
from phpdyno.report.strips import Strip, strips_of
from phpdyno.report.words import count
from phpdyno.stats.change import signed

AA_NAME = "the control against itself (A/A blocks of the calibration)"


def forest(view: RunView, metric: Metric) -> Figure:
    """The forest plot of one metric."""
    rows = by_metric(view.rows).get(metric, ())
    aa = aa_of(view, metric)
    return strips_of([*([_aa_strip(aa)] if aa is not None else []), *(_strip(view, row) for row in rows)], less_is_better=metric == "cpu")


def has_forest(view: RunView, metric: Metric) -> bool:
    """Whether there is anything to draw: an effect with an interval."""
    return any(row.ratio is not None for row in by_metric(view.rows).get(metric, ()))


def carry_over_plot(check: CarryOverRow, unit: Unit) -> Figure:
    """One treatment's effect at each slot length."""
    color = "var(--regressed)" if check.differs else "var(--accent)"
    held = []
    for effect in check.effects:
        slot = f"{count(effect.slot_requests, unit)} per slot{' (the verdict)' if effect.main else ''}"
        dots = tuple((value, slot) for value in effect.log_ratios)
        held.append(Strip(slot, carried(effect, check.metric), effect, check.margin, dots, color))
    return strips_of(held, less_is_better=check.metric == "cpu")


def _aa_strip(aa: AaRow) -> Strip:
    dots = tuple((value, f"A/A block {number}") for number, value in enumerate(aa.log_ratios, 1))
    return Strip(AA_NAME, aa_finding(aa), aa, aa.margin, dots, "var(--muted)", aa=True)


def _strip(view: RunView, row: Row) -> Strip:
    dots = tuple(
        (point.log_ratio, said_of(point, row.metric)) for point in view.blocks if point.treatment == row.name and not point.excluded
    )
    return Strip(label(row), _words(row), row, row.margin, dots, color_of(row), said=f"{label(row)}: {finding(row)}", aa=row.is_aa)


def _words(row: Row) -> str:
    seen = change(row)
    if row.kind == "invalid":
        return "no number: invalid"
    return f"{finding(row) if seen is None else signed(seen)}: {row.kind}"
