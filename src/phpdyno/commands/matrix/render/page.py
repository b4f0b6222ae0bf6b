"""The report of a matrix as one HTML page that needs no network."""

from phpdyno.commands.compare.view.words import tone
from phpdyno.commands.matrix.view import MatrixView, cell_name, cell_words, decided_words, reasons, short_words, warmth
from phpdyno.model.runs.matrix import Cell
from phpdyno.model.runs.tune import TunedRatio
from phpdyno.report.answer.shape import CommandAnswer
from phpdyno.report.change_words import change_parts
from phpdyno.report.frame import Filters, render_frame
from phpdyno.report.plots import Figure
from phpdyno.report.strips import Strip, strips_of

_FILTERS: Filters = {"parts": change_parts, "said": cell_words, "short": short_words, "warmth": warmth}


def render_matrix(view: MatrixView, answer: CommandAnswer | None = None) -> str:
    """The whole page as text, the answer first. About 5 MB, nearly all of it plotly.js."""
    by_place = {(each.profile, each.app): each for each in view.cells}
    rows = [(profile, [by_place[profile.name, app] for app in view.apps]) for profile in view.profiles]
    return render_frame(
        "matrix.html.j2",
        matrix_figures(view),
        packages=["phpdyno.commands.matrix.render"],
        filters=_FILTERS,
        warnings=view.warnings,
        answer=answer,
        view=view,
        rows=rows,
        reasons=reasons(view.cells),
        decided=decided_words(view),
    )


def matrix_figures(view: MatrixView) -> dict[str, Figure]:
    """One plot of intervals for each app, every profile in it."""
    drawn = {}
    for number, app in enumerate(view.apps):
        strips = [_strip(each, each.ratio, view.margin) for each in view.cells if each.app == app and each.ratio is not None]
        if strips:
            drawn[f"app-{number}"] = strips_of(strips)
    return drawn


def _strip(cell: Cell, ratio: TunedRatio, margin: float) -> Strip:
    return Strip(cell_name(cell), cell_words(cell), ratio, margin, (), f"var(--{tone(cell)})")
