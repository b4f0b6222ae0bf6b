import numpy as np
import pytest

from phpdyno.model.verdict import Relevance, VerdictKind
from phpdyno.stats.comparison.sequence import Interval
from phpdyno.tuning.ablation import Trial, WinnerPart, ablate, remaining, settled, too_much_lost, without_each
from phpdyno.tuning.factors import Candidate, Factor, entry

FACTORS = [Factor(name, (Candidate(name, {f"ini.{name}": "1"}),)) for name in "abc"]
WINNER = entry(FACTORS, (1, 1, 1))


def series(mean: float, blocks: int, seed: int, sigma: float = 0.002) -> dict[int, float]:
    return dict(enumerate((mean + np.random.default_rng(seed).normal(0.0, sigma, blocks)).tolist()))


CARRIES = Trial(9, {}, {}, "php-fpm does not start")
"""A part that stays whatever else does."""


def part_of(contribution: float, blocks: int = 40, margin: float = 0.01, sigma: float = 0.002) -> WinnerPart:
    trial = Trial(0, series(0.1, blocks, 2, sigma), series(0.1 - contribution, blocks, 1, sigma))
    found, _ = ablate([trial, CARRIES], alpha=0.1, margin=margin)
    return found


def test_each_part_is_left_out_once() -> None:
    found = without_each(FACTORS, WINNER)
    assert [each.levels for each in found] == [(0, 1, 1), (1, 0, 1), (1, 1, 0)]
    assert [each.name for each in found] == ["without a", "without b", "without c"]
    assert without_each(FACTORS, entry(FACTORS, (0, 1, 0))) == ()


@pytest.mark.parametrize(
    ("contribution", "kind", "relevance", "kept", "word"),
    [
        (0.03, "improved", "relevant", True, "adds to the rest"),
        (0.01, "improved", "relevance open", True, "adds to the rest"),
        (0.004, "improved", "not relevant", False, "less than the margin"),
        (0.0, "equivalent", "", False, "as good without it"),
        (-0.03, "regressed", "relevant", False, "better without it"),
    ],
)
def test_a_part_stays_when_it_carries_its_weight(
    contribution: float, kind: VerdictKind, relevance: Relevance, kept: bool, word: str
) -> None:
    found = part_of(contribution)
    assert (found.kind, found.relevance, found.kept) == (kind, relevance, kept)
    assert word in found.reason
    assert settled(found) is (relevance != "relevance open")


def test_a_part_of_which_nothing_was_shown_is_reverted() -> None:
    found = part_of(0.03, blocks=4)
    assert (found.kind, found.kept, settled(found)) == ("inconclusive", False, False)
    assert "no measurable benefit" in found.reason


def test_a_part_that_nobody_looked_at_is_reverted() -> None:
    found, _ = ablate([Trial(2, series(0.1, 9, 1), {}), CARRIES], alpha=0.05, margin=0.01)
    assert (found.factor, found.contribution, found.kept) == (2, None, False)
    assert "no time" in found.reason


def test_a_part_that_the_rest_cannot_do_without_stays() -> None:
    (found,) = ablate([Trial(1, series(0.1, 9, 1), {}, "php-fpm does not start")], alpha=0.05, margin=0.01)
    assert (found.kept, found.reason, settled(found)) == (True, "kept: without it php-fpm does not start", True)


def test_a_draw_of_the_control_is_nobodys_contribution() -> None:
    draws = series(0.0, 30, 5, sigma=0.05)
    whole, without = ({block: mean + draw for block, draw in draws.items()} for mean in (0.1, 0.07))
    (found,) = ablate([Trial(0, whole, without)], alpha=0.05, margin=0.01)
    assert found.contribution is not None
    assert found.contribution.mean == pytest.approx(0.03)
    assert found.kept


def test_what_is_open_stays_where_the_screening_showed_that_it_helps() -> None:
    whole = series(0.1, 4, 2)
    trials = [Trial(0, whole, series(0.09, 4, 1)), Trial(1, whole, series(0.09, 4, 3)), Trial(2, whole, {}), CARRIES]
    found = ablate(trials, alpha=0.05, margin=0.01, helped={1, 2})
    assert [each.kept for each in found] == [False, True, True, True]
    assert "screening" in found[1].reason


def test_a_screening_does_not_save_what_is_shown_to_add_nothing() -> None:
    trials = [Trial(0, series(0.1, 40, 2), series(0.1, 40, 1)), CARRIES]
    found, _ = ablate(trials, alpha=0.05, margin=0.01, helped={0})
    assert (found.kind, found.kept) == ("equivalent", False)


def test_something_of_a_confirmed_winner_stays() -> None:
    short, long = series(0.1, 4, 2), series(0.1, 40, 2)
    still_open = ablate([Trial(0, short, series(0.07, 4, 1)), Trial(1, short, series(0.05, 4, 3))], alpha=0.05, margin=0.01)
    assert [each.kept for each in still_open] == [True, True]
    assert "looks to carry it" in still_open[0].reason
    mixed = [Trial(0, short, series(0.1, 4, 1)), Trial(1, short, {}), Trial(2, short, series(0.07, 4, 3))]
    assert [each.kept for each in ablate(mixed, alpha=0.05, margin=0.01)] == [False, False, True]
    alike = ablate([Trial(0, long, series(0.1, 40, 1)), Trial(1, long, series(0.096, 40, 3))], alpha=0.05, margin=0.01)
    assert [each.kept for each in alike] == [False, True]


def test_alpha_is_divided_over_the_parts() -> None:
    whole = series(0.1, 12, 1)
    trial = Trial(0, whole, series(0.09, 12, 2))
    (alone,) = ablate([trial], alpha=0.0625, margin=0.01)
    first, _ = ablate([trial, Trial(1, whole, series(0.09, 12, 3))], alpha=0.125, margin=0.01)
    assert first.contribution == alone.contribution


def test_what_remains_has_the_parts_that_stay() -> None:
    parts = [WinnerPart(0, None, "equivalent", "", False, ""), WinnerPart(2, None, "improved", "relevant", True, "")]
    assert remaining(FACTORS, WINNER, parts).levels == (0, 1, 1)


@pytest.mark.parametrize(
    ("loss", "too_much"),
    [
        (Interval(0.02, 0.015, 0.025, 20, 0.01), True),
        (Interval(0.012, 0.002, 0.022, 20, 0.01), True),
        (Interval(0.004, 0.002, 0.006, 20, 0.01), False),
        (Interval(0.0, -0.01, 0.01, 20, 0.01), False),
        (Interval(-0.02, -0.03, -0.01, 20, 0.01), False),
        (Interval(0.05, None, None, 3, 0.01), False),
    ],
)
def test_parts_that_are_small_alone_and_not_together(loss: Interval, too_much: bool) -> None:
    assert too_much_lost(loss, 0.01) == too_much


def test_an_ablation_needs_a_part() -> None:
    with pytest.raises(ValueError, match="part"):
        ablate([], alpha=0.05, margin=0.01)
