"""What a selfcheck's comparisons say, held against the targets."""

import math

import pytest
from msgspec import structs

from phpdyno.journal.checks import Compared
from phpdyno.report.checks import CheckRow, ChecksView, checks_view, outcome_of
from phpdyno.workflows.selfcheck import QUICK, is_wrong
from tests.support.checks import checks, compared

UP, DOWN = math.log(1.01), -math.log(1.01)


def aa(number: int, alarm: bool) -> Compared:
    return compared(number, "A/A", "improved" if alarm else "inconclusive", truth=0.0, found=0.005 if alarm else 0.001)


def planted(number: int, *, found: float = 0.0) -> Compared:
    """A planted comparison that found its direction; every other one is swapped."""
    swapped = number % 2 == 1
    truth = UP if swapped else DOWN
    return compared(number, "planted", "improved" if swapped else "regressed", truth=truth, found=truth + found)


def row(view: ChecksView, name: str) -> CheckRow:
    return next(each for each in view.rows if name in each.check)


def test_alarms_are_counted_with_an_exact_interval() -> None:
    view = checks_view(checks(*(aa(number, number < 3) for number in range(200))))
    found = row(view, "A/A: a direction")
    assert (found.estimate, found.comparisons) == (0.015, 200)
    assert found.low == pytest.approx(0.0031, abs=1e-4)
    assert found.high == pytest.approx(0.0432, abs=1e-4)
    assert found.outcome == "reached"


@pytest.mark.parametrize(("alarms", "outcome"), [(3, "reached"), (8, "open"), (30, "not reached")])
def test_a_share_of_alarms_is_judged_on_its_interval(alarms: int, outcome: str) -> None:
    view = checks_view(checks(*(aa(number, number < alarms) for number in range(200))))
    assert row(view, "A/A: a direction").outcome == outcome
    assert view.contradicted == (outcome == "not reached")


def test_planted_comparisons_that_find_the_truth_reach_every_target() -> None:
    view = checks_view(checks(*(planted(number, found=0.0002 * (number % 5 - 2)) for number in range(200))))
    outcomes = {each.check: each.outcome for each in view.rows}
    assert set(outcomes.values()) == {"reached"}, outcomes
    assert "its direction is found" in " ".join(outcomes)
    assert view.conclusion == "All targets are reached."


def test_one_wrong_sign_is_a_contradiction() -> None:
    wrong = compared(7, "planted", "improved", truth=DOWN, found=UP)
    view = checks_view(checks(*(planted(number) for number in range(7)), wrong))
    assert row(view, "opposite").outcome == "not reached"
    assert view.contradicted
    assert view.conclusion.startswith("Contradicted: planted 1 %: the opposite is claimed.")


def test_directions_that_are_not_found_speak_against_the_host_and_not_against_the_verdicts() -> None:
    nothing = [compared(number, "planted", "inconclusive", truth=UP, half=0.03, seconds=60.0) for number in range(60)]
    view = checks_view(checks(*nothing))
    assert (row(view, "direction is found").outcome, row(view, "direction is found").about) == ("not reached", "power")
    assert view.conclusion.startswith("Nothing speaks against the verdicts, but this host decides too little or too late: planted 1 %")
    nothing = [structs.replace(each, seconds=19.0) for each in nothing]
    short = checks(*nothing, wish=structs.replace(QUICK, planted=60, aa=0, zero=0))
    assert row(checks_view(short), "found within 20 s").outcome == "–"
    assert not checks_view(short).contradicted


def test_intervals_beside_the_truth_show_in_the_coverage() -> None:
    view = checks_view(checks(*(planted(number, found=0.006 if number < 30 else 0.0) for number in range(200))))
    assert row(view, "holds the truth").estimate == 0.85
    assert row(view, "holds the truth").outcome == "not reached"


def test_an_infinite_interval_says_nothing_of_coverage() -> None:
    without = Compared(0, "planted", 1, False, DOWN, "inconclusive", 0.99, None, None, 3, 60.0)
    view = checks_view(checks(without, planted(1)))
    assert row(view, "holds the truth").comparisons == 1


def test_a_comparison_that_found_nothing_took_longer_than_it_was_given() -> None:
    slow = [compared(number, "planted", "inconclusive", truth=UP, seconds=20.0) for number in range(6)]
    quick = [planted(number) for number in range(6, 10)]
    found = row(checks_view(checks(*slow, *quick)), "measuring time")
    assert (found.estimate, found.found, found.outcome) == (None, "half of them found none", "open")


def test_arms_that_do_not_invert_are_seen() -> None:
    crooked = [planted(number, found=0.003 + 0.0002 * (number // 2 % 3)) for number in range(60)]
    assert row(checks_view(checks(*crooked)), "inverts").outcome == "not reached"


def test_a_selfcheck_that_was_cut_short_claims_nothing() -> None:
    view = checks_view(checks(aa(0, False), wish=None, ground=None))
    assert row(view, "A/A").outcome == "open"
    assert checks_view(checks()).rows[0].check.startswith("cost over turns")


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        (planted(0), False),
        (planted(0, found=0.02), True),
        (compared(0, "planted", "improved", truth=DOWN, found=UP), True),
        (compared(0, "planted", "inconclusive", truth=DOWN), False),
        (aa(0, False), False),
        (aa(0, True), True),
        (Compared(0, "A/A", 1, False, 0.0, "invalid", None, None, None, 0, 1.0, "it crashed"), True),
    ],
)
def test_what_came_out_wrong_is_kept(made: Compared, wrong: bool) -> None:
    assert is_wrong(made) is wrong


def test_bounds_belong_to_the_target() -> None:
    assert outcome_of(0.0, 0.05, least=0.0, most=0.05) == "reached"
    assert outcome_of(0.06, 0.07, least=0.0, most=0.05) == "not reached"
    assert outcome_of(None, 0.05, least=0.0, most=0.05) == "open"
