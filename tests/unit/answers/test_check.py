import pytest

from phpdyno.answers.answer import Answer
from phpdyno.answers.check import compare, expect, fault, first_line, require_valid
from phpdyno.answers.mask import WideMaskError
from phpdyno.errors import DynoError
from phpdyno.journal.records import TargetAnswer
from phpdyno.model.workload import Target

HTML = (("Content-Type", "text/html"),)
BODY = b"<html><body>" + b"<p>some words of a page</p>" * 40 + b"</body></html>"
FRONT = Target("/")


def answer(body: bytes = BODY, status: int = 200, *headers: tuple[str, str]) -> Answer:
    return Answer(status, (*HTML, *headers), body)


def test_equal_arms() -> None:
    moving = [answer(BODY + b"<!-- %d -->" % k) for k in (10, 11, 12)]
    targets = (FRONT, Target("/health", answers="status"))

    outcome = compare(targets, [moving, [answer(b"1"), answer(b"2")]], [answer(BODY + b"<!-- 99 -->"), answer(b"else")])

    assert outcome.equal
    assert outcome.detail == "2 targets answered equally; up to 0.18% of a body is volatile and left out; 1 by status only"
    assert outcome.targets == (
        TargetAnswer("/", 200, len(BODY) + 11, 2 / (len(BODY) + 11), "body"),
        TargetAnswer("/health", 200, 4, 0.0, "status"),
    )


def test_arms_that_differ() -> None:
    outcome = compare((FRONT, Target("/b")), [[answer()], [answer()]], [answer(BODY[:-1]), answer(b"oops", 500)])

    assert not outcome.equal
    assert outcome.detail.startswith("/: the body differs at byte")
    assert outcome.detail.endswith("(and 1 more)")
    assert [row.status for row in outcome.targets] == [200, 500]


def test_an_answer_to_head_has_no_body_and_is_none_the_worse() -> None:
    assert fault(FRONT, answer(b"")) == "status 200 with an empty body"
    assert fault(Target("/", method="HEAD"), answer(b"")) is None


def test_an_unexpected_redirect_says_where_it_leads() -> None:
    found = fault(Target("/account", cookies={"sid": "gone"}), answer(b"", 302, ("Location", "/login")))
    assert found == "status 302 instead of 200 (it redirects to '/login')"
    assert fault(Target("/old", status=301), answer(b"", 301, ("Location", "/new"))) is None


def test_targets_of_one_path_are_told_apart_by_name() -> None:
    targets = (FRONT, Target("/", cookies={"sid": "1"}, name="logged in"))
    outcome = compare(targets, [[answer()], [answer(BODY + b"Hello, ada")]], [answer(), answer()])
    assert outcome.detail.startswith("logged in: ")
    assert [row.path for row in outcome.targets] == ["/", "logged in"]


def test_by_status_the_words_do_not_count() -> None:
    target = Target("/", answers="status")

    assert compare((target,), [[answer(b"a")]], [answer(b"quite another")]).equal
    outcome = compare((target,), [[answer(b"a")]], [answer(b"b", 503)])
    assert outcome.detail == "/: status 503 instead of 200 ('b')"


def test_by_status_an_error_page_is_still_one() -> None:
    target = Target("/", answers="status")
    outcome = compare((target,), [[answer(b"a")]], [answer(b"Fatal error: b")])
    assert outcome.detail.startswith("/: an error page with status 200 (PHP's fatal error)")


def test_by_status_a_control_that_quotes_an_error_page_may() -> None:
    expectation = expect((Target("/", answers="status"),), [[answer(b"a"), answer(b"How to mend a Fatal error: restart")]])

    assert expectation.differs(0, answer(b"Fatal error: b")) is None
    assert "WordPress without its database" in str(expectation.differs(0, answer(b"Error establishing a database connection")))
    with pytest.raises(DynoError, match="WordPress after a crash"):
        expectation.relearn(0, [answer(b"There has been a critical error on this website")])


def test_by_status_the_length_counts_roughly() -> None:
    expectation = expect((Target("/", answers="status"),), [[answer(b"x" * 1000), answer(b"x" * 3000)]])

    assert expectation.length_range(0) == (500, 10096)
    assert expectation.differs(0, answer(b"y" * 500)) is None
    assert expectation.differs(0, answer(b"y" * 499)) == "a body of 499 bytes where 500 to 10096 are expected"
    assert expectation.differs(0, answer(b"y" * 10097)) is not None


@pytest.mark.parametrize(("bodies", "least"), [([b"x"], 1), ([b"xxx", b"x"], 1), ([b""], 0), ([b"xxxx", b""], 0), ([b"x" * 4], 2)])
def test_no_body_may_be_empty_unless_the_controls_was(bodies: list[bytes], least: int) -> None:
    expectation = expect((Target("/", status=301, answers="status"),), [[answer(body, 301) for body in bodies]])
    assert expectation.length_range(0)[0] == least


def test_length_ranges_for_the_load() -> None:
    expectation = expect((FRONT, Target("/s", answers="status")), [[answer()], [answer(b"x")]])

    assert expectation.length_range(0) == (len(BODY), len(BODY))
    assert expectation.length_range(1) == (1, 4098)


def test_what_moves_slowly_is_learnt_later() -> None:
    at = [answer(BODY + b"<p>10:%02d</p>" % minute) for minute in range(4)]
    first = expect((Target("/other"), FRONT), [[answer()], [at[0], at[0]]])
    assert first.differs(1, at[1]) is not None

    later = first.relearn(1, [at[1]])

    assert first.differs(1, at[1]) is not None
    assert [later.differs(1, each) for each in at] == [None] * 4
    assert later.differs(1, answer(BODY.replace(b"words", b"weeds") + b"<p>10:01</p>")) is not None
    assert later.differs(0, answer(BODY[:-1])) is not None
    assert later.relearn(1, [at[2]]).relearn(1, [at[3]]).differs(1, at[0]) is None


def test_relearning_widens_the_lengths() -> None:
    expectation = expect((Target("/", answers="status"),), [[answer(b"x" * 1000)]]).relearn(0, [answer(b"x" * 100)])
    assert expectation.length_range(0) == (50, 6096)


def test_relearning_has_its_limits() -> None:
    expectation = expect((FRONT,), [[answer()]])

    with pytest.raises(WideMaskError, match=r"^/: "):
        expectation.relearn(0, [answer(b"another page altogether")])
    with pytest.raises(DynoError, match="cannot be timed: status 500"):
        expectation.relearn(0, [answer(BODY, 500)])


def test_a_wide_mask_names_the_target() -> None:
    with pytest.raises(WideMaskError, match=r"^/shop: 100.0% of the body"):
        expect((Target("/shop"),), [[answer(b"aaaa"), answer(b"bbbb")]])


@pytest.mark.parametrize(
    ("got", "says"),
    [
        (answer(b"", 301, ("Location", "http://localhost/")), "status 301 instead of 200 (it redirects to 'http://localhost/')"),
        (
            answer(b"", 301, ("Location", "https://shop.example/")),
            'by --host https://shop.example or host = "https://shop.example" in the app.toml; where it looks at X-Forwarded-Proto',
        ),
        (answer(b"", 302, ("Location", "http://shop.example/")), "by --host shop.example or host"),
        (answer(b"", 302, ("Location", "https://shop.example/login")), "(it redirects to 'https://shop.example/login')"),
        (answer(b"", 302), "a redirect without Location"),
        (answer(b"<html><head><title>x</title></head><h1>Not\n Found</h1><p>more", 404), "status 404 instead of 200 ('Not')"),
        (answer(b"", 502), "(with an empty body)"),
        (answer(b"", 200), "status 200 with an empty body"),
        (answer(b"", 204), "status 204 instead of 200"),
        (answer(b"<br />\n<b>Fatal error</b>:  Uncaught Error: no in /a.php"), "PHP's fatal error"),
        (answer(BODY + b"PHP Fatal error:  Uncaught Exception"), "PHP's fatal error"),
        (answer(b"<b>Parse error</b>: syntax error"), "PHP's fatal error"),
        (answer(b"<h1>Error establishing a database connection</h1>"), "WordPress without its database"),
        (answer(b"<p>There has been a critical error on this website.</p>"), "WordPress after a crash"),
    ],
)
def test_answers_that_cannot_be_timed(got: Answer, says: str) -> None:
    assert says in str(fault(FRONT, got))
    with pytest.raises(DynoError, match="cannot be timed") as caught:
        require_valid(FRONT, got)
    assert str(caught.value).startswith("/: ")
    assert "\n" not in str(caught.value)
    with pytest.raises(DynoError):
        expect((FRONT,), [[got]])


def test_an_expected_redirect_or_error_page_is_valid() -> None:
    assert fault(Target("/", status=301), answer(b"", 301)) is None
    assert fault(Target("/missing", status=404), answer(b"Fatal error: no", 404)) is None


def test_a_page_about_errors_is_no_error_page() -> None:
    assert fault(FRONT, answer(b"<p>How to read a fatal error and avoid it: errors establishing connections</p>")) is None


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"", ""),
        (b"  \n File not found.\n", "'File not found.'"),
        (b"<head><title>502 Bad Gateway</title></head><body></body>", "'502 Bad Gateway'"),
        (b"<style>a{}</style><script>x()</script><!-- y --><p>Hello</p>", "'Hello'"),
        (b"\xff\xfe\x00", "'\\\\xff\\\\xfe\\x00'"),
    ],
)
def test_first_line(body: bytes, line: str) -> None:
    assert first_line(body) == line
