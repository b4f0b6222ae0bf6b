"""The summary of an access log, to the letter. After a wanted change: pytest tests/golden
--snapshot-update, and read the difference."""

from random import Random

from syrupy.assertion import SnapshotAssertion

from phpdyno.access_log.tally import LogTally
from phpdyno.access_log.words import summary_text
from tests.support.made_up.access_logs import START_S, combined, json_line


def test_everything_that_can_be_left_out(snapshot: SnapshotAssertion) -> None:
    rng, tally = Random(11), LogTally("shop.example")
    time = float(START_S)
    for _ in range(3000):
        time += rng.expovariate(10)
        path = f"/item?id={int(rng.paretovariate(1))}"
        tally.add(json_line(request_uri=path, host="shop.example", msec=f"{time:.3f}", status=rng.choice([200, 200, 304, 404])))
    others: list[bytes | None] = [
        None,
        b"\x00junk",
        *[json_line(request_method="POST")] * 3,
        json_line(request_method="HEAD"),
        json_line(host="other.example"),
        *[json_line(request_uri="/a.css")] * 40,
        json_line(upstream_addr="-"),
        combined("GET //evil HTTP/1.1"),
        combined("GET /" + "a/" * 1000 + " HTTP/1.1"),
        combined("GET /me@example.org HTTP/1.1"),
        json_line(request_uri="/?token=abc"),
        json_line(request_uri="/seldom"),
        *[json_line(request_uri="/seldom", status=500)] * 3,
    ]
    for line in others:
        tally.add(line)
    assert summary_text(tally.summary("access.log", 5)) == snapshot


def test_a_plain_log(snapshot: SnapshotAssertion) -> None:
    tally = LogTally()
    for second in range(3):
        tally.add(combined(second=second))
    assert summary_text(tally.summary("access\x1b[31m.log")) == snapshot


def test_more_targets_than_are_counted_at_once(snapshot: SnapshotAssertion) -> None:
    tally = LogTally(capacity=3)
    for number in range(40):
        tally.add(combined(f"GET /{number % 2 or number} HTTP/1.1", second=number))
    assert summary_text(tally.summary("access.log", 3)) == snapshot


def test_an_empty_log(snapshot: SnapshotAssertion) -> None:
    assert summary_text(LogTally().summary("access.log")) == snapshot
