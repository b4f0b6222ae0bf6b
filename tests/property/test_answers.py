"""Equal answers: what is stable must always count, what is volatile never."""

from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from phpdyno.answers.align import align, tokens_of
from phpdyno.answers.answer import Answer
from phpdyno.answers.check import fault, first_line
from phpdyno.answers.mask import WideMaskError, learn
from phpdyno.model.workload import Target

WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8).map(str.encode)
SIGNS = st.sampled_from([b" ", b"\n", b"<", b">", b"=", b'"', b"</p>\n<p>"])
NONCES = st.text("0123456789abcdef", min_size=9, max_size=9).map(lambda text: b"x" + text.encode())
patient = settings(deadline=None)  # the machine is shared
FILLER = b"".join(b"<p>stable words of a long page, line %d</p>\n" % k for k in range(120))


@st.composite
def pages(draw: st.DrawFn) -> list[bytes]:
    """Parts of a page: words with signs between them; b'' stands for a volatile token."""
    parts = [FILLER]
    for _ in range(draw(st.integers(1, 12))):
        parts += [draw(SIGNS), draw(st.one_of(st.just(b""), WORDS)), draw(SIGNS)]
    return parts


def fill(parts: list[bytes], nonces: list[bytes]) -> bytes:
    values = iter(nonces * len(parts))
    return b"".join(part or next(values) for part in parts)


@patient
@given(st.binary(max_size=400))
def test_identical_bodies_are_equal(body: bytes) -> None:
    assert learn([body]).differs(body) is None
    assert learn([body, body, body]).differs(body) is None


@patient
@given(st.lists(st.binary(max_size=200), min_size=1, max_size=4), st.binary(max_size=200))
@example([b"ab1cd", b"ab2cd"], b"ab")
@example([b"\n", b"\n\n"], b"")
def test_arbitrary_bytes_never_crash(bodies: list[bytes], candidate: bytes) -> None:
    filled = [FILLER + body for body in bodies]
    mask = learn([*filled, *filled])
    assert all(mask.differs(body) is None for body in filled)
    mask.differs(candidate)
    mask.differs(FILLER + candidate)
    try:
        learn(bodies).differs(candidate)
    except WideMaskError as error:
        assert "\n" not in str(error)  # noqa: PT017 (either outcome is right)
    first_line(candidate)
    fault(Target("/"), Answer(200, (), candidate))


@patient
@given(st.binary(max_size=300), st.binary(max_size=300))
def test_alignment_pairs_equal_tokens_in_rising_order(one: bytes, two: bytes) -> None:
    tokens, others = tokens_of(one), tokens_of(two)
    assert b"".join(tokens) == one
    pairs = align(tokens, others)
    assert all(tokens[i] == others[j] for i, j in pairs)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(pairs))


@patient
@given(pages(), st.lists(NONCES, min_size=16, max_size=16, unique=True))
def test_volatile_tokens_may_be_replaced_by_others_of_their_kind(parts: list[bytes], nonces: list[bytes]) -> None:
    mask = learn([fill(parts, nonces[k : k + 4]) for k in (0, 4, 8)])
    assert mask.differs(fill(parts, nonces[12:])) is None


@patient
@given(pages(), st.lists(NONCES, min_size=16, max_size=16, unique=True), st.data())
def test_a_changed_stable_token_always_differs(parts: list[bytes], nonces: list[bytes], data: st.DataObject) -> None:
    mask = learn([fill(parts, nonces[k : k + 4]) for k in (0, 4, 8)])
    stable = [k for k, part in enumerate(parts) if part]
    at = data.draw(st.sampled_from(stable))
    changed = [*parts]
    changed[at] = parts[at] + b"Q" if parts[at].isalpha() else parts[at] + b"!"
    assert mask.differs(fill(changed, nonces[12:])) is not None


@patient
@given(pages(), st.lists(NONCES, min_size=12, max_size=12, unique=True), st.integers(3000, 5000))
def test_a_long_text_in_a_volatile_place_differs(parts: list[bytes], nonces: list[bytes], length: int) -> None:
    if all(parts):
        return
    mask = learn([fill(parts, nonces[k : k + 4]) for k in (0, 4, 8)])
    assert mask.differs(fill(parts, [b"x" * length])) is not None
