"""What an answer consists of. Pure data; a command's `answer.py` fills it from its view."""

import textwrap
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, structs

from phpdyno.model.verdict import VerdictKind

COLUMNS, INDENT = 80, 8
MOST_LINES = 14
"""Lines that an answer has at most: one screen, with room for the prompt."""

Standing = Literal["good", "none", "bad", "open", "invalid"]
"""How a result stands: better, no difference that matters, worse, not decided, no result."""
STANDING: Mapping[VerdictKind, Standing] = {
    "improved": "good",
    "regressed": "bad",
    "equivalent": "none",
    "inconclusive": "open",
    "invalid": "invalid",
}


class TableLine(Struct, frozen=True):
    """A row of an answer's table: its cells, the first of which may be shortened, and its
    standing."""

    cells: tuple[str, ...]
    standing: Standing = "none"


class AnswerTable(Struct, frozen=True):
    """The few rows that matter most, the most important first. `rest` closes the table: what the
    other rows have in common."""

    heads: tuple[str, ...]
    rows: tuple[TableLine, ...]
    rest: str = ""


class CommandAnswer(Struct, frozen=True):
    """What a command found: of what (`subject`), what must be known before all else (`notices`),
    the `result` in one sentence, what stands `beside` it, a table, what casts doubt on all of it
    (`doubts`, never left out), notes, and what to do `next` (a label and a command each)."""

    subject: str
    result: str
    standing: Standing
    beside: tuple[str, ...] = ()
    table: AnswerTable | None = None
    notes: tuple[str, ...] = ()
    next: tuple[tuple[str, str], ...] = ()
    notices: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def lines(self) -> int:
        """Lines that it takes on a screen of 80 columns; commands are never broken."""
        table = 0 if self.table is None else 1 + len(self.table.rows) + bool(self.table.rest)
        told = sum(_folded(each, COLUMNS - INDENT) for each in (self.result, *self.beside))
        whole = sum(_folded(each, COLUMNS) for each in (self.subject, *self.notices, *self.doubts, *self.notes))
        return told + whole + table + len(self.next)

    def fitted(self) -> "CommandAnswer":
        """The same with as many of its notes as there is room for; the longest go first, the last
        one stays."""
        notes = list(self.notes)
        answer = self
        while answer.lines > MOST_LINES and len(notes) > 1:
            notes.remove(max(notes[:-1], key=len))
            answer = structs.replace(self, notes=tuple(notes))
        return answer

    def with_beside(self, beside: tuple[str, ...]) -> "CommandAnswer":
        """The same with these lines below the result."""
        return structs.replace(self, beside=beside)

    def with_notes(self, notes: tuple[str, ...]) -> "CommandAnswer":
        """The same with these notes."""
        return structs.replace(self, notes=notes)

    def with_table(self, table: AnswerTable | None) -> "CommandAnswer":
        """The same with a table."""
        return structs.replace(self, table=table)


def _folded(text: str, width: int) -> int:
    return len(textwrap.wrap(text, width)) or 1
