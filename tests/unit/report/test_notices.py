"""What every report begins with."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from rich.console import Console, RenderableType

from phpdyno.commands.compare.render.page import render_page
from phpdyno.commands.compare.render.terminal import summary
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.commands.ladder.render.page import render_ladder
from phpdyno.commands.ladder.render.terminal import ladder_summary
from phpdyno.commands.matrix.render.page import render_matrix
from phpdyno.commands.matrix.render.terminal import matrix_summary
from phpdyno.commands.measure.render.page import render_sweep
from phpdyno.commands.measure.render.terminal import sweep_summary
from phpdyno.commands.measure.view.whole import sweep_view
from phpdyno.commands.study.render.page import study_page
from phpdyno.commands.study.render.terminal import study_summary
from phpdyno.commands.study.view.whole import study_view
from phpdyno.commands.tune.render.page import render_tune
from phpdyno.commands.tune.render.terminal import tune_summary
from phpdyno.commands.tune.view import tune_view
from phpdyno.journal.records import Preflight, Record
from phpdyno.model.notices import first_of, open_words, rest_of, through_words
from phpdyno.model.services.service import Tcp
from tests.support.made_up.journals import finished
from tests.support.made_up.studies import counts, journals_of, record_of, small_study
from tests.support.made_up.sweeps.sweep_runs import full_sweep
from tests.support.made_up.sweeps.tunes import record
from tests.unit.commands.ladder.render.test_report import view as ladder_of_a_run
from tests.unit.commands.matrix.test_report import view as matrix_of_a_run

THROUGH = through_words([Tcp("api.example.com", 443), Tcp("::1", 80)])
OPEN = open_words("--no-bottle")
OTHER = "the governor is powersave"


def noticed(*warnings: str) -> list[Record]:
    return [structs.replace(each, warnings=warnings) if isinstance(each, Preflight) else each for each in finished()]


def test_they_are_told_from_other_warnings() -> None:
    assert THROUGH == "lets through: api.example.com:443, [::1]:80"
    assert first_of((OTHER, OPEN, THROUGH, THROUGH)) == (OPEN, THROUGH)
    assert rest_of((OTHER, OPEN, THROUGH)) == (OTHER,)


@pytest.mark.parametrize("notice", [THROUGH, OPEN])
def test_they_stand_below_the_title_and_nowhere_else(notice: str) -> None:
    view = view_of(noticed(OTHER, notice), "run")
    out = io.StringIO()
    Console(file=out, width=200).print(summary(view))
    lines = out.getvalue().splitlines()
    assert lines[1] == notice
    assert out.getvalue().count(notice) == 1
    assert OTHER in out.getvalue()
    page = render_page(view)
    shown = notice.replace("'", "&#39;")
    assert re.search(rf"</h1>\s*<p class=\"warning\"><strong>{re.escape(shown)}</strong></p>", page)
    assert page.count(shown) == 1


def views(folder: Path) -> Iterator[tuple[RenderableType, str]]:
    """Each other kind of report, on the terminal and as a page, with a warning of each kind."""
    said: Any = {"warnings": (OTHER, THROUGH)}
    tune = structs.replace(tune_view(record(), "run"), **said)
    yield tune_summary(tune), render_tune(tune)
    ladder = structs.replace(ladder_of_a_run(), **said)
    yield ladder_summary(ladder), render_ladder(ladder)
    matrix = structs.replace(matrix_of_a_run("wordpress", "hello"), **said)
    yield matrix_summary(matrix), render_matrix(matrix)
    swept = structs.replace(sweep_view(full_sweep(), "run"), **said)
    yield sweep_summary(swept), render_sweep(swept)
    asked = small_study(folder)
    held = structs.replace(study_view(record_of(asked, {}, counts()), journals_of(asked)), **said)
    yield study_summary(held), study_page(held)


def test_every_other_report_begins_with_them_too(tmp_path: Path) -> None:
    for terminal, page in views(tmp_path):
        out = io.StringIO()
        Console(file=out, width=200).print(terminal)
        lines = out.getvalue().splitlines()
        assert lines[1] == THROUGH, lines[:4]
        assert out.getvalue().count(THROUGH) == 1
        assert page.count(THROUGH) == 1
        assert page.index(THROUGH) < page.index(OTHER)
