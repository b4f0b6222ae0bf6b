"""The report of a run of `size` as one HTML page that needs no network."""

from phpdyno.commands.size.found import SizeFound
from phpdyno.commands.size.render.figures import COLORS, size_figures
from phpdyno.commands.size.render.terminal import spanned
from phpdyno.commands.size.words import mib, ms_or_none, part, rate
from phpdyno.report.answer.shape import CommandAnswer
from phpdyno.report.frame import render_frame


def render_size(found: SizeFound, answer: CommandAnswer | None = None) -> str:
    """The whole page as text, the answer first. About 5 MB, nearly all of it plotly.js."""
    return render_frame(
        "size.html.j2",
        size_figures(found),
        packages=["phpdyno.commands.size.render"],
        filters={"spanned": spanned, "mib": mib, "time": ms_or_none, "rate": rate, "part": part},
        warnings=found.warnings,
        answer=answer,
        view=found,
        best=max((row.per_s for row in found.pools), default=1.0),
        colors=COLORS,
    )
