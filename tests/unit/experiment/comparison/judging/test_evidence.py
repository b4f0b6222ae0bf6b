"""The verdict on one treatment from made-up blocks; nothing was measured."""

import pytest

from phpdyno.commands.compare.view.whole import view_of
from phpdyno.experiment.comparison.judging.evidence import TreatmentEvidence
from phpdyno.model.answered import AnswerCount
from phpdyno.model.arm import Arm
from tests.support.made_up.journals import arm, blocks, opening, plan

BY_TIME = arm("slow check", ini__realpath_cache_ttl="600")
JIT = arm("jit", ini__opcache__jit="tracing")
NUMBER = 24
NONE = AnswerCount()


def evidence(of: Arm, effect: float, *, control: AnswerCount = NONE, treated: AnswerCount = NONE) -> TreatmentEvidence:
    seen = [each for block in blocks({of.name: effect}, NUMBER, sigma=0.002) for each in block.observations]
    return TreatmentEvidence(plan(of), of, seen, control=control, treated=treated)


def test_that_nothing_is_seen_of_what_acts_by_time_is_no_finding() -> None:
    seen = evidence(BY_TIME, 1.0)
    assert seen.verdict().kind == "equivalent"
    final = seen.final("enough blocks")
    assert (final.kind, final.reason) == ("inconclusive", "not judged under a busy loop: ini.realpath_cache_ttl acts by time")


def test_a_report_of_a_run_that_was_cut_short_says_the_same() -> None:
    records = [*opening(plan(BY_TIME)), *blocks({BY_TIME.name: 1.0}, NUMBER, sigma=0.002)]
    (row,) = view_of(records, "run").rows
    assert (row.kind, "not judged under a busy loop" in row.reason) == ("inconclusive", True)


def test_what_is_better_is_told_with_its_risks() -> None:
    final = evidence(JIT, 1.2).final()
    assert final.kind == "improved"
    assert any("JIT defects" in each for each in final.warnings)
    assert not any("JIT defects" in each for each in evidence(JIT, 0.8).final().warnings)


@pytest.mark.parametrize(("control", "kind"), [(0, "invalid"), (3, "improved")])
def test_wrong_answers_are_held_against_it_unless_the_control_gives_such_too(control: int, kind: str) -> None:
    seen = evidence(JIT, 1.2, control=AnswerCount(exact=9_000, wrong=control), treated=AnswerCount(exact=9_000, wrong=2))
    assert seen.final().kind == kind
    assert (seen.blame == "") == (control > 0)
