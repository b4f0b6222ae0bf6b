"""An explanation as one HTML page that needs no network, and the part of it that other pages hold."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from phpdyno.journal.explained import ExplainRecord
from phpdyno.report import explained_words as words
from phpdyno.report.figures.base import Figure
from phpdyno.report.figures.parts import parts_of
from phpdyno.report.frame import render_frame
from phpdyno.report.shape import ExplainedRow

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
    looked = [ExplainedRow(found.arms[-1], found)]
    return render_frame("explain.html.j2", inside_figures(looked), filters=FILTERS, warnings=found.warnings, view=view, **inside(looked))


def inside(rows: Sequence[ExplainedRow]) -> dict[str, Any]:
    """What the template of that part is given."""
    return {
        "explained": [row.found for row in rows if row.found is not None],
        "unexplained": [(row.treatment, row.unexplained) for row in rows if row.found is None],
    }


def inside_figures(rows: Sequence[ExplainedRow]) -> dict[str, Figure]:
    """The plots of a page's explanations, by the id of their place."""
    figures: dict[str, Figure] = {}
    for number, found in enumerate(inside(rows)["explained"]):
        for section in found.sections:
            drawn = parts_of(section, found.arms) if section.key in DRAWN else None
            if drawn is not None:
                figures[f"explain-{number}-{section.key}"] = drawn
    return figures
