"""The answer of a comparison: one screen, in percent, for one treatment and for many."""

import pytest
from msgspec import structs

from phpdyno.commands.compare.answer import compare_answer, verdict_words
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.model.verdict import Relevance, VerdictKind
from phpdyno.report.answer.shape import MOST_LINES
from tests.support.made_up.journals import finished

VIEW = view_of(finished(), "run")
RUN = "runs/one"


def test_many_treatments_are_a_table() -> None:
    answer = compare_answer(VIEW, RUN)
    assert answer.table is not None
    effects = [row for row in VIEW.rows if not row.is_aa]
    assert len(answer.table.rows) == len(effects)
    assert answer.result.startswith("1 of ")
    assert answer.fitted().lines <= MOST_LINES
    assert answer.next == (("Report", "runs/one/report.html"),)


def test_one_treatment_is_a_sentence() -> None:
    row = next(row for row in VIEW.rows if row.kind == "improved")
    answer = compare_answer(structs.replace(VIEW, rows=(row,)), RUN)
    assert answer.table is None
    assert "% less CPU per request (95 % CI " in answer.result
    assert answer.result.endswith(": better")
    assert answer.beside[0].startswith(f"{row.name} · CPU ")


def test_a_run_that_was_cut_short_says_so_and_how_to_go_on() -> None:
    answer = compare_answer(structs.replace(VIEW, outcome="interrupted"), RUN)
    assert answer.subject.endswith(" · interrupted")
    assert answer.next[0] == ("Go on", "phpdyno compare --resume runs/one")
    empty = compare_answer(structs.replace(VIEW, outcome="failed", outcome_detail="nginx ended", rows=()), RUN)
    assert empty.result == "none yet: failed, nginx ended"


@pytest.mark.parametrize(
    ("kind", "relevance", "words"),
    [
        ("improved", "relevant", "better"),
        ("improved", "not relevant", "better, below your 1 %"),
        ("improved", "relevance open", "better, whether by 1 % is open"),
        ("improved", "spent elsewhere", "spent elsewhere: the whole stack takes more"),
        ("regressed", "relevant", "worse"),
        ("equivalent", "", "no difference of 1 % or more"),
        ("inconclusive", "", "not decided"),
        ("invalid", "", "invalid"),
    ],
)
def test_a_verdict_in_words(kind: VerdictKind, relevance: Relevance, words: str) -> None:
    assert verdict_words(structs.replace(VIEW.rows[0], kind=kind, relevance=relevance, margin=0.01)) == words


def test_the_noise_check_is_of_the_same_metric() -> None:
    row = next(row for row in VIEW.rows if row.kind == "improved")
    aa = structs.replace(row, name="A/A", is_aa=True, metric="throughput", ratio=2.0, low=1.9, high=2.1)
    broken = structs.replace(aa, metric="cpu", kind="invalid")
    own = structs.replace(aa, metric="cpu", ratio=1.01, low=0.99, high=1.03)
    notes = compare_answer(structs.replace(VIEW, rows=(aa, broken, own, row)), RUN).notes
    assert "Noise check: control against itself −1.0 % (−2.9 to +1.0): no false effect" in notes
