"""Whatever strace is made to write, reading it is no error, and what comes out can be kept and
shown."""

import random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from phpdyno.explain.tracing.dns_message import read_message
from phpdyno.explain.tracing.lines import text, unescaped
from phpdyno.explain.tracing.reached import TRACED, read_reached
from phpdyno.model.inside.reach import Reached
from phpdyno.report.advice import advise
from tests.support.strace_recordings import recorded

patient = settings(deadline=None)  # the machine is shared
REAL = [line for name in ("network", "files", "resolved", "isolated") for line in recorded(name)]
PIECES = [
    *("7 ", '"/a"', '"', "\\", "<", ">", "socket:[1]", "{", "}", "[", "]", ")", ", ", " = ", "-1 ENOENT", "\\303", " <unfinished ...>"),
    *("7 <... connect resumed>", "htons(53)", f"htons({'9' * 5000})", "9" * 5000, "sa_family=AF_UNIX, sun_path=@"),
    *(f"{name}(" for name in TRACED),
]
MADE_UP = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=20).map("".join)
RAW = st.binary(max_size=60).map(lambda data: data.decode(errors="surrogateescape"))
CUT = st.builds(lambda line, cut, end: line[:cut] + end, st.sampled_from(REAL), st.integers(0, 200), MADE_UP)
LINES = st.lists(st.sampled_from(REAL) | MADE_UP | RAW | CUT, max_size=30)


@patient
@given(LINES, st.integers(0, 5))
def test_no_line_is_an_error(lines: list[str], requests: int) -> None:
    reached = read_reached(lines, requests=requests, ours=("/a",), sendmail=("/bin/true", ""))
    assert msgspec.json.decode(msgspec.json.encode(reached), type=Reached) == reached
    for each in advise(reached):
        assert each.line.isprintable()
        assert each.calls >= 0


@patient
@given(st.binary(max_size=200))
def test_no_message_is_an_error(data: bytes) -> None:
    message = read_message(data)
    assert message is None or message.name == message.name.lower()


@patient
@given(st.binary(max_size=60))
def test_escaped_bytes_come_back(data: bytes) -> None:
    assert unescaped("".join(f"\\x{each:02x}" for each in data)) == data
    assert unescaped("".join(f"\\{each:03o}" for each in data)) == data
    assert text(data).encode() or not data


@patient
@given(st.randoms(use_true_random=False))
def test_the_order_of_processes_does_not_matter(chance: random.Random) -> None:
    """Lines of one process keep their order; those of several come in any."""
    split: dict[str, list[str]] = {}
    for line in recorded("resolved"):
        split.setdefault(line.split()[0], []).append(line)
    mixed: list[str] = []
    while any(split.values()):
        mixed.append(split[chance.choice([pid for pid, rest in split.items() if rest])].pop(0))
    usual = read_reached(recorded("resolved"), requests=2)
    assert read_reached(mixed, requests=2).lookups == usual.lookups
