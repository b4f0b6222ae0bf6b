"""Whose fault wrong answers are, by numbers; seeds make the simulations repeatable."""

import numpy as np
import pytest
from scipy.stats import binom

from phpdyno.model.answered import AnswerCount
from phpdyno.model.verdict import Effect, Verdict
from phpdyno.stats.comparison.wrong_answers import blame, held_to_answers, wrong_words
from phpdyno.stats.exact import at_least

RUNS = 4000


def count(total: int, wrong: int = 0, first: str = "") -> AnswerCount:
    return AnswerCount(exact=total, wrong=wrong, first=first)


@pytest.mark.parametrize(
    ("hits", "of", "share"), [(0, 5, 0.5), (3, 3, 0.5), (1, 20, 0.05), (7, 31, 0.4), (400, 900, 0.42), (5, 5, 1.0), (1, 4, 0.0)]
)
def test_a_tail_of_the_binomial_is_scipys(hits: int, of: int, share: float) -> None:
    assert at_least(hits, of, share) == pytest.approx(binom.sf(hits - 1, of, share), abs=1e-12)


@pytest.mark.parametrize(
    ("control", "treated", "blamed"),
    [
        (count(1000), count(1000), ""),
        (count(1000, 5), count(1000), ""),
        (count(30_000), count(30_000, 1), "alone"),
        (count(30_000), count(30_000, 6), "alone"),
        (count(30_000), count(30_000, 7), "certain"),
        (count(30_000, 3), count(30_000, 4), ""),
        (count(30_000, 1), count(30_000, 20), "certain"),
        # The control was asked four times as often, as it is beside four treatments.
        (count(40_000), count(10_000, 3), "certain"),
        (count(0), count(10, 1), "alone"),
    ],
)
def test_a_share_of_the_controls_clears_a_treatment_and_none_never_does(control: AnswerCount, treated: AnswerCount, blamed: str) -> None:
    assert blame(control, treated) == blamed


def test_a_page_with_a_variant_of_its_own_blames_nobody_for_certain() -> None:
    """Decision 067: one answer in fifty is another one, in both arms alike."""
    rng = np.random.default_rng(3)
    pairs = rng.binomial(2000, 0.02, size=(RUNS, 2))
    certain = sum(blame(count(2000, int(c)), count(2000, int(t))) == "certain" for c, t in pairs)
    assert certain / RUNS <= 0.01


@pytest.mark.parametrize(("rate", "answers"), [(1 / 12, 200), (1 / 10_000, 30_000)])
def test_a_treatment_that_alone_answers_wrongly_is_found(rate: float, answers: int) -> None:
    rng = np.random.default_rng(4)
    wrong = rng.binomial(answers, rate, size=RUNS)
    found = sum(blame(count(answers), count(answers, int(each))) != "" for each in wrong)
    assert found / RUNS >= 0.94


EFFECT = Effect(1.2, 1.1, 1.3, 9, 0.95, 0.01, 1.2)
IMPROVED = Verdict("arm", "improved", "relevant", EFFECT)


def test_no_verdict_stands_beside_wrong_answers_of_the_treatment_alone() -> None:
    treated = count(31_204, 3, "/: the body differs at byte 7")
    found = held_to_answers(IMPROVED, count(31_310), treated)
    assert (found.kind, found.effect, found.relevance) == ("invalid", None, "")
    assert found.reason == "3 of 31,204 answers were not the control's (of its own: 0 of 31,310); first: /: the body differs at byte 7"


def test_what_the_control_gives_as_well_is_a_warning() -> None:
    control, treated = count(31_310, 4), count(31_204, 3)
    found = held_to_answers(IMPROVED, control, treated)
    assert (found.kind, found.effect) == ("improved", EFFECT)
    assert found.warnings == (f"{wrong_words(control, treated)}: no more than the control's own share explains",)
    assert held_to_answers(IMPROVED, control, count(31_204)) == IMPROVED
