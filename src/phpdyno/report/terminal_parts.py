"""Small pieces of the terminal report that its tables share."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from phpdyno.model.notices import first_of
from phpdyno.report.reached import lines_of
from phpdyno.report.view_parts import ReachView
from phpdyno.report.words import visible

STYLE = {"improved": "green", "regressed": "red", "equivalent": "cyan", "inconclusive": "yellow", "invalid": "magenta"}
"""Of a verdict."""


def labelled(lines: Iterable[tuple[str, Text]]) -> Table:
    """Names in a dim column, what is said of them beside it."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, said in lines:
        grid.add_row(Text(name), said)
    return grid


def inert(text: str, style: str = "") -> Text:
    """Text from outside, which no terminal obeys."""
    return Text(visible(text), style=style, overflow="fold")


def headed(title: str, warnings: Sequence[str]) -> list[RenderableType]:
    """What every report begins with: its title, then what must be known before all else."""
    return [Text(visible(title), style="bold"), *(inert(each, "bold yellow") for each in first_of(warnings))]


def reached(view: ReachView | None) -> Group | None:
    """What the app reached for; None where there is nothing to tell."""
    told = list(lines_of(view)) if view is not None else []
    if view is None or not told:
        return None
    head, *rest = told
    return Group(inert(f"{head[0].upper()}{head[1:]}", "yellow" if view.unwatched else "bold"), *map(inert, rest))
