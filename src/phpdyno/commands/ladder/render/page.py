"""The report of a ladder as one HTML page that needs no network."""

from phpdyno.commands.ladder.view import LadderView, standing
from phpdyno.model.runs.tune import TunedRatio
from phpdyno.report.answer.shape import CommandAnswer
from phpdyno.report.change_words import change_words
from phpdyno.report.frame import Filters, render_frame
from phpdyno.report.plots import Figure
from phpdyno.report.strips import Strip, strips_of

_FILTERS: Filters = {"change": change_words, "standing": standing}


def render_ladder(view: LadderView, answer: CommandAnswer | None = None) -> str:
    """The whole page as text, the answer first. About 5 MB, nearly all of it plotly.js."""
    return render_frame(
        "ladder.html.j2",
        ladder_figures(view),
        packages=["phpdyno.commands.ladder.render"],
        filters=_FILTERS,
        warnings=view.warnings,
        answer=answer,
        view=view,
    )


def ladder_figures(view: LadderView) -> dict[str, Figure]:
    """Each step against what it stands on, and against the stock PHP."""
    drawn = {
        "steps": [
            _strip(f"{each.step.name} on {each.step.on}", each.ratio, f": {standing(each)}", view.margin, f"var(--{each.kind})")
            for each in view.steps
            if each.ratio is not None
        ],
        "totals": [_strip(each.step.name, each.total, "", view.margin, "var(--accent)") for each in view.steps if each.total is not None],
    }
    return {name: strips_of(strips) for name, strips in drawn.items() if any(each.span.ratio is not None for each in strips)}


def _strip(name: str, ratio: TunedRatio, said: str, margin: float, color: str) -> Strip:
    words = f"{change_words(ratio)}{said}"
    return Strip(name, words, ratio, margin, (), color)
