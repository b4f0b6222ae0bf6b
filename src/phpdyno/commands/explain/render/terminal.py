"""An explanation as rich renderables, for 80 columns and more. Nothing is printed here."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from phpdyno.commands.explain.words import answer, arm_lines, greatest, heads, reading_by, rows, scope, title_of, unit_of
from phpdyno.model.inside.explained import Explained, Section
from phpdyno.report.terminal_parts import headed, inert

MOST_ROWS = 16
"""Of a section on the terminal; all of them are on the page and in the JSON."""


def explained_summary(found: Explained) -> Group:
    """The whole of it; its last lines are the answer."""
    return Group(*headed(title_of(found), found.warnings), *parts(found))


def parts(found: Explained) -> list[RenderableType]:
    """Everything below the title."""
    said: list[RenderableType] = [inert(line, "dim") for line in arm_lines(found)]
    for section in found.sections:
        if not section.unread:
            said += [Text(), *_section(found, section)]
    said += [Text(), inert(scope(found), "dim"), Text()]
    return [*said, *(inert(line) for line in answer(found))]


def _section(found: Explained, section: Section) -> list[RenderableType]:
    unit = unit_of(section)
    title = Text(section.title + (f" ({unit})" if unit else ""), style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place, head in enumerate(heads(found)):
        last = place == len(heads(found)) - 1
        table.add_column(head, overflow="fold", justify="left" if place == 0 or last else "right", no_wrap=bool(place))
    said = list(rows(section))
    shown = list(zip(section.figures, said, strict=True))
    if len(shown) > MOST_ROWS:
        kept = sorted((each for each, _ in shown), key=lambda each: (not each.part, each.clear, greatest(each)))[-MOST_ROWS:]
        shown = [(figure, cells) for figure, cells in shown if figure in kept]
    for figure, cells in shown:
        style = "" if figure.part else "bold"
        table.add_row(*(inert(cell, style) for cell in cells))
    left_out = len(said) - len(shown)
    notes = [*([f"and {left_out} more, on the page and in the JSON"] if left_out else []), *section.notes, reading_by(section)]
    return [title, table, *(inert(note, "dim") for note in notes)]


def looked_into(name: str, found: Explained | None, unexplained: str) -> list[RenderableType]:
    """What an explanation in another report comes to: its answer in words; the page has its
    tables."""
    head = inert(f"What {name} does inside (A: the control, B: with it):", "bold")
    said = answer(found) if found is not None else (f"not known: {unexplained}",)
    return [head, *(inert(f"  {line}") for line in said)]
