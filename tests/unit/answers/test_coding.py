import gzip
import zlib

import pytest

from phpdyno.answers.answer import Answer
from phpdyno.answers.check import fault
from phpdyno.answers.coding import CannotDecode, decoded, encodings
from phpdyno.answers.headers import learn_headers
from phpdyno.model.workload import Target

PAGE = b"<p>A paragraph that stays.</p>" * 50
RAW = zlib.compressobj(wbits=-15)
BARE = RAW.compress(PAGE) + RAW.flush()


@pytest.mark.parametrize(
    ("codings", "body"),
    [
        ((), PAGE),
        (("gzip",), gzip.compress(PAGE)),
        (("gzip",), gzip.compress(PAGE[:700]) + gzip.compress(PAGE[700:])),
        (("deflate",), zlib.compress(PAGE)),
        (("deflate",), BARE),
        (("gzip", "deflate"), zlib.compress(gzip.compress(PAGE))),
    ],
    ids=("plain", "gzip", "gzip in parts", "zlib", "bare", "both"),
)
def test_a_body_is_decoded(codings: tuple[str, ...], body: bytes) -> None:
    assert decoded(body, codings) == PAGE


@pytest.mark.parametrize(
    ("coding", "body"), [("gzip", PAGE), ("gzip", gzip.compress(PAGE)[:-9]), ("deflate", PAGE), ("br", PAGE)], ids="abcd"
)
def test_a_body_that_is_not_what_it_says_is_refused(coding: str, body: bytes) -> None:
    with pytest.raises(CannotDecode, match=coding):
        decoded(body, (coding,))


def test_codings_are_listed_in_the_order_in_which_they_were_applied() -> None:
    assert encodings([("Content-Encoding", "x-gzip, identity"), ("content-encoding", "Deflate")]) == ("gzip", "deflate")
    assert encodings([("Vary", "Accept-Encoding")]) == ()


def test_a_broken_compressed_body_is_no_valid_answer() -> None:
    broken = Answer(200, (("Content-Encoding", "gzip"),), b"plain", "gzip", 5, "it is no gzip: x")
    assert "says Content-Encoding: gzip, and cannot be decoded" in (fault(Target("/"), broken) or "")
    unknown = Answer(200, (("Content-Encoding", "br"),), b"plain", "br", 5, "the coding 'br' is not known here")
    assert fault(Target("/"), unknown) is None


def test_headers_of_compression_do_not_count_and_what_else_varies_does() -> None:
    plain = learn_headers([(("Content-Type", "text/html"), ("Vary", "Cookie"))])
    compressed = (("Content-Type", "text/html"), ("Vary", "Accept-Encoding, Cookie"), ("Content-Encoding", "gzip"))
    assert plain.differs(compressed) is None
    assert "vary" in (plain.differs((("Content-Type", "text/html"), ("Vary", "Accept-Encoding"))) or "")
