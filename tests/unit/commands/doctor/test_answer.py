"""The check-up's answer: what can be measured, what limits it, how to mend that."""

import io

from msgspec import structs
from rich.console import Console

from phpdyno.commands.doctor.answer import MOST_FIXES, doctor_answer
from phpdyno.commands.doctor.estimate import Decidable, HostEstimate
from phpdyno.commands.doctor.run import CheckUp
from phpdyno.host.checkup.check import Check, install
from phpdyno.host.checkup.programs import judge_nginx
from phpdyno.report.answer.shape import MOST_LINES
from phpdyno.report.answer.terminal import answer_screen
from tests.unit.commands.doctor.test_table import ABSENT, LIMITED, NO_PHP, OK

ESTIMATE = HostEstimate(
    app="hello", sentence="all of it", php="8.2.36", decidable=(Decidable(0.01, 40.0), Decidable(0.05, 12.0), Decidable(0.005, None))
)
ALL = ("All", "phpdyno doctor --verbose")


def test_limits_and_what_is_missing_are_named_and_told_with_what_mends_them() -> None:
    answer = doctor_answer(CheckUp(possible=True, checks=(OK, LIMITED, ABSENT), estimate=ESTIMATE))
    assert answer.result == "comparisons can be measured here; limited by: open files; not installed: strace"
    assert answer.beside == (
        "hello on PHP 8.2.36: a difference of 5 % is decidable in about 10 s, one of 1 % is decidable in about 40 s, one of 0.5 % takes "
        "more than an hour.",
    )
    assert answer.notes == (
        "strace: not installed. Only for syscalls per request.",
        "open files: up to 1024. --concurrency above about 462 runs out of them.",
    )
    assert answer.next == (("Fix strace", install("strace")), ("Fix open files", "ulimit -n 2100"), ALL)


def test_a_host_without_limits_says_nothing_else() -> None:
    answer = doctor_answer(CheckUp(possible=True, checks=(OK,)))
    assert (answer.subject, answer.result, answer.standing) == ("this host", "comparisons can be measured here", "good")
    assert (answer.beside, answer.notes, answer.next) == ((), (), (ALL,))


def test_without_nginx_the_way_that_is_left_is_named() -> None:
    answer = doctor_answer(CheckUp(possible=True, checks=(OK, judge_nginx(""))))
    assert answer.result == "comparisons can be measured here with --transport fastcgi; not installed: nginx"
    assert answer.next[0] == ("Fix nginx", "sudo sh scripts/setup.sh --packages-only nginx")


def test_what_is_essential_and_missing_comes_first() -> None:
    answer = doctor_answer(CheckUp(possible=False, checks=(OK, LIMITED, NO_PHP)))
    assert (answer.result, answer.standing) == ("nothing can be measured before this is mended", "bad")
    assert answer.doubts == ("php-fpm: not installed",)
    assert answer.next[0] == ("Fix php-fpm", install("php8.2-fpm"))


def test_an_estimate_that_fails_says_so() -> None:
    failed = HostEstimate(app="hello", sentence="Measuring was tried and failed: no port.", failed=True)
    answer = doctor_answer(CheckUp(possible=False, checks=(OK,), estimate=failed))
    assert (answer.result, answer.beside) == ("measuring was tried and failed", (failed.sentence,))


def test_many_limits_fit_on_one_screen_and_all_are_named() -> None:
    many = tuple(structs.replace(LIMITED, name=f"limit {number}", means="what that means, at some length, " * 3) for number in range(9))
    answer = doctor_answer(CheckUp(possible=True, checks=many, estimate=ESTIMATE))
    assert answer.lines <= MOST_LINES
    assert all(check.name in answer.result for check in many)
    assert len(answer.next) == MOST_FIXES + 1
    assert answer.notes


def test_what_a_program_says_of_itself_cannot_steer_the_terminal() -> None:
    hostile = Check("servers", "nginx", "missing", "nginx/1.\x1b[2J[red]22", essential=True)
    out = io.StringIO()
    Console(file=out, width=80, no_color=True).print(answer_screen(doctor_answer(CheckUp(possible=False, checks=(hostile,)))))
    assert "nginx: nginx/1.�[2J[red]22" in out.getvalue()
    assert "\x1b" not in out.getvalue()
