"""Section `ladder` without servers: how a ladder becomes figures."""

from tools.bench.builds.ladder import IN_ALL, figures_of
from tools.bench.figures import measured_text, reached

from phpdyno.commands.ladder.steps import measured_in
from phpdyno.commands.ladder.view import ladder_view
from tests.support.made_up.ladders import knob_journal, ladder_journal, ladder_record


def test_a_step_has_a_figure_against_its_own_and_one_in_all_with_the_target() -> None:
    record = ladder_record()
    view = ladder_view(record, measured_in(ladder_journal(record), "run"), measured_in(knob_journal(record), "run"))
    found = {each.name.removeprefix("CPU per request: "): each for each in figures_of(view)}
    assert len(found) == 2 * len(view.steps)
    pgo = next(each for each in view.steps if each.step.name == "pgo")
    assert pgo.total is not None
    assert (found["pgo, in all"].estimate, found["pgo, in all"].target) == (pgo.total.value, IN_ALL["pgo"])
    assert found["pgo on o2"].target is None
    assert "internal compiler error" in measured_text(found["lto on o2"])
    assert reached(found["lto on o2"]) == "–"
    assert reached(found["JIT and preloading, in all"]) in {"yes", "no", "open"}
