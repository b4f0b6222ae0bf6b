from collections.abc import Iterable
from pathlib import Path

import pytest

from phpdyno.access_log.reading import read_access_log
from phpdyno.access_log.summary import LogSummary, LogTarget, Reason, workload_of
from phpdyno.access_log.tally import LogTally
from phpdyno.access_log.words import summary_text
from phpdyno.errors import UsageError
from phpdyno.model.workload import Target, Workload
from tests.support.made_up.access_logs import START_S, combined, json_line


def tallied(lines: Iterable[bytes | None], *, host: str = "", most: int = 50) -> LogSummary:
    tally = LogTally(host)
    for line in lines:
        tally.add(line)
    summary = tally.summary("access.log", most)
    assert summary.kept + sum(each.lines for each in summary.left_out) == summary.lines
    return summary


@pytest.mark.parametrize(
    ("line", "reason", "parts"),
    [
        (b"\x00\xff", "unreadable", (("no request in it", 1),)),
        (None, "unreadable", (("longer than 128 KiB", 1),)),
        (combined("POST / HTTP/1.1"), "method", (("POST", 1),)),
        (combined("CONNECT evil.example:443 HTTP/1.1"), "method", (("CONNECT", 1),)),
        (json_line(host="other.example"), "host", (("other.example", 1),)),
        (combined("GET http://other.example/ HTTP/1.1"), "host", (("other.example", 1),)),
        (json_line(host="a b\x1b[31m"), "host", (("(no host name)", 1),)),
        (combined("GET /a.css HTTP/1.1", status=404), "static", (("by the ending of the name", 1),)),
        (json_line(upstream_addr="-"), "static", (("answered by the web server itself", 1),)),
        (combined("GET //evil HTTP/1.1"), "form", ()),
        (combined("GET /" + "a/" * 1000 + " HTTP/1.1"), "long", ()),
        (combined("GET /me@example.org HTTP/1.1"), "secret", ()),
        (combined(status=404), "status", (("404", 1),)),
        (combined(status=101), "status", (("101", 1),)),
    ],
)
def test_each_line_is_left_out_for_one_reason(line: bytes | None, reason: Reason, parts: tuple[tuple[str, int], ...]) -> None:
    summary = tallied([line], host="shop.example")
    assert [(each.reason, each.lines, each.parts) for each in summary.left_out] == [(reason, 1, parts)]
    assert summary.arrival is None


@pytest.mark.parametrize(
    ("lines", "form"),
    [
        ([], "0 lines (empty)"),
        ([b"\x00\xff"], "1 line (none of them readable)"),
        ([combined(), b"junk"], "2 lines (combined format)"),
        ([json_line(), b"junk"], "2 lines (JSON)"),
        ([json_line(), combined()], "2 lines (JSON, 1 of them combined format)"),
    ],
)
def test_the_form_of_a_log_is_that_of_its_readable_lines(lines: list[bytes], form: str) -> None:
    assert summary_text(tallied(lines)).startswith(f"access.log: {form}")


def test_targets_are_weighted_and_grouped_by_masked_query() -> None:
    lines = [combined(f"GET /a?token={number} HTTP/1.1") for number in range(3)] + [combined("GET /b HTTP/1.1", status=302)]
    summary = tallied(lines)
    assert summary.targets == (LogTarget("/a?token=masked", 3, 200), LogTarget("/b", 1, 302))
    assert summary.masked == 3
    assert workload_of(summary) == Workload((Target("/a?token=masked", 3.0), Target("/b", 1.0, 302)))


def test_not_modified_and_parts_are_asked_for_whole() -> None:
    summary = tallied([combined(status=304), combined(status=304), combined(status=206), combined(status=302)])
    assert summary.targets == (LogTarget("/", 4, 200),)


def test_a_200_beats_the_301_of_http_to_https_which_is_told() -> None:
    lines = [
        *[combined(status=301)] * 5,
        *[combined(status=200)] * 2,
        *[combined(status=301)] * 3,
        combined("GET /old HTTP/1.1", status=301),
    ]
    summary = tallied(lines)
    assert summary.targets == (LogTarget("/", 2, 200), LogTarget("/old", 1, 301))
    assert summary.lines_out("redirect") == 8
    assert "8 (72.7%) redirects: of addresses that are answered 200 too 8" in summary_text(summary)


def test_where_most_redirects_are_of_http_those_that_never_end_are_no_targets() -> None:
    lines = [*[combined(status=200)] * 20, *[combined(status=301)] * 15, *[combined("GET /seldom HTTP/1.1", status=301)] * 9]
    summary = tallied(lines)
    assert summary.targets == (LogTarget("/", 20, 200),)
    assert summary.lines_out("redirect") == 24
    assert "of addresses that are always redirected" in summary_text(summary)


def test_lines_that_a_cache_answered_are_told() -> None:
    summary = tallied([json_line(upstream_cache_status="HIT"), json_line(upstream_cache_status="MISS")])
    assert (summary.targets, summary.cached) == ((LogTarget("/", 2, 200),), 1)
    assert "note: a cache answered 1 request of these, and not the app" in summary_text(summary)


def test_a_line_that_is_left_out_is_an_example_where_targets_are_few() -> None:
    said = summary_text(tallied([combined(), combined("GET /a.css HTTP/1.1"), combined("GET /b.css?token=x HTTP/1.1")]))
    assert "  line 1: GET / HTTP/1.1 → /\n  line 2: GET /a.css HTTP/1.1 → left out, see below\n" in said
    assert "token" not in said


def test_a_target_that_mostly_fails_is_none() -> None:
    summary = tallied([combined(status=200), *[combined(status=500)] * 3, combined("GET /b HTTP/1.1")])
    assert [target.path for target in summary.targets] == ["/b"]
    assert (summary.lines_out("answers"), summary.lines_out("status")) == (1, 3)


def test_a_target_that_seldom_fails_stays() -> None:
    summary = tallied([*[combined(status=200)] * 3, combined(status=500)])
    assert summary.targets == (LogTarget("/", 3, 200),)


def test_php_that_answers_for_a_static_name_is_kept() -> None:
    summary = tallied([json_line(request_uri="/app.css", upstream_addr="unix:/run/php.sock")])
    assert [target.path for target in summary.targets] == ["/app.css"]


def test_rare_targets_are_counted_and_their_share_said() -> None:
    lines = [combined(f"GET /{name} HTTP/1.1") for name in "aaabbc"]
    summary = tallied(lines, most=1)
    assert [target.path for target in summary.targets] == ["/a"]
    assert (summary.lines_out("rare"), summary.rare_targets, summary.undercount, summary.coverage) == (3, 2, 0, 0.5)


@pytest.mark.parametrize(("names", "sure"), [("a" * 9 + "bc" + "defghi", True), ("aab" + "cdefghi", False)])
def test_whether_the_most_frequent_are_surely_kept(names: str, sure: bool) -> None:
    tally = LogTally(capacity=3)
    for name in names:
        tally.add(combined(f"GET /{name} HTTP/1.1"))
    summary = tally.summary("log", 1)
    assert summary.undercount > 0
    assert summary.surely_most_frequent is sure


def test_arrivals_are_those_of_all_usable_lines() -> None:
    lines = [combined(second=second) for second in range(120) for _ in range(2)]
    lines += [combined("GET /a.css HTTP/1.1", second=5)] * 50 + [combined("GET /rare HTTP/1.1", second=7)]
    summary = tallied(lines, most=1)
    arrival = summary.arrival
    assert arrival is not None
    assert arrival.rate_per_s == pytest.approx(241 / 120)
    assert (arrival.span_s, arrival.peak_per_s) == (120, 3)
    assert arrival.dispersion is not None
    assert arrival.dispersion < 0.01
    assert arrival.gap_cv2 is None
    assert (summary.start_s, summary.end_s, summary.peak_s) == (START_S, START_S + 119, START_S + 7)


def test_gaps_where_the_log_has_milliseconds() -> None:
    lines = [json_line(msec=f"{START_S + number / 2:.3f}") for number in range(400)]
    arrival = tallied(lines).arrival
    assert arrival is not None
    assert arrival.gap_cv2 == pytest.approx(0.0, abs=1e-6)


def test_the_main_host_is_found_and_can_be_given(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(b"\n".join([json_line(host="a.example", request_uri="/x")] * 2 + [json_line(host="b.example:80")]) + b"\n")
    found, given = read_access_log(log), read_access_log(log, host="B.example:443")
    assert (found.host, [each.path for each in found.targets], found.lines_out("host")) == ("a.example", ["/x"], 1)
    assert (given.host, [each.path for each in given.targets], given.lines_out("host")) == ("b.example", ["/"], 2)
    assert workload_of(found).host == "a.example"
    assert workload_of(given).host == "b.example"


def test_hosts_beyond_many_are_others() -> None:
    summary = tallied([json_line(host=f"h{number}.example") for number in range(1000)], host="shop.example")
    left_out = summary.left_out[0]
    assert left_out.lines == sum(count for _, count in left_out.parts) == 1000
    assert left_out.parts[-1][0] == "others"


@pytest.mark.parametrize(("options", "what"), [({"most_targets": 0}, "0 targets"), ({"host": "a b"}, "is no host name")])
def test_impossible_options(tmp_path: Path, options: dict[str, object], what: str) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(combined())
    with pytest.raises(UsageError, match=what):
        read_access_log(log, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lines", "what"),
    [([], "access.log: is empty"), ([combined("POST / HTTP/1.1")] * 2 + [b"junk"], "2 of 3 lines are left out .method")],
)
def test_a_log_without_targets_makes_no_workload(lines: list[bytes], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        workload_of(tallied(lines))
