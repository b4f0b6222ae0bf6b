import base64
import random
import time

import pytest

from phpdyno.answers.answer import Answer
from phpdyno.answers.mask import WideMaskError, learn

PAGE = b"<html>\n<head><title>Shop</title></head>\n<body>\n" + b"".join(b"<p class=row>item %d costs money</p>\n" % k for k in range(60))


def page(live: bytes, end: bytes = b"</body></html>\n") -> bytes:
    return PAGE + b'<input name="nonce" value="' + live + b'">\n' + end


def test_equal_answers_need_no_mask() -> None:
    mask = learn([PAGE, PAGE, PAGE])

    assert (mask.gaps, mask.masked_fraction, mask.length_range) == ((), 0.0, (len(PAGE), len(PAGE)))
    assert mask.differs(PAGE) is None


@pytest.mark.parametrize("other", [b"", PAGE[:-1], PAGE + b" ", PAGE.replace(b"item 7", b"item 8"), b"x" + PAGE])
def test_without_a_mask_every_byte_counts(other: bytes) -> None:
    assert learn([PAGE]).differs(other) is not None


def test_a_difference_is_described() -> None:
    text = learn([b"alpha beta gamma delta"]).differs(b"alpha beta gamma omega")
    assert "byte 17" in str(text)
    assert "delta" in str(text)
    assert "omega" in str(text)


def test_a_body_cut_short_and_one_too_long() -> None:
    mask = learn([page(b"a1b2c3d4e5"), page(b"0f1e2d3c4b")])

    assert "got the end of the body" in str(mask.differs(page(b"a1b2c3d4e5")[:-20]))
    assert "expected the end of the body" in str(mask.differs(page(b"a1b2c3d4e5") + b"<!-- more -->"))


def test_a_nonce_matches_another_but_not_an_error_message() -> None:
    mask = learn([page(b"a1b2c3d4e5"), page(b"0f1e2d3c4b"), page(b"99aa88bb77")])

    assert 0 < mask.masked_fraction < 0.01
    assert mask.differs(page(b"5544332211")) is None
    assert mask.differs(page(b"abcdefabcd")) is None
    assert mask.differs(page(b"")) is not None
    assert mask.differs(page(b"a" * 37)) is not None
    assert mask.differs(page(b"<b>Warning</b>: " + b"x" * 3000)) is not None
    assert mask.differs(page(b"two words")) is not None


def test_stable_text_beside_a_volatile_span_still_counts() -> None:
    mask = learn([page(b"a1b2c3d4e5"), page(b"0f1e2d3c4b")])

    assert mask.differs(page(b"a1b2c3d4e5").replace(b'name="nonce"', b'name="nonse"')) is not None
    assert mask.differs(page(b"a1b2c3d4e5", b"</body></html> \n")) is not None


def test_digits_stay_digits() -> None:
    mask = learn([page(b"17"), page(b"23"), page(b"5")])

    assert mask.differs(page(b"1234")) is None
    assert mask.differs(page(b"NaN")) is not None


def test_a_number_is_volatile_as_a_whole() -> None:
    mask = learn([page(b"", b"took 0.123 s</html>"), page(b"", b"took 0.456 s</html>")])

    assert mask.differs(page(b"", b"took 12.5 s</html>")) is None
    assert mask.differs(page(b"", b"took 7 s</html>")) is None
    assert mask.differs(page(b"", b"took ages s</html>")) is not None


def test_a_clock_whose_seconds_move_may_show_another_day() -> None:
    ends = [b"at Sat, 21 Nov 2026 13:38:%02d GMT, 2026-11-21T13:38:%02dZ</html>" % (k, k) for k in (20, 21, 23)]
    mask = learn([page(b"", end) for end in ends])

    assert mask.differs(page(b"", b"at Sun, 22 Nov 2026 00:00:01 GMT, 2026-11-22T00:00:01Z</html>")) is None
    assert mask.differs(page(b"", b"on Sat, 21 Nov 2026 13:38:20 GMT, 2026-11-21T13:38:20Z</html>")) is not None


def test_base64_with_its_signs() -> None:
    draw = random.Random(3)
    nonces = [base64.b64encode(draw.randbytes(24)) for _ in range(40)]
    mask = learn([page(nonce) for nonce in nonces[:4]])

    assert [mask.differs(page(nonce)) for nonce in nonces] == [None] * 40


def test_a_span_that_is_sometimes_empty() -> None:
    mask = learn([page(b"a1"), page(b"")])

    assert mask.differs(page(b"")) is None
    assert mask.differs(page(b"b7")) is None


def test_equal_literals_around_gaps_are_kept_apart() -> None:
    start, end = b"word " * 400, b" drow" * 400
    mask = learn([start + b"1-2-3" + end, start + b"4-5-6" + end])

    assert mask.differs(start + b"7-8-9" + end) is None
    assert mask.differs(start + b"7-8" + end) is not None
    assert mask.differs(start + b"7-8-9-1" + end) is not None


def test_a_wide_mask_is_refused_and_named() -> None:
    with pytest.raises(WideMaskError) as caught:
        learn([b"stable " + b"a" * 300, b"stable " + b"b" * 300])

    assert "97.7% of the body" in str(caught.value)
    assert "at byte 7: 'bbb" in str(caught.value) or "at byte 7: 'aaa" in str(caught.value)
    assert 'answers = "status"' in str(caught.value)


def test_length_range_holds_every_equal_body() -> None:
    mask = learn([page(b"a1b2c3d4e5"), page(b"0f1e2d3c4b")])
    low, high = mask.length_range

    assert low <= len(page(b"a")) <= high
    assert low <= len(page(b"a" * 36)) <= high


def test_headers_are_compared_of_answers() -> None:
    def answer(kind: str) -> Answer:
        return Answer(200, (("Content-Type", kind), ("Date", "now")), PAGE)

    mask = learn([answer("text/html"), answer("text/html")])

    assert mask.differs(answer("text/html")) is None
    assert mask.differs(answer("text/plain")) == "header content-type: expected 'text/html', got 'text/plain'"
    assert mask.differs(PAGE) is None


def test_one_long_line_with_forty_nonces_is_fast() -> None:
    draw = random.Random(1)

    def answer() -> bytes:
        nonce = base64.b64encode(draw.randbytes(18))
        row = b"<div nonce='%s'><p class='row'>a product and its price, with some words about it</p></div>" % nonce
        return b"<html>" + b"".join(b"<section id='s%d'>%s</section>" % (k, row + b"<p>text</p>" * 200) for k in range(40)) + b"</html>"

    answers = [answer() for _ in range(5)]
    start = time.perf_counter()
    mask = learn(answers)
    assert [mask.differs(answer()) for _ in range(5)] == [None] * 5
    assert len(mask.gaps) == 40
    assert time.perf_counter() - start < 5
