"""A matrix as a report for a terminal of 80 columns or more. Nothing is printed here."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from phpdyno.commands.compare.view.words import tone
from phpdyno.commands.matrix.view import MatrixView, decided_words, reasons, short_words
from phpdyno.model.notices import rest_of
from phpdyno.model.runs.matrix import Cell
from phpdyno.report.terminal_parts import STYLE, headed, inert, labelled
from phpdyno.report.words import duration, visible


def matrix_summary(view: MatrixView) -> Group:
    """The whole report; its last line is the outcome."""
    detail = f": {view.outcome_detail}" if view.outcome_detail else ""
    ended = f"{view.run}, {view.outcome} after {duration(view.elapsed_s)}{detail}"
    facts = [("run", inert(ended, "" if view.outcome == "finished" else "yellow")), ("decided", inert(decided_words(view)))]
    parts: list[RenderableType] = [*headed(view.title, view.warnings), labelled(facts), Text(), _heat(view), Text()]
    parts += [inert(each, "yellow") for each in reasons(view.cells)]
    parts += [inert(f"note: {each}", "dim") for each in rest_of(view.warnings)]
    parts += [inert(each, "dim") for each in view.scopes]
    said = view.sentences[len(view.cells) :]
    return Group(*parts, Text(), *map(inert, said))


def _heat(view: MatrixView) -> Table:
    table = Table(
        box=None, padding=(0, 2, 0, 0), pad_edge=False, title="CPU per request with a profile, against without one", title_justify="left"
    )
    table.add_column("trained on", overflow="fold", header_style="dim")
    for app in view.apps:
        table.add_column(f"on {visible(app)}", overflow="fold", header_style="dim")
    by_place = {(each.profile, each.app): each for each in view.cells}
    for profile in view.profiles:
        table.add_row(Text(visible(profile.name), style="bold"), *(_cell(by_place[profile.name, app]) for app in view.apps))
    return table


def _cell(cell: Cell) -> Text:
    return inert(short_words(cell), STYLE[tone(cell)])
