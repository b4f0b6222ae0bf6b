"""What of a comparison is looked into afterwards, kept in its journal and shown again."""

import io
from pathlib import Path

from msgspec import structs
from rich.console import Console

from phpdyno.commands.compare.explained import pairs_of, unexplained
from phpdyno.commands.compare.render.page import render_page
from phpdyno.commands.compare.render.terminal import summary
from phpdyno.commands.compare.view.document import document
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.commands.tune.explained import NOTHING_FOUND, is_left, winner_inside
from phpdyno.commands.tune.render.page import render_tune
from phpdyno.commands.tune.render.terminal import tune_summary
from phpdyno.commands.tune.view import tune_view
from phpdyno.experiment.comparison.state import RunState
from phpdyno.journal.records import ExplainedArms, Planned, Record
from phpdyno.journal.tune import TuneRecord
from phpdyno.model.verdict import Verdict
from tests.support.fakes.fake_study import FakeProgress
from tests.support.made_up.journals import AA as AA_ARM
from tests.support.made_up.journals import JIT, TIMESTAMPS, finished, plan
from tests.support.made_up.sweeps.tunes import record
from tests.unit.commands.explain.test_explained_words import SLOWER

LOOKED = (ExplainedArms(JIT.name, SLOWER), ExplainedArms(TIMESTAMPS.name, None, "it does not start"))


def explaining() -> list[Record]:
    """A finished comparison that was asked to explain, and did."""
    records = [Planned(structs.replace(each.plan, explain=True)) if isinstance(each, Planned) else each for each in finished()]
    return [*records[:-1], *LOOKED, records[-1]]


def test_every_valid_treatment_is_looked_into_once() -> None:
    state = RunState(structs.replace(plan(AA_ARM, JIT, TIMESTAMPS), explain=True))
    assert unexplained(state) == [JIT.name, TIMESTAMPS.name]
    state.take(LOOKED[0])
    assert unexplained(state) == [TIMESTAMPS.name]
    state.verdicts[TIMESTAMPS.name] = Verdict(TIMESTAMPS.name, "invalid")
    assert unexplained(state) == []


def test_nothing_is_looked_into_that_nobody_asked_for() -> None:
    assert unexplained(RunState(plan(JIT))) == []


def test_the_control_against_itself_where_there_is_nothing_else() -> None:
    assert [arm.name for _, arm in pairs_of(plan(AA_ARM))] == [AA_ARM.name]


def test_a_journal_shows_it_again_on_screen_page_and_in_json() -> None:
    view = view_of(explaining(), "run")
    out = io.StringIO()
    Console(file=out, width=80, no_color=True).print(summary(view))
    said = " ".join(out.getvalue().split())
    assert f"What {JIT.name} does inside" in said
    assert "what changed most: CPU of PHP" in said
    assert "not known: it does not start" in said
    page = render_page(view)
    assert '<div id="explain-0-cpu" class="plot">' in page
    assert "was not looked into: it does not start" in page
    rows = document(view)["explained"]
    assert [row["treatment"] for row in rows] == [JIT.name, TIMESTAMPS.name]
    assert rows[0]["found"]["sections"][0]["figures"][0]["difference"] == 3.0


def test_without_it_a_document_has_no_such_field() -> None:
    assert "explained" not in document(view_of(finished(), "run"))


def test_a_tune_shows_it_as_well() -> None:
    held: TuneRecord = structs.replace(record(), explained=ExplainedArms("the winner", SLOWER))
    view = tune_view(held, "run")
    out = io.StringIO()
    Console(file=out, width=80, no_color=True).print(tune_summary(view))
    assert "what changed most: CPU of PHP" in " ".join(out.getvalue().split())
    assert '<div id="explain-0-cpu" class="plot">' in render_tune(view)
    assert "explained" not in document(tune_view(record(), "run"))  # type: ignore[arg-type]


def test_a_tune_is_looked_into_once_and_only_where_that_was_asked_for(tmp_path: Path) -> None:
    asked = structs.replace(record(), asked=structs.replace(record().asked, explain=True))
    assert is_left(asked)
    assert not is_left(record())
    assert not is_left(structs.replace(asked, explained=ExplainedArms("the winner", SLOWER)))
    nothing = structs.replace(asked, found=structs.replace(asked.found, settings={}))
    assert winner_inside(tmp_path, nothing, FakeProgress()) == ExplainedArms("the winner", None, NOTHING_FOUND)
