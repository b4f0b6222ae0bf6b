"""The report of a tune as one HTML page that needs no network; what every page has in common is in
frame.py."""

from phpdyno.commands.explain.render.page import FILTERS, TEMPLATES, inside, inside_figures
from phpdyno.commands.tune.view import TuneView, left_out
from phpdyno.commands.tune.words import STAGES, before_after, confirmed_words, part_words, settings_words, standing_words
from phpdyno.model.notices import rest_of
from phpdyno.model.runs.tune import TunedRatio
from phpdyno.report.answer.shape import CommandAnswer
from phpdyno.report.change_words import change_words
from phpdyno.report.frame import Filters, render_frame
from phpdyno.report.plots import Figure
from phpdyno.report.strips import Strip, strips_of

COLORS = {"helps": "var(--improved)", "hurts": "var(--regressed)", "too small": "var(--equivalent)"}
_FILTERS: Filters = {
    "change": change_words,
    "confirmed": confirmed_words,
    "before_after": before_after,
    "settings": settings_words,
    "standing": standing_words,
    "stage": STAGES.__getitem__,
}


def render_tune(view: TuneView, answer: CommandAnswer | None = None) -> str:
    """The whole page as text, the answer first. About 5 MB, nearly all of it plotly.js."""
    found = view.found
    looked = [view.explained] if view.explained else []
    return render_frame(
        "tune.html.j2",
        {**tune_figures(view), **inside_figures(looked)},
        packages=["phpdyno.commands.tune.render", TEMPLATES],
        filters={**_FILTERS, **FILTERS},
        **inside(looked),
        warnings=view.warnings,
        answer=answer,
        view=view,
        found=found,
        refused=left_out(found.changes),
        told=(*rest_of(view.warnings), *found.remarks, *found.notes),
    )


def tune_figures(view: TuneView) -> dict[str, Figure]:
    """Every plot that the tune has data for, by the id of its place on the page."""
    found, margin, goal = view.found, view.margin, view.goal
    drawn: dict[str, list[Strip]] = {}
    if found.screening:
        drawn["screening"] = [
            _strip(each.name, each.ratio, standing_words(each), margin, COLORS.get(each.standing, "var(--accent)"))
            for each in found.screening.effects
        ]
    if found.race:
        drawn["race"] = [_strip(each.name, each.ratio, each.fate, margin) for each in found.race.racers]
    colors = {True: "var(--improved)", False: "var(--muted)"}
    drawn["parts"] = [_strip(each.name, each.ratio, part_words(each, goal), margin, colors[each.kept]) for each in found.parts]
    confirmed = []
    for each in found.confirmations:
        confirmed.append(_strip(each.name, each.ratio, confirmed_words(each), margin, f"var(--{each.kind})"))
        if each.aa is not None:
            aa = change_words(each.aa, each.goal)
            confirmed.append(_strip("the control against itself", each.aa, aa, margin, "var(--muted)", aa=True))
    drawn["confirmed"] = confirmed
    drawn["ladder"] = [_strip(each.name, each.ratio, change_words(each.ratio, goal), margin, "var(--improved)") for each in found.ladder]
    shown = {name: strips for name, strips in drawn.items() if any(each.span.ratio is not None for each in strips)}
    return {name: strips_of(strips, less_is_better=goal != "throughput") for name, strips in shown.items()}


def _strip(name: str, ratio: TunedRatio | None, said: str, margin: float, color: str = "var(--accent)", *, aa: bool = False) -> Strip:
    span = ratio or TunedRatio(1.0, None, None)
    return Strip(name, said, span, margin, (), color, aa=aa)
