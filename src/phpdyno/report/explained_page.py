"""An explanation as one HTML page that needs no network, and the part of it that other pages hold."""

import shlex
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from phpdyno.journal.explained import ExplainRecord
from phpdyno.model.explained import Explained
from phpdyno.report import explained_words as words
from phpdyno.report.figures.base import Figure
from phpdyno.report.figures.parts import parts_of
from phpdyno.report.frame import render_frame

FILTERS: Mapping[str, Any] = {
    "arm_lines": words.arm_lines,
    "answer": words.answer,
    "explain_scope": words.scope,
    "heads": words.heads,
    "cells": lambda section: list(words.rows(section)),
    "unit_of": words.unit_of,
    "read_by": words.reading_by,
}
"""What the part of a page needs."""
DRAWN = ("cpu", "wall", "memory")


class PageView(Struct, frozen=True):
    """What every page has in its head."""

    title: str
    run: str
    started: str
    elapsed_s: float
    phpdyno: str
    repeat: str
    outcome: str = "finished"
    outcome_detail: str = ""


def render_explained(record: ExplainRecord, run: str) -> str:
    """The whole page as text. About 5 MB, nearly all of it plotly.js."""
    found = record.found
    view = PageView(words.title_of(found), run, record.started, record.took_s, record.phpdyno, shlex.join(("phpdyno", *record.argv)))
    return render_frame(
        "explain.html.j2", explained_figures(found, 0), filters=FILTERS, warnings=found.warnings, view=view, explained=(found,)
    )


def explained_figures(found: Explained, number: int) -> dict[str, Figure]:
    """The plots of an explanation, by the id of their place; it is the page's explanation of this `number`."""
    drawn = {f"explain-{number}-{each.key}": parts_of(each, found.arms) for each in found.sections if each.key in DRAWN}
    return {name: figure for name, figure in drawn.items() if figure is not None}
