import math

import msgspec
import pytest

from phpdyno.model.observation import Cost, Observation
from phpdyno.model.verdict import ProofOutcome
from phpdyno.stats.comparison.conclusion import conclude, sensitivity_warnings

COST = Cost(10, 100, 10, 0, 200, 300, 5, 9)


def observe(*logs: float, treatment: str = "b", excluded: str = "") -> list[Observation]:
    return [Observation(treatment, n, log, log, 0.05, 10, COST, COST, excluded=excluded) for n, log in enumerate(logs)]


WOBBLE = [0.071, 0.069, 0.072, 0.068, 0.070, 0.073, 0.067, 0.070]


def test_an_improvement() -> None:
    proof = ProofOutcome("ini.x", "1", proved=True, detail="seen")
    verdict = conclude("b", observe(*WOBBLE), alpha=0.05, margin=0.01, proofs=(proof,), warnings=("w",))

    assert (verdict.kind, verdict.relevance, verdict.proofs, verdict.warnings) == ("improved", "relevant", (proof,), ("w",))
    assert verdict.effect is not None
    assert verdict.effect.blocks == 8


def paid_by_the_database(*, of_a_request_ns: int) -> list[Observation]:
    """The improvement, and as much more of the database's time in each request of the treatment."""
    seen = []
    for each in observe(*WOBBLE):
        control = Cost(100, 1_000_000, 100_000, 0, 0, 0, 5, 9)
        treated = Cost(100, round(1_000_000 / math.exp(each.log_ratio)), 100_000, 100 * of_a_request_ns, 0, 0, 5, 9)
        seen.append(msgspec.structs.replace(each, control=control, treated=treated))
    return seen


def test_what_php_saves_and_the_whole_stack_pays_is_no_relevant_improvement() -> None:
    little, much = (conclude("b", paid_by_the_database(of_a_request_ns=each), alpha=0.05, margin=0.01) for each in (200, 1200))
    assert (little.kind, little.relevance) == ("improved", "relevant")
    assert (much.kind, much.relevance) == ("improved", "spent elsewhere")
    assert much.effect == little.effect
    # One block of which the database's CPU is not known, because a thread of it ended, hides
    # nothing.
    first, *rest = paid_by_the_database(of_a_request_ns=1200)
    ended = msgspec.structs.replace(first, treated=msgspec.structs.replace(first.treated, database_cpu_ns=-10_000_000))
    assert conclude("b", [ended, *rest], alpha=0.05, margin=0.01).relevance == "spent elsewhere"
    # More work at a time may well take more CPU.
    loaded = conclude("b", paid_by_the_database(of_a_request_ns=1200), alpha=0.05, margin=0.01, metric="throughput")
    assert (loaded.kind, loaded.relevance) == ("improved", "relevant")


def test_only_what_counts_is_counted() -> None:
    seen = observe(*WOBBLE) + observe(9.0, excluded="steal") + observe(-9.0, treatment="other")
    verdict = conclude("b", seen, alpha=0.05, margin=0.01)
    assert verdict.effect is not None
    assert verdict.effect.blocks == 8


def test_no_blocks_no_effect() -> None:
    verdict = conclude("b", observe(0.1, excluded="steal"), alpha=0.05, margin=0.01, reason="budget spent")
    assert (verdict.kind, verdict.effect, verdict.reason) == ("inconclusive", None, "budget spent")


def test_warns_when_clipping_moves_the_effect_beyond_the_margin() -> None:
    seen = [msgspec.structs.replace(each, clipped_log_ratio=each.log_ratio - 0.02) for each in observe(*WOBBLE)]
    assert "2.0 %" in conclude("b", seen, alpha=0.05, margin=0.01).warnings[0]
    assert conclude("b", seen, alpha=0.05, margin=0.05).warnings == ()
    assert conclude("b", seen, alpha=0.05, margin=0.0).warnings == ()


def test_warns_of_blocks_that_resemble_each_other_and_not_of_those_that_alternate() -> None:
    drifting = [0.01 * each for each in range(12)]
    (warning,) = sensitivity_warnings(drifting, drifting, 0.01)
    assert "resemble each other (lag-1 autocorrelation +0.75 over 12 blocks): the interval may be too narrow" in warning
    alternating = [0.07 + 0.01 * (-1) ** each for each in range(12)]
    assert sensitivity_warnings(alternating, alternating, 0.01) == ()


def test_refuses_a_negative_margin() -> None:
    with pytest.raises(ValueError, match="margin"):
        conclude("b", observe(*WOBBLE), alpha=0.05, margin=-1.0)
