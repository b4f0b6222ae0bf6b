"""A script performs operations, an app answers requests: every report says which."""

import io
import json

import pytest
from rich.console import Console

from phpdyno.commands.compare.render.page import figures_of, render_page
from phpdyno.commands.compare.render.terminal import summary
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.journal.records import Record
from tests.support.made_up.journals import finished
from tests.support.made_up.protocol import full, of_a_script, script
from tests.unit.commands.compare.render.test_page import Page

# The run of an app by both metrics, with failed requests: no script is measured so, but every text
# is in it.
SCRIPTS = {"script": script(), "both metrics": of_a_script(full()), "without calibration": of_a_script(finished())}


def terminal(records: list[Record]) -> str:
    out = io.StringIO()
    Console(file=out, width=120, no_color=True).print(summary(view_of(records, "run")))
    return out.getvalue()


@pytest.mark.parametrize("run", SCRIPTS)
def test_a_script_has_no_requests(run: str) -> None:
    view = view_of(SCRIPTS[run], "run")
    page = Page(render_page(view)).text
    drawn = json.dumps(figures_of(view))
    assert view.unit == "operation"
    assert {row.unit for row in view.rows} == {"operation"}
    for text in (terminal(SCRIPTS[run]), page, drawn, view.metric, view.workload, view.calibration):
        assert "request" not in text.lower()
        assert "req/s" not in text
    assert "CPU per operation" in terminal(SCRIPTS[run])
    assert "Where the time goes, per operation" in page
    assert "status 200" not in page


def test_an_app_has_no_operations() -> None:
    view = view_of(full(), "run")
    assert (view.unit, {row.unit for row in view.rows}) == ("request", {"request"})
    for text in (terminal(full()), Page(render_page(view)).text, json.dumps(figures_of(view))):
        assert "operation" not in text


def test_the_words_of_a_script() -> None:
    view = view_of(script(), "run")
    assert view.rows[0].sentence.startswith("ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=64M: 6.4 % less CPU per operation (")
    assert view.calibrations[0].note.startswith("1 operation(s) per slot")
    assert "with 1 operation per slot" in next(each.said for each in view.carry_over if each.differs)
    assert "script bench.php, operations parse (75 %), render (25 %)" in view.workload
