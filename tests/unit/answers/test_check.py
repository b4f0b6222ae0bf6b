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


def test_by_status_only_the_status_counts() -> None:
    target = Target("/", answers="status")

    assert compare((target,), [[answer(b"a")]], [answer(b"Fatal error: b")]).equal
    outcome = compare((target,), [[answer(b"a")]], [answer(b"b", 503)])
    assert outcome.detail == "/: status 503 instead of 200 ('b')"


def test_length_ranges_for_the_load() -> None:
    expectation = expect((FRONT, Target("/s", answers="status")), [[answer()], [answer(b"x")]])

    assert expectation.length_range(0) == (len(BODY), len(BODY))
    assert expectation.length_range(1) == (0, 1 << 62)


def test_a_wide_mask_names_the_target() -> None:
    with pytest.raises(WideMaskError, match=r"^/shop: 100.0% of the body"):
        expect((Target("/shop"),), [[answer(b"aaaa"), answer(b"bbbb")]])


@pytest.mark.parametrize(
    ("got", "says"),
    [
        (answer(b"", 301, ("Location", "http://localhost/")), "status 301 instead of 200 (it redirects to 'http://localhost/')"),
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
