"""An explanation as one HTML page that needs no network, and the part of it that other pages
hold."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from phpdyno.commands.explain import words
from phpdyno.commands.explain.render.figures import parts_of
from phpdyno.commands.explain.render.flame import flame
from phpdyno.journal.explained import ExplainRecord
from phpdyno.model.inside.explained import Explained
from phpdyno.report.answer.shape import CommandAnswer
from phpdyno.report.frame import render_frame
from phpdyno.report.plots import Figure
from phpdyno.report.view_parts import ExplainedRow

if TYPE_CHECKING:
    from markupsafe import Markup

TEMPLATES = "phpdyno.commands.explain.render"
"""The package of the templates; a page that holds an explanation names it beside its own."""
FILTERS: Mapping[str, Any] = {
    "arm_lines": words.arm_lines,
    "answer": words.answer,
    "explain_scope": words.scope,
    "heads": words.heads,
    "cells": lambda section: list(words.rows(section)),
    "unit_of": words.unit_of,
    "read_by": words.reading_by,
    "flames": lambda found: list(flames(found)),
}
"""What the part of a page needs."""
LEAST_SAMPLES = 200
"""Fewer make no chart."""
DRAWN = ("cpu", "wall", "memory")


class ExplainPage(Struct, frozen=True):
    """What every page has in its head."""

    title: str
    run: str
    started: str
    elapsed_s: float
    phpdyno: str
    repeat: str
    outcome: str = "finished"
    outcome_detail: str = ""


def render_explained(record: ExplainRecord, run: str, answer: CommandAnswer | None = None) -> str:
    """The whole page as text. About 5 MB, nearly all of it plotly.js."""
    found = record.found
    view = ExplainPage(words.title_of(found), run, record.started, record.took_s, record.phpdyno, shlex.join(("phpdyno", *record.argv)))
    looked = [ExplainedRow(found.arms[-1], found)]
    return render_frame(
        "explain.html.j2",
        inside_figures(looked),
        packages=[TEMPLATES],
        filters=FILTERS,
        warnings=found.warnings,
        answer=answer,
        view=view,
        **inside(looked),
    )


def flames(found: Explained) -> Iterator[tuple[str, "Markup"]]:
    """The flame charts of an explanation with their headings: each arm's, and of two arms the
    second's against the first's."""
    from markupsafe import Markup  # noqa: PLC0415 (slow to import, and most commands never draw)

    letters = ("",) if len(found.arms) == 1 else ("A: ", "B: ")
    base = None
    for letter, profile in zip(letters, found.profiles, strict=False):
        for one, held, clock in ((profile.wall, base and base.wall, "wall time"), (profile.cpu, base and base.cpu, "CPU time")):
            if one.samples >= LEAST_SAMPLES:
                against = ", against A: warm where more time goes, cool where less" if held is not None else ""
                yield f"{letter}{clock}{against}", Markup(flame(one, held))  # noqa: S704 (flame escapes every name)
        base = profile


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
