import pytest
from msgspec.structs import replace

from phpdyno.commands.compare.view.shape import Row
from phpdyno.commands.compare.view.words import sentence
from phpdyno.report.words import duration, milliseconds, percent

ROW = Row(
    name="ini.opcache.jit=tracing",
    metric="cpu",
    sentence="",
    changed={"ini.opcache.jit": "tracing"},
    is_aa=False,
    kind="improved",
    relevance="relevant",
    ratio=1.073,
    low=1.0619,
    high=1.0842,
    clipped_ratio=1.072,
    sigma=0.02,
    blocks=21,
    blocks_needed=7,
    blocks_excluded=0,
    confidence=0.95,
    interval_confidence=0.95,
    simultaneous_over=1,
    margin=0.01,
    reason="",
    warnings=(),
    proofs=(),
    control=None,
    treated=None,
    whole_stack=None,
)


def test_the_sentence_of_the_promise() -> None:
    expected = "ini.opcache.jit=tracing: 6.8 % less CPU per request (95 % CI 5.8 to 7.8 %, 21 blocks): improved, relevant"
    assert sentence(ROW) == expected


def test_a_regression_is_said_the_other_way_round_with_its_interval() -> None:
    row = replace(ROW, kind="regressed", ratio=0.2123, low=0.208, high=0.217, blocks=9)
    assert "371 % more CPU per request (95 % CI 361 to 381 %, 9 blocks): regressed, relevant" in sentence(row)


def test_a_small_regression() -> None:
    row = replace(ROW, kind="regressed", relevance="relevance open", ratio=0.99, low=0.982, high=0.998)
    assert "1.0 % more CPU per request (95 % CI 0.2 to 1.8 %, 21 blocks): regressed, relevance open" in sentence(row)


def test_several_treatments_share_the_confidence() -> None:
    row = replace(ROW, simultaneous_over=4, interval_confidence=0.9875)
    assert "(95 % CI 5.8 to 7.8 %, simultaneous over 4 treatments, 21 blocks)" in sentence(row)


def test_equivalent() -> None:
    row = replace(ROW, kind="equivalent", relevance="", ratio=1.002, low=0.996, high=1.0079)
    expected = "no effect beyond ±1 %: 0.2 % less CPU per request (95 % CI 0.4 % more to 0.8 % less, 21 blocks): equivalent"
    assert sentence(row).endswith(expected)


def test_inconclusive_with_an_interval_gives_the_reason() -> None:
    row = replace(ROW, kind="inconclusive", relevance="", ratio=1.008, low=0.995, high=1.021, reason="budget spent")
    expected = "undecided: 0.8 % less CPU per request (95 % CI 0.5 % more to 2.1 % less, 21 blocks): inconclusive (budget spent)"
    assert sentence(row).endswith(expected)


def test_without_an_interval_there_is_no_number() -> None:
    row = replace(ROW, kind="inconclusive", relevance="", ratio=None, low=None, high=None, blocks=5)
    assert sentence(row).endswith(": interval still infinite: 5 of at least 7 blocks: inconclusive")
    assert "too wide" in sentence(replace(row, blocks=8))


def test_invalid_gives_the_reason_and_no_number() -> None:
    row = replace(ROW, kind="invalid", relevance="", ratio=None, low=None, high=None, reason="answers differ: / has another title")
    assert sentence(row) == "ini.opcache.jit=tracing: no number (answers differ: / has another title): invalid"
    assert sentence(replace(row, reason="")).endswith(": no number: invalid")


def test_an_aa_arm_is_marked_once() -> None:
    assert sentence(replace(ROW, is_aa=True)).startswith("ini.opcache.jit=tracing (A/A): ")
    assert sentence(replace(ROW, is_aa=True, name="control, A/A")).startswith("control, A/A: ")


@pytest.mark.parametrize(
    ("ratio", "low", "high", "said"),
    [
        (1.0102, 1.00004, 1.0204, "1.010 % less CPU per request (95 % CI 0.004 to 1.999 %"),
        (1.07312, 1.07301, 1.07323, "6.814 % less CPU per request (95 % CI 6.804 to 6.823 %"),
        (4.6, 4.5, 4.7, "78.26 % less CPU per request (95 % CI 77.78 to 78.72 %"),
        (52.04, 49.0, 55.2, "98.08 % less CPU per request (95 % CI 97.96 to 98.19 %"),
        (520.4, 490.2, 552.1, "99.808 % less CPU per request (95 % CI 99.796 to 99.819 %"),
        (1.5, 1.5, 1.5, "33 % less CPU per request (95 % CI 33 to 33 %"),
    ],
)
def test_as_many_digits_as_the_interval_needs(ratio: float, low: float, high: float, said: str) -> None:
    assert said in sentence(replace(ROW, ratio=ratio, low=low, high=high))


def test_plain_numbers() -> None:
    assert [percent(each) for each in (0.01, 0.005, 0.95, 0.9875, 0)] == ["1 %", "0.5 %", "95 %", "98.75 %", "0 %"]
    assert [duration(each) for each in (0, 45.4, 60, 214, 3600, 3900)] == ["0 s", "45 s", "1 min", "3 min 34 s", "1 h", "1 h 5 min"]
    assert [milliseconds(each) for each in (0, 0.0912, 1.4, 21.111, 109.31)] == ["0.000", "0.0912", "1.400", "21.11", "109.3"]
