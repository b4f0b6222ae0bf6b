"""`--log-format`: what nginx and Apache call a format, and the targets of a log in it."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from phpdyno.access_log.log_format.given import pattern_of
from phpdyno.access_log.reading import read_access_log
from phpdyno.access_log.summary import LogSummary, workload_of
from phpdyno.access_log.words import summary_text
from phpdyno.errors import UsageError

MAIN = """log_format  main  '$remote_addr - $remote_user [$time_local] "$request" '
                  '$status $body_bytes_sent "$http_referer" '
                  '"$http_user_agent" "$http_x_forwarded_for"';"""
MAIN_LINE = (
    '203.0.113.7 - bob smith [20/Nov/2026:08:00:00 +0000] "GET /a?b=%20c HTTP/2.0" 200 512 "-" '
    '"a \\x22quoted\\x22 agent" "203.0.113.9, 10.0.0.1"'
)
FORMATS = {
    "a directive of three pieces": (MAIN, MAIN_LINE),
    "the pieces alone": (MAIN.partition("main")[2].strip(), MAIN_LINE),
    "method, scheme and host apart": (
        '$remote_addr [$time_local] "$request_method $scheme://$host$request_uri $server_protocol" $status',
        '203.0.113.7 [20/Nov/2026:08:00:00 +0000] "GET https://shop.example/a?b=%20c HTTP/2.0" 200',
    ),
    "status before the request (goaccess #1270)": (
        "[$time_local] $msec $host $server_port $proxy_add_x_forwarded_for $remote_user $status $pipe $request_time $request_length "
        '$bytes_sent $gzip_ratio "$request" "$http_user_agent" "$http_referer" "$http_cookie"',
        "[20/Nov/2026:08:00:00 +0000] 1795161600.267 shop.example 443 203.0.113.7, 10.0.0.1 - 200 . 0.178 977 682 - "
        '"GET /a?b=%20c HTTP/1.0" "Mozilla/5.0 (Windows NT 10.0; Win64; x64)" "https://shop.example/" "s=\\x22Boston:1\\x22; t=2"',
    ),
    "between tabs": (
        "$time_iso8601\t$request_method\t$request_uri\t$status\t$http_user_agent",
        "2026-11-20T08:00:00+00:00\tGET\t/a?b=%20c\t200\tcurl a b",
    ),
    "between bars": ("$status|$request|$http_user_agent", "200|GET /a?b=%20c HTTP/1.1|a b c"),
    "uri, is_args and args": ("$request_method $uri$is_args$args $status", "GET /a?b=%20c 200"),
    "escape=json": (
        """log_format j escape=json '{"t":"$msec","m":"$request_method",'
        '"where":"$request_uri","agent":"$http_user_agent","s":$status}';""",
        json.dumps({"t": "1795161600.000", "m": "GET", "where": "/a?b=%20c", "agent": 'say "hi"', "s": 200}, separators=(",", ":")),
    ),
    "lists of upstreams": (
        '$remote_addr - $upstream_addr $upstream_response_time "$request" $status',
        '203.0.113.7 - 10.0.0.1:80, 10.0.0.2:80 0.010, 0.020 : 0.001 "GET /a?b=%20c HTTP/1.1" 200',
    ),
    "variables in braces": ('${remote_addr} "${request}" ${status}', '203.0.113.7 "GET /a?b=%20c HTTP/1.1" 200'),
    "an agent without quotes": (
        "$remote_addr $http_user_agent $status $request",
        "203.0.113.7 Mozilla/5.0 (X11) 9 200 GET /a?b=%20c HTTP/1.1",
    ),
    "Apache's combined": (
        '%h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"',
        '203.0.113.7 - bob [20/Nov/2026:08:00:00 +0000] "GET /a?b=%20c HTTP/1.1" 200 512 "-" "say \\"hi\\""',
    ),
    "a line of apache2.conf": (
        r'LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" vhost_combined',
        'shop.example:443 203.0.113.7 - - [20/Nov/2026:08:00:00 +0000] "GET /a?b=%20c HTTP/1.1" 200 512 "-" "curl"',
    ),
    "by its name": (
        "vhost_combined",
        'shop.example:443 203.0.113.7 - - [20/Nov/2026:08:00:00 +0000] "GET /a?b=%20c HTTP/1.1" 200 512 "-" "curl"',
    ),
    "path and query apart": ("%a %{sec}t %m %U%q %>s %D", "203.0.113.7 1795161600 GET /a?b=%20c 200 10234"),
    "seconds in front (goaccess #2673)": (
        '%h %{%s}t %l %u %t "%r" %>s %b %T/%D',
        '192.0.2.5 1795161600 - - [20/Nov/2026:08:00:00 +0000] "GET /a?b=%20c HTTP/1.1" 200 10286 22/22923423',
    ),
    "modifiers": ('%{X-Forwarded-For}i %!200,304>s "%r" %<s %>s', '203.0.113.7, 10.0.0.1 - "GET /a?b=%20c HTTP/1.1" 200 200'),
    "Apache's JSON": (
        '{ "time":"%{%Y-%m-%dT%T%z}t", "vhost":"%V", "request":"%r", "status":"%>s" }',
        '{ "time":"2026-11-20T08:00:00+0000", "vhost":"shop.example", "request":"GET /a?b=%20c HTTP/1.1", "status":"200" }',
    ),
    "the site in brackets (goaccess #449)": (
        '%h %t [%V] "%r" %>s "%{Referer}i"', '203.0.113.7 [20/Nov/2026:08:00:00 +0000] [shop.example] "GET /a?b=%20c HTTP/1.1" 200 "-"',
    ),
}  # fmt: skip


def read(tmp_path: Path, lines: Sequence[str], log_format: str) -> LogSummary:
    log = tmp_path / "access.log"
    log.write_text("\n".join(lines) + "\n")
    return read_access_log(log, log_format=log_format)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_as_it_stands_in_a_configuration(tmp_path: Path, name: str) -> None:
    text, line = FORMATS[name]
    summary = read(tmp_path, [line, line, "something else"], text)
    assert [(target.path, target.hits, target.status) for target in summary.targets] == [("/a?b=%20c", 2, 200)]
    assert summary.lines_out("unreadable") == 1
    assert summary.host == ("shop.example" if "shop.example" in line.replace('https://shop.example/"', "") else "")


def test_the_path_that_nginx_decoded_is_encoded_again(tmp_path: Path) -> None:
    summary = read(tmp_path, ['GET "/caf\\xC3\\xA9 menu" "q=%20" 200', 'GET "/100%" "-" 200'], '$request_method "$uri" "$args" $status')
    assert [target.path for target in summary.targets] == ["/100%25", "/caf%C3%A9%20menu?q=%20"]
    assert "target = $uri + $args (decoded: encoded again)" in summary_text(summary)


def test_what_each_variable_was_taken_for_is_said(tmp_path: Path) -> None:
    summary = read(tmp_path, ["shop.example GET /a 200"], "$host $request_method $request_uri $status")
    assert "read as: site = $host, method = $request_method, target = $request_uri, status = $status" in summary_text(summary)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is neither a log_format of nginx ($request …) nor a LogFormat of Apache (%r …)"),
        ("combined.log", "is neither a log_format"),
        ("$remote_addr $status", "the format does not hold the request"),
        ("$request_uri $status", "the format does not hold the method"),
        ('$remote_addr - $remote_user [$time_local] "$request"', "the format does not hold the status"),
        ('%h %l %u %t "%r"', "the format does not hold the status"),
        ("$request_method$request_uri$remote_user$http_referer $status", "stand without anything between them"),
        ("$http_user_agent $http_referer $http_cookie $remote_user $uri $request_method $status", "5 values of it may hold blanks"),
        ("@/no/such/nginx.conf:main", "--log-format @/no/such/nginx.conf:main: there is no such file"),
    ],
)
def test_a_format_that_cannot_be_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        pattern_of(text, log=tmp_path / "access.log")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_log_that_is_in_another_format_says_so(tmp_path: Path) -> None:
    summary = read(tmp_path, ["GET / 200"] * 3, '$remote_addr - - [$time_local] "$request" $status')
    with pytest.raises(UsageError, match=r"3 of 3 lines do not fit --log-format, as line 1: 'GET / 200'; compare it with the log_format"):
        workload_of(summary)


def test_no_line_makes_a_format_slow(tmp_path: Path) -> None:
    """A line of blanks, quotes and brackets that fits nowhere is left after a bounded search."""
    lines = ["- " * 60_000, '" ' * 60_000, "[" * 100_000]
    summary = read(tmp_path, lines, '$remote_addr $remote_user $http_user_agent "$request" $status $http_cookie')
    assert summary.lines_out("unreadable") == 3
