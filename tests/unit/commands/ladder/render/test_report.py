"""The report of a ladder."""

import io

import msgspec
import pytest
from msgspec import structs
from rich.console import Console

from phpdyno.commands.ladder.answer import ladder_answer
from phpdyno.commands.ladder.render.page import ladder_figures, render_ladder
from phpdyno.commands.ladder.render.terminal import ladder_summary
from phpdyno.commands.ladder.steps import measured_in
from phpdyno.commands.ladder.view import LadderView, ladder_view, outcome_words, step_words
from phpdyno.model.runs.ladder import LadderStep, StepFound
from phpdyno.model.runs.tune import TunedRatio
from phpdyno.report.answer.shape import MOST_LINES
from tests.support.made_up.ladders import knob_journal, ladder_journal, ladder_record


def view() -> LadderView:
    record = ladder_record()
    run = "20260102-ladder-wordpress"
    return ladder_view(record, measured_in(ladder_journal(record), run), measured_in(knob_journal(record), run))


def shown(width: int) -> str:
    written = io.StringIO()
    Console(width=width, file=written).print(ladder_summary(view()))
    return written.getvalue()


def test_each_step_says_what_it_stands_on_and_whether_it_earns_its_place() -> None:
    said = view().sentences
    assert said[0].startswith("o2 on stock: −0.9 % (−1.9 to +0.1): ")
    assert any(line.startswith("pgo on o2: −") and ": keep; −" in line for line in said)
    assert "lto on o2: no number (compiling lto failed: internal compiler error)" in said
    assert any(line.startswith("JIT and huge pages on JIT: ") and "no effect that matters" in line for line in said)
    assert "steps to keep: pgo, pgo+bolt, JIT, JIT and preloading; not kept: " in said[-1]
    # What was tried is named with what came of it, wherever only the last line is read.
    tried = said[-1].partition("not kept: ")[2]
    assert [each.partition(" (")[0] for each in tried.rstrip(".").split("), ")] == [
        "o2",
        "lto",
        "huge text pages",
        "JIT and huge pages",
    ]
    assert "lto (no number)" in tried


def test_what_goes_on_top_of_a_build_is_held_against_it_and_in_all_against_the_stock_php() -> None:
    found = {each.step.name: each for each in view().steps}
    jit, below = found["JIT"], found["pgo+bolt"]
    assert jit.step.on == "pgo+bolt"
    assert jit.ratio is not None
    assert jit.ratio.value == pytest.approx(1.071, abs=0.01)
    assert jit.total is not None
    assert below.total is not None
    assert jit.total.value == pytest.approx(jit.ratio.value * below.total.value)
    assert jit.total.low is not None
    assert below.total.low is not None
    assert jit.ratio.low is not None
    assert jit.total.low == pytest.approx(jit.ratio.low * below.total.low)


def test_a_ladder_whose_knobs_are_missing_is_unfinished() -> None:
    record = ladder_record()
    held = ladder_view(record, measured_in(ladder_journal(record), "run"))
    assert (held.outcome, [each.step.name for each in held.steps]) == ("unfinished", ["o2", "lto", "pgo", "pgo+bolt"])
    builds_only = structs.replace(record, knob_budget_s=0.0, knobs=())
    assert ladder_view(builds_only, measured_in(ladder_journal(record), "run")).outcome == "finished"


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_shows_every_step_and_ends_with_the_outcome(width: int) -> None:
    said = shown(width)
    words = " ".join(said.split())
    for name in ("o2", "lto", "pgo+bolt", "huge text pages", "JIT", ") keep"):
        assert name in words, name
    assert max(map(len, said.splitlines())) <= width
    assert "Outcome: " in words[-400:]


def test_the_page_holds_both_plots_and_the_builds() -> None:
    held = view()
    assert set(ladder_figures(held)) == {"steps", "totals"}
    page = render_ladder(held)
    assert "5,000 KiB of code (2 whole pages of 2 MiB)" in page
    assert "5,000 KiB of code (huge text pages hold what BOLT left in place, not what it laid out)" in page
    assert [(each.name, each.text_pages) for each in held.builds] == [("o2-1a2b3c4d", 2), ("pgo-1a2b3c4d", 2), ("pgo+bolt-1a2b3c4d", 0)]
    for part in ("pgo+bolt-1a2b3c4d", "taken branches", "700,000", "HYBRID interpreter", 'id="totals"', "comparison.html"):
        assert part in page, part
    assert msgspec.json.decode(msgspec.json.encode(held), type=LadderView) == held


def test_the_code_of_a_build_of_an_earlier_version_has_no_size() -> None:
    record = ladder_record()
    builds = {name: structs.replace(build, binaries=()) for name, build in record.builds.items()}
    held = ladder_view(structs.replace(record, builds=builds), measured_in(ladder_journal(record), "run"))
    assert {(each.text_kib, each.text_pages) for each in held.builds} == {(0, 0)}
    page = render_ladder(held)
    assert "KiB of code" not in page
    assert "How its code is laid out" not in page


def test_the_page_shows_how_the_code_that_serves_is_laid_out() -> None:
    held = view()
    assert [[each.file for each in build.code] for build in held.builds] == [["php-fpm"]] * 3
    page = render_ladder(held).replace("<wbr>", "")
    assert page.count("<td>php-fpm</td><td>.text</td><td>4,997</td><td>1,234</td>") == 3
    assert page.count("<code>.bolt.org.text</code> is the code as it was") == 1
    assert "<td>php-cgi</td>" not in page


def test_the_page_says_of_each_binary_what_bolt_changed_and_what_it_could_not_read() -> None:
    page = render_ladder(view()).replace("<wbr>", "")
    of_fpm, of_opcache = page.index("What BOLT changed in php-fpm"), page.index("What BOLT changed in opcache.so")
    assert of_fpm < page.index("1,000,000") < page.index("zval_ptr_dtor") < of_opcache < page.index("50,000")


@pytest.mark.parametrize(
    ("kind", "relevance", "earned", "reason", "words"),
    [
        ("improved", "relevant", True, "", "keep"),
        ("improved", "relevance open", True, "", "keep, how much it brings is open"),
        ("improved", "not relevant", False, "", "real, but below the margin"),
        ("regressed", "relevant", False, "", "it hurts"),
        ("equivalent", "", False, "", "no effect that matters"),
        ("inconclusive", "", False, "there was no time for it", "there was no time for it"),
        ("inconclusive", "", False, "", "undecided in this budget"),
    ],
)
def test_a_verdict_in_words(kind: str, relevance: str, *, earned: bool, reason: str, words: str) -> None:
    ratio = TunedRatio(1.02, 1.01, 1.03, 20)
    found = StepFound(LadderStep("pgo", "build=pgo", "o2"), ratio, ratio, kind, relevance, earned=earned, reason=reason)  # type: ignore[arg-type]
    assert step_words(found) == f"pgo on o2: −2.0 % (−2.9 to −1.0): {words}; −2.0 % (−2.9 to −1.0) in all"


def test_nothing_is_called_best_that_is_not_certain() -> None:
    open_end = StepFound(LadderStep("pgo", "build=pgo"), None, TunedRatio(1.05, 0.99, 1.11, 9), "inconclusive", "", earned=False)
    assert outcome_words([open_end], 0.95) == "Outcome: no step is certainly better than the PHP that is there."
    certain = structs.replace(open_end, total=TunedRatio(1.05, 1.04, 1.06, 20))
    said = outcome_words([open_end, certain], 0.95)
    assert said.startswith("Outcome: pgo: CPU per request −4.8 % (−5.7 to −3.8) against the stock PHP, 95 % CI")


def test_the_answer_names_the_best_build_and_each_step_with_its_percent() -> None:
    answer = ladder_answer(view(), "runs/one").fitted()
    assert answer.standing == "good"
    assert "% less CPU per request (95 % CI " in answer.result
    assert answer.table is not None
    verdicts = {line.cells[0]: line.cells[-1] for line in answer.table.rows}
    assert verdicts["pgo on o2"] == "keep"
    assert answer.lines <= MOST_LINES
    nothing = ladder_answer(structs.replace(view(), steps=()), "runs/one")
    assert nothing.result == "no step is certainly better than the PHP that is there"
