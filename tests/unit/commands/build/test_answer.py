"""The answer of a build."""

from msgspec import structs

from phpdyno.commands.build.answer import build_answer
from phpdyno.commands.build.listed import Listed
from phpdyno.model.build import BuildCheck
from phpdyno.report.answer.shape import MOST_LINES
from tests.support.made_up.builds import BUILD

MADE = structs.replace(BUILD, checks=(BuildCheck("opcache", ok=True, seen="8.2.36"), BuildCheck("answers", ok=True, seen="alike")))
FAILED = BuildCheck("PHP's own tests", ok=False, seen="1 failed")


def test_one_build_says_that_it_is_made_and_how_it_is_tried() -> None:
    answer = build_answer([Listed("/cache/b", MADE)], "shop/app.toml")
    assert answer.subject.startswith(f"build {MADE.name} · PHP {MADE.php_version} · ")
    assert (answer.result, answer.standing) == ("made; all its checks passed (2)", "good")
    assert answer.notes[0] == "Whether it is faster is not known yet: compare it."
    assert answer.notes[1].startswith("It is compiled without the distribution's -fstack-protector-strong")
    assert answer.next[0] == ("Try", f"phpdyno compare shop/app.toml --treatment build={MADE.name}")
    assert [label for label, _ in answer.next] == ["Try", "Start it"]
    assert answer.lines <= MOST_LINES


def test_a_package_is_told_with_what_it_is_without() -> None:
    answer = build_answer([Listed("/cache/b", MADE, "debs/made.deb")], "")
    assert answer.notes[-1].startswith("It is compiled without")
    assert answer.next[-1] == ("Package", "debs/made.deb")
    assert all(label != "Try" for label, _ in answer.next)


def test_what_failed_or_did_not_come_off_is_never_left_out() -> None:
    made = structs.replace(MADE, checks=(*MADE.checks, FAILED), skipped={"bolt": "BOLT is not installed"})
    answer = build_answer([Listed("/cache/b", made)], "hello")
    assert (answer.result, answer.standing) == ("made, and 2 of 3 checks passed", "bad")
    assert answer.doubts == ("PHP's own tests: 1 failed", f"{MADE.name}: without bolt: BOLT is not installed")


def test_one_for_measuring_only_says_why_and_is_not_started() -> None:
    pair = structs.replace(MADE, measuring_only=True, origin=structs.replace(MADE.origin, notice="the source of 8.2.37 cannot be had"))
    answer = build_answer([Listed("/cache/b", pair)], "hello")
    assert answer.doubts == ("The source of 8.2.37 cannot be had.",)
    assert [label for label, _ in answer.next] == ["Try"]


def test_several_builds_are_a_table() -> None:
    found = [Listed(f"/cache/{number}", structs.replace(MADE, name=f"pgo-{number}")) for number in range(20)]
    answer = build_answer(found, "")
    assert answer.result == "made anew: 20 builds; all their checks passed"
    assert answer.table is not None
    assert answer.table.heads == ("BUILD", "PHP", "TRAINED ON", "CHECKS", "TOOK")
    assert answer.table.rows[0].cells[0] == "pgo-0"
    assert len(answer.table.rows[0].cells) == len(answer.table.heads)
    assert answer.table.rest.endswith("more builds: phpdyno build --list")
    assert answer.lines <= MOST_LINES
    wrong = structs.replace(MADE, name="pgo-9", checks=(FAILED,))
    answer = build_answer([*found[:2], Listed("/cache/9", wrong)], "")
    assert (answer.standing, answer.doubts) == ("bad", ("pgo-9: PHP's own tests: 1 failed",))
