import time

import pytest

from phpdyno.answers.align import align, tokens_of


def matched(one: bytes, two: bytes) -> bytes:
    tokens, others = tokens_of(one), tokens_of(two)
    pairs = align(tokens, others)
    assert pairs == sorted(set(pairs))
    assert all(tokens[i] == others[j] for i, j in pairs)
    assert [j for _, j in pairs] == sorted({j for _, j in pairs})
    return b"".join(tokens[i] for i, _ in pairs)


def test_tokens_join_to_the_body() -> None:
    assert tokens_of(b"<a href='x_1'>\r\n\xc3\xa4 12.5") == [
        b"<", b"a", b" ", b"href", b"=", b"'", b"x_1", b"'", b">", b"\r\n", b"\xc3\xa4", b" ", b"12", b".", b"5",
    ]  # fmt: skip


def test_same_structure_is_matched_by_position() -> None:
    # Were words matched by their first equal, the 17 of one field would be taken for the 17 of
    # another.
    assert matched(b"a=17 b=23 c=5", b"a=99 b=17 c=5") == b"a= b= c=5"


def test_insertions_are_left_out() -> None:
    assert matched(b"one\ntwo\nthree\n", b"one\nnew line\ntwo\nthree\n") == b"one\ntwo\nthree\n"


def test_repeated_lines_still_align() -> None:
    page = b"<li>\n<b>same</b>\n</li>\n" * 200
    assert matched(page, page.replace(b"same", b"sa-me", 1)).count(b"</li>") == 200


@pytest.mark.parametrize("pair", [(b"", b""), (b"", b"a"), (b"a", b""), (b"a", b"b"), (b"a\n", b"b")])
def test_little(pair: tuple[bytes, bytes]) -> None:
    assert matched(*pair) in {b"", b"\n"}


def test_bodies_made_to_be_slow_are_not() -> None:
    start = time.perf_counter()
    matched(b"<a> " * 25_000, b"<b/> " * 20_000)
    matched(b" ".join(b"w%d" % k for k in range(20_000)), b" ".join(b"w%d" % (k * 7919 % 20_000) for k in range(20_000)))
    matched(b"x\n" * 30_000, b"x\ny\n" * 20_000)
    assert time.perf_counter() - start < 10
