"""An answer for a terminal of 80 columns or more. Nothing is printed here."""

from collections.abc import Iterator

from rich.console import Group
from rich.table import Table
from rich.text import Text

from phpdyno.report.answer.shape import COLUMNS, AnswerTable, CommandAnswer, Standing
from phpdyno.report.terminal_parts import inert
from phpdyno.report.words import shortened, visible

STYLES: dict[Standing, str] = {"good": "green", "none": "cyan", "bad": "red", "open": "yellow", "invalid": "magenta"}
LABEL = "RESULT"
NAME = "phpdyno"
LEAST_NAME = 20
"""Columns of a name, its middle left out, that are left to it in any case."""


def answer_screen(answer: CommandAnswer) -> Group:
    """The answer but for its commands, which no terminal may break."""
    return Group(*_parts(answer.fitted()))


def _parts(answer: CommandAnswer) -> Iterator[Text | Table]:
    yield Text(visible(answer.subject), style="bold", overflow="fold")
    yield from (inert(notice, "bold yellow") for notice in answer.notices)
    head = Text(LABEL, style="bold")
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(head, inert(answer.result, f"bold {STYLES[answer.standing]}"))
    for beside in answer.beside:
        grid.add_row(Text(), inert(beside))
    yield grid
    if answer.table is not None:
        yield _table(answer.table)
        if answer.table.rest:
            yield inert(answer.table.rest, "dim")
    yield from (inert(doubt, "yellow") for doubt in answer.doubts)
    yield from (inert(note) for note in answer.notes)


def command_lines(answer: CommandAnswer, *, own: str = NAME, as_root: str = NAME) -> tuple[str, ...]:
    """What to do now, a line for each command, however long it is: it can be copied. `own` is what
    this user's shell finds phpdyno by, `as_root` what sudo does."""
    width = max((len(label) for label, _ in answer.next), default=0) + 1
    found = {f"{NAME} ": f"{own} ", f"sudo {NAME} ": f"sudo {as_root} "}

    def copied(command: str) -> str:
        begins = next((each for each in found if command.startswith(each)), "")
        return f"{found[begins]}{command.removeprefix(begins)}" if begins else command

    return tuple(f"{label}:".ljust(width) + f" {copied(command)}" for label, command in answer.next)


def _table(table: AnswerTable) -> Table:
    drawn = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for head in table.heads:
        drawn.add_column(head, no_wrap=True)
    others = [max(map(len, cells)) for cells in list(zip(table.heads, *(row.cells for row in table.rows), strict=True))[1:]]
    room = max(LEAST_NAME, COLUMNS - sum(others) - 2 * len(others))
    for row in table.rows:
        first, *cells = row.cells
        drawn.add_row(inert(shortened(first, room)), *(inert(each, STYLES[row.standing]) for each in cells))
    return drawn
