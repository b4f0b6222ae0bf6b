import msgspec
import pytest

from phpdyno.model.observation import Cost, Observation
from phpdyno.model.verdict import ProofOutcome
from phpdyno.stats.conclusion import conclude, sensitivity_warnings

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
