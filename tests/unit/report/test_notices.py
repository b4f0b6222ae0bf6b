"""What every report begins with."""

import io
import re

import pytest
from msgspec import structs
from rich.console import Console

from phpdyno.journal.records import Preflight, Record
from phpdyno.model.notices import first_of, open_words, rest_of, through_words
from phpdyno.model.service import Tcp
from phpdyno.report.page import render_page
from phpdyno.report.terminal import summary
from phpdyno.report.view import view_of
from tests.support.journals import finished

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
