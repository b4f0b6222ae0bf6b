"""The answer of a selfcheck."""

from io import StringIO

from msgspec import structs
from rich.console import Console

from phpdyno.commands.selfcheck.answer import selfcheck_answer
from phpdyno.commands.selfcheck.view import ChecksView, checks_view
from phpdyno.report.answer.shape import MOST_LINES
from phpdyno.report.answer.terminal import answer_screen
from tests.support.made_up.checks import checks, numberless, session
from tests.unit.commands.selfcheck.test_view import aa, all_alike, planted

RUN = "runs/20260102-selfcheck-hello"


def whole() -> ChecksView:
    return checks_view(checks(*all_alike(0), *(planted(number) for number in range(200)), sessions=(session(),)))


def test_all_that_is_reached_is_said_in_one_sentence_with_the_rows_below() -> None:
    answer = selfcheck_answer(whole(), RUN)
    assert answer.subject == "selfcheck on hello · PHP 8.2.36 · 450 of 450 comparisons"
    assert (answer.result, answer.standing) == ("All targets are reached.", "good")
    assert any(
        note.startswith("as it should be: arms that do not differ: a direction is claimed: 0 of 250, 0.0 %") for note in answer.notes
    )
    assert answer.next == (("All", f"phpdyno selfcheck --resume {RUN} --verbose"),)
    assert answer.lines <= MOST_LINES


def test_what_contradicts_is_told_first_and_what_was_kept_can_be_looked_at() -> None:
    view = structs.replace(checks_view(checks(*all_alike(25))), kept=("kept/0003-AA",))
    answer = selfcheck_answer(view, RUN)
    assert answer.standing == "bad"
    assert answer.result.startswith("Contradicted: arms that do not differ")
    assert answer.notes[0].startswith("NOT REACHED: arms that do not differ: a direction is claimed: 25 of 250")
    assert ("Look", f"phpdyno report {RUN}/kept/0003-AA") in answer.next


def test_too_few_comparisons_are_said_to_be_and_more_are_offered() -> None:
    answer = selfcheck_answer(checks_view(checks(*(aa(number, alarm=False) for number in range(9)))), RUN)
    assert answer.standing == "open"
    assert answer.next[0] == ("More", "phpdyno selfcheck")
    assert any(note.startswith("too few comparisons yet: ") for note in answer.notes)


def test_one_that_is_not_finished_goes_on() -> None:
    view = structs.replace(checks_view(checks(aa(0, False))), wanted=9)
    answer = selfcheck_answer(view, RUN)
    assert answer.standing == "open"
    assert answer.subject.endswith("1 of 9 comparisons")
    assert answer.next[0] == ("Go on", f"phpdyno selfcheck --resume {RUN}")


def test_comparisons_without_a_number_and_warnings_of_the_host_are_told() -> None:
    view = checks_view(checks(planted(0), numberless(1), sessions=(session(warnings=("the governor is powersave",)),)))
    answer = selfcheck_answer(view, RUN)
    assert answer.doubts == ("Warning: the governor is powersave",)
    assert answer.notes[0] == "1 comparison gave no number: planted: it crashed"


def test_what_a_server_said_cannot_steer_the_terminal() -> None:
    hostile = "[red]\x1b[2J"
    out = StringIO()
    Console(width=200, file=out).print(answer_screen(selfcheck_answer(structs.replace(whole(), warnings=(hostile,), php=hostile), RUN)))
    assert "\x1b" not in out.getvalue()
    assert out.getvalue().count("[red]�[2J") == 2
