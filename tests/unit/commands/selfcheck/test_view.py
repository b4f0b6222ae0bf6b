"""What a selfcheck's comparisons say, held against the targets."""

import math
from collections.abc import Callable
from io import StringIO

import pytest
from msgspec import structs
from rich.console import Console

from phpdyno.commands.selfcheck.command import table
from phpdyno.commands.selfcheck.judged import CheckRow, outcome_of
from phpdyno.commands.selfcheck.run import FULL, QUICK, is_wrong
from phpdyno.commands.selfcheck.view import ChecksView, checks_view
from phpdyno.journal.checks import CheckKind, Compared
from tests.support.made_up.checks import GROUND, WISH, checks, compared, numberless, session

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
    assert row(view, "A/A, looked").check == "A/A, looked at about 3 times: a direction is claimed"
    found = row(view, "a direction")
    assert found.check == "arms that do not differ: a direction is claimed"
    assert (found.estimate, found.comparisons) == (0.015, 200)
    assert found.low == pytest.approx(0.0031, abs=1e-4)
    assert found.high == pytest.approx(0.0432, abs=1e-4)
    assert found.outcome == "reached"


@pytest.mark.parametrize(("alarms", "outcome"), [(3, "reached"), (8, "open"), (30, "not reached")])
def test_a_share_of_alarms_is_judged_on_its_interval(alarms: int, outcome: str) -> None:
    view = checks_view(checks(*(aa(number, number < alarms) for number in range(200))))
    assert row(view, "a direction").outcome == outcome
    assert view.contradicted == (outcome == "not reached")


def alike(number: int, kind: CheckKind, alarm: bool = False) -> Compared:
    return structs.replace(aa(number, alarm), kind=kind)


def all_alike(alarms: int) -> list[Compared]:
    """As many comparisons of arms that do not differ as a whole selfcheck makes; the first ones are
    false alarms."""
    counts: dict[CheckKind, int] = {"A/A": FULL.aa - FULL.long, "long A/A": FULL.long, "zero": FULL.zero}
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    return [alike(number, kind, number < alarms) for number, kind in enumerate(kinds)]


@pytest.mark.parametrize(("alarms", "outcome"), [(0, "reached"), (5, "reached"), (6, "open"), (25, "not reached")])
def test_comparisons_of_arms_that_do_not_differ_are_judged_together(alarms: int, outcome: str) -> None:
    view = checks_view(checks(*all_alike(alarms)))
    found = row(view, "arms that do not differ")
    assert (found.comparisons, found.outcome) == (250, outcome)
    assert view.contradicted == (outcome == "not reached")


def test_each_kind_of_them_is_shown_and_not_judged() -> None:
    view = checks_view(checks(*all_alike(0)))
    for name, count in (("A/A, looked", 180), ("long A/A, looked", 20), ("a setting without effect", 50)):
        found = next(each for each in view.rows if each.check.startswith(name))
        assert (found.comparisons, found.outcome, found.target) == (count, "–", "–")
        assert found.found.startswith(f"0 of {count}, 0.0 % (0.0 to ")
    assert view.conclusion == "All targets are reached."


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


# ---- what gave no number ---------------------------------------------------------------------


def test_a_selfcheck_whose_aa_all_failed_contradicts_and_hides_no_row() -> None:
    failed = [numberless(number, "zero" if number < 50 else "A/A", truth=0.0) for number in range(250)]
    view = checks_view(checks(*failed, *(planted(number) for number in range(250, 450)), wish=structs.replace(FULL, long=0)))
    assert (row(view, "without a number").found[:10], row(view, "without a number").outcome) == ("250 of 450", "not reached")
    for name, outcome in (("not differ", "open"), ("A/A: a direction", "–"), ("without effect: a direction", "–"), ("independent", "open")):
        assert (row(view, name).outcome, row(view, name).estimate) == (outcome, None)
    assert view.contradicted
    assert view.conclusion.startswith("Contradicted: comparisons without a number.")


@pytest.mark.parametrize("lost", [lambda number: number % 4 < 2, lambda number: number % 2 == 1])
def test_planted_comparisons_without_a_number_count_as_not_found(lost: Callable[[int], bool]) -> None:
    made = [numberless(number, truth=UP if number % 2 else DOWN) if lost(number) else planted(number) for number in range(200)]
    view = checks_view(checks(*made))
    found = row(view, "direction is found")
    assert (found.estimate, found.comparisons, found.outcome) == (0.5, 200, "not reached")
    assert row(view, "without a number").outcome == "not reached"
    assert row(view, "holds the truth").comparisons == 100
    assert row(view, "holds the truth").found.endswith("; 100 never had an interval")


def test_where_all_swapped_ones_failed_the_symmetry_is_open() -> None:
    view = checks_view(checks(*(numberless(number) if number % 2 else planted(number) for number in range(60))))
    assert (row(view, "inverts").outcome, row(view, "inverts").estimate) == ("open", None)


def test_a_comparison_of_which_no_block_counts_gives_no_number_either() -> None:
    empty = Compared(0, "A/A", 1, False, 0.0, "inconclusive", None, None, None, 0, 6.0)
    assert is_wrong(empty)
    assert row(checks_view(checks(empty)), "without a number").outcome == "not reached"


@pytest.mark.parametrize("kind", ["A/A", "long A/A", "zero"])
def test_what_never_had_an_interval_is_no_comparison_without_alarm(kind: CheckKind) -> None:
    without = [Compared(number, kind, 1, False, 0.0, "inconclusive", 1.0, None, None, 3, 6.0) for number in range(120)]
    alarmed = [compared(number, kind, "improved", truth=0.0, found=0.005) for number in range(120, 132)]
    quiet = [compared(number, kind, "inconclusive", truth=0.0) for number in range(132, 200)]
    found = row(checks_view(checks(*without, *alarmed, *quiet)), "a direction is claimed")
    assert (found.comparisons, found.estimate, found.outcome) == (80, 0.15, "not reached")
    assert found.found.endswith("; 120 never had an interval")


def test_a_kind_that_was_asked_for_and_not_made_has_an_open_row() -> None:
    view = checks_view(checks(wish=FULL, ground=None))
    assert len(view.rows) == 13
    assert [each.outcome for each in view.rows].count("open") == 10
    assert {each.outcome for each in view.rows} == {"open", "–"}
    assert view.conclusion == "Nothing contradicts the targets so far; not all comparisons are made."
    assert not view.contradicted


# ---- sizes, looks, neighbours ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "outcome"), [(1.0, "reached"), (1.1, "reached"), (1.19, "open"), (1.5, "not reached"), (0.6, "not reached")]
)
def test_wrong_sizes_show_although_the_interval_holds_the_truth(times: float, outcome: str) -> None:
    made = []
    for each in (planted(number) for number in range(200)):
        noise = 0.002 * (each.number // 2 % 5 - 2)
        made.append(structs.replace(each, early=each.truth * times + noise))
    view = checks_view(checks(*made))
    assert row(view, "the size found").estimate == pytest.approx(times, abs=0.01)
    assert row(view, "the size found").outcome == outcome
    assert row(view, "holds the truth").outcome == "reached"
    assert view.contradicted == (outcome == "not reached")


def test_long_comparisons_have_a_row_of_their_own_that_says_how_often_they_were_looked_at() -> None:
    long = [structs.replace(compared(number, "long A/A", "inconclusive", truth=0.0), looks=50 + number) for number in range(9)]
    view = checks_view(checks(*long, *(aa(number, False) for number in range(9, 20))))
    assert row(view, "long A/A, looked at about 54 times: a direction is claimed").comparisons == 9
    assert next(each for each in view.rows if each.check.startswith("A/A, looked at about 3 times")).comparisons == 11


@pytest.mark.parametrize(("lag", "outcome"), [(0.0, "reached"), (0.1, "open"), (0.3, "not reached")])
def test_blocks_that_resemble_their_neighbours_are_seen(lag: float, outcome: str) -> None:
    made = [structs.replace(aa(number, False), lag=lag + 0.05 * (number % 5 - 2)) for number in range(100)]
    found = row(checks_view(checks(*made)), "independent")
    assert (found.outcome, found.unit) == (outcome, "correlation")
    assert found.estimate == pytest.approx(lag)


# ---- a size that is not known ----------------------------------------------------------------


def test_where_cost_is_no_line_sizes_are_not_judged_and_the_conclusion_says_so() -> None:
    bent = structs.replace(GROUND, line=structs.replace(GROUND.line, bend=0.2, bend_low=0.15, bend_high=0.25))
    beside = [planted(number, found=0.02) for number in range(60)]
    view = checks_view(checks(*beside, ground=bent))
    for name in ("direction is found", "holds the truth", "the size found", "inverts", "measuring time"):
        assert (row(view, name).outcome, row(view, name).target) == ("–", "–")
    assert row(view, "opposite").outcome == "reached"
    assert view.conclusion.startswith("How large the planted effect is cannot be known here")
    assert view.contradicted
    alarmed = [aa(number, True) for number in range(60, 120)]
    assert checks_view(checks(*beside, *alarmed, ground=bent)).conclusion.startswith("Contradicted: arms that do not differ")


# ---- what it is about ------------------------------------------------------------------------


def test_the_budget_is_the_one_that_was_given() -> None:
    made = checks(*(planted(number) for number in range(20)), sessions=(session(75.0),))
    found = row(checks_view(made), "direction is found")
    assert found.check.endswith("within 75 s")
    assert found.found.endswith("; 60 s were asked for, and too few blocks fit in them here")
    twice = checks(*(planted(number) for number in range(20)), sessions=(session(60.0), session(75.0)))
    assert row(checks_view(twice), "direction is found").check.endswith("within 60 to 75 s")
    assert row(checks_view(checks(planted(0), sessions=(session(60.0),))), "direction is found").found == "1 of 1, 100.0 % (2.5 to 100.0)"


def test_the_scope_is_said() -> None:
    view = checks_view(checks(planted(0), sessions=(session(warnings=("the governor is powersave",)),)))
    assert "Test CPU, 2 cores" in view.host
    assert view.php == "(php-fpm8.2) 8.2.36"
    assert view.measured == "2026-01-02T03:04:05+0000, by phpdyno 0.1.0 (code c0de)"
    assert view.warnings == ("the governor is powersave",)
    console = Console(width=200, record=True, file=StringIO())
    console.print(table(view))
    said = console.export_text()
    for words in (
        "Scope: Test CPU",
        "8.2.36",
        "Measured 2026-01-02",
        "Warning: the governor is powersave.",
        "never is judged by the count",
    ):
        assert words in said


def test_what_a_server_said_cannot_steer_the_terminal() -> None:
    hostile = "[red]\x1b[2J"
    view = structs.replace(checks_view(checks(planted(0))), warnings=(hostile,), invalid=(hostile,), host=hostile, php=hostile)
    out = StringIO()
    Console(width=200, file=out).print(table(view))
    assert "\x1b" not in out.getvalue()
    assert out.getvalue().count("[red]�[2J") == 4


def test_what_must_never_be_has_its_exact_interval() -> None:
    found = row(checks_view(checks(*(planted(number) for number in range(200)))), "opposite")
    assert found.found == "0 of 200, 0.0 % (0.0 to 1.8)"
    assert (found.target, found.outcome) == ("never", "reached")


def test_an_app_has_its_own_target_of_time() -> None:
    made = [planted(number) for number in range(20)]
    assert row(checks_view(checks(*made)), "measuring time").target == "median ≤ 45 s"
    other = structs.replace(WISH, app="mine", aa=0, zero=0, planted=20)
    assert row(checks_view(checks(*made, wish=other)), "measuring time").outcome == "–"


def test_intervals_beside_the_truth_show_in_the_coverage() -> None:
    view = checks_view(checks(*(planted(number, found=0.006 if number < 30 else 0.0) for number in range(200))))
    assert row(view, "holds the truth").estimate == 0.85
    assert row(view, "holds the truth").outcome == "not reached"


def test_an_infinite_interval_says_nothing_of_coverage() -> None:
    without = Compared(0, "planted", 1, False, DOWN, "inconclusive", 0.99, None, None, 3, 60.0)
    view = checks_view(checks(without, planted(1)))
    assert row(view, "holds the truth").comparisons == 1
    assert row(view, "holds the truth").found.endswith("; 1 never had an interval")


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
    assert row(view, "not differ").outcome == "open"
    assert checks_view(checks()).rows[0].check.startswith("cost over turns")
    assert row(checks_view(checks()), "without a number").outcome == "open"


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
