"""A ladder as a report for a terminal of 80 columns or more. Nothing is printed here."""

from rich.console import Group, RenderableType
from rich.text import Text

from phpdyno.commands.build.words import missing_words
from phpdyno.commands.ladder.view import LadderView, standing
from phpdyno.model.notices import rest_of
from phpdyno.model.runs.ladder import STOCK
from phpdyno.report.change_words import change_words
from phpdyno.report.terminal_parts import STYLE, headed, inert, labelled
from phpdyno.report.words import duration, percent, visible

RATIO_WIDTH = 23
"""Columns of a change with its interval: `−11.0 % (−20.3 to −0.6)`."""


def ladder_summary(view: LadderView) -> Group:
    """The whole report; its last line is the outcome."""
    detail = f": {view.outcome_detail}" if view.outcome_detail else ""
    ended = f"{view.run}, {view.outcome} after {duration(view.elapsed_s)}{detail}"
    facts = [
        ("run", inert(ended, "" if view.outcome == "finished" else "yellow")),
        ("stock", inert(view.control)),
        ("workload", inert(view.workload)),
        ("decided", inert(f"a step matters from {percent(view.margin)} on; all intervals together hold with {percent(view.confidence)}")),
    ]
    parts: list[RenderableType] = [*headed(view.title, view.warnings), labelled(facts), Text(), _steps(view), Text()]
    for build in view.builds:
        parts += [inert(each, "yellow") for each in missing_words(build.name, build.skipped)]
    parts += [inert(f"note: {each}", "dim") for each in rest_of(view.warnings)]
    return Group(*parts, inert(view.scope, "dim"), Text(), inert(view.sentences[-1]))


def _steps(view: LadderView) -> Group:
    """Two lines each: what it does on what, then its figures and its verdict."""
    lines: list[RenderableType] = [Text("Each step against the one that it stands on, and in all", style="bold")]
    for each in view.steps:
        lines.append(Text.assemble((visible(each.step.name), "bold"), (f" on {visible(each.step.on)}", "dim"), overflow="fold"))
        figures = "" if each.ratio is None else f"{change_words(each.ratio):<{RATIO_WIDTH}} "
        total = "" if each.total is None or each.step.on == STOCK else f"  in all {change_words(each.total)}"
        lines.append(Text.assemble(f"  {figures}", (visible(standing(each)), STYLE[each.kind]), (total, "dim"), overflow="fold"))
    return Group(*lines)
