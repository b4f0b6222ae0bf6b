"""The answer of a check."""

from phpdyno.commands.check.answer import check_answer
from phpdyno.commands.check.command import tuned
from phpdyno.commands.check.found import CheckFound, TargetFound
from phpdyno.model.inside.reach import Connection, Reached, Write
from phpdyno.report.answer.shape import MOST_LINES

TUNE = "phpdyno tune shop"
HOME = TargetFound(label="/", status=200, body_bytes=1788, time_ms=1.9, php_ms=0.23, moving=0.0)
CACHE = Connection("127.0.0.1", 6379, "", "inet", "tcp", "refused", "ECONNREFUSED", 5)


def found(*targets: TargetFound, reached: Reached | None = None, **others: object) -> CheckFound:
    return CheckFound(app="shop", bottle="", targets=targets, reached=reached or Reached(5), **others)  # type: ignore[arg-type]


def test_an_app_that_can_be_measured_is_told_with_its_pages_and_the_next_command() -> None:
    answer = check_answer(found(HOME), "8.2.36", TUNE)
    assert (answer.subject, answer.result, answer.standing) == ("shop · PHP 8.2.36", "can be measured (1 target)", "good")
    assert answer.table is not None
    assert answer.table.rows[0].cells == ("/", "200", "1,788", "1.90 ms", "0.23 ms", "nothing")
    assert answer.notes == ("it reached for nothing outside its own files and database",)
    assert answer.next == (("Next", TUNE),)


def test_what_it_reaches_for_is_told_with_its_next_steps() -> None:
    answer = check_answer(found(HOME, reached=Reached(5, (CACHE,))), "8.2.36", TUNE)
    assert answer.notes[:2] == (
        "in 5 requests it reached for:",
        'once a request 127.0.0.1:6379, refused: `[service.cache] kind = "redis"`, `at = "127.0.0.1:6379"` gives it one',
    )
    assert answer.doubts == ("the app got no answer from 127.0.0.1:6379: the pages measured may be error pages; look at them first",)


def test_where_it_is_too_much_for_a_screen_all_is_named_and_the_rest_is_for_verbose() -> None:
    writes = tuple(Write(f"/var/log/{number}/shop.log", "written", "", 5) for number in range(4))
    many = [HOME, *(TargetFound(label=f"/{number}", status=200) for number in range(20))]
    answer = check_answer(found(*many, reached=Reached(5, (CACHE,), writes=writes)), "8.2.36", TUNE)
    assert answer.lines <= MOST_LINES
    assert answer.table is not None
    assert answer.table.rest.endswith("more targets: --verbose")
    (told,) = answer.notes
    assert told.startswith("it reached for ")
    assert all(each.path in told for each in writes)
    assert "127.0.0.1:6379, refused" in told
    assert told.endswith("(what to do: --verbose)")


def test_what_cannot_be_measured_says_why_and_offers_no_tuning() -> None:
    broken = [TargetFound(label=f"/{number}", status=500, problem="status 500 instead of 200") for number in range(5)]
    answer = check_answer(found(HOME, *broken), "8.2.36", TUNE)
    assert (answer.result, answer.standing, answer.next) == ("cannot be measured: 5 of 6 targets fail", "bad", ())
    assert answer.doubts == (
        "/0 cannot be measured: status 500 instead of 200",
        "/1 cannot be measured: status 500 instead of 200",
        "3 more targets: --verbose",
    )


def test_php_s_warnings_and_lost_peers_are_told() -> None:
    warned = TargetFound(label="/", status=200, warnings=("PHP Warning: one",))
    answer = check_answer(found(warned, let_through=("db:1",), not_reached=("db:1: Connection refused",)), "8.2.36", TUNE)
    assert answer.notices == ("lets through: db:1",)
    assert answer.doubts == ("let through and not reached: db:1: Connection refused",)
    assert answer.notes[0] == "/: PHP Warning: one"


def test_the_next_command_is_the_one_that_was_typed_but_for_what_says_how_it_is_told() -> None:
    assert tuned(["check", "shop/app.toml", "-v"]) == "phpdyno tune shop/app.toml"
    assert tuned(["--no-bottle", "check", "--url", "/a b"]) == "phpdyno --no-bottle tune --url '/a b'"
    assert tuned(["check", "--save-workload", "w.toml", "--from-log", "log"]) == "phpdyno tune --from-log log"
    assert tuned(["check", "--save-workload=w.toml", "hello"]) == "phpdyno tune hello"
