import pytest

from phpdyno.access_log.forms.hit import Hit
from phpdyno.access_log.reader import parse_line
from phpdyno.access_log.times import Stamp
from tests.support.made_up.access_logs import START_S, combined, json_line


def parsed(line: bytes) -> Hit:
    hit = parse_line(line)
    assert hit is not None
    return hit


def test_combined() -> None:
    hit = parsed(combined("GET /shop?page=2 HTTP/2.0", status=301, second=5))
    assert (hit.method, hit.target, hit.status, hit.host) == ("GET", b"/shop?page=2", 301, "")
    assert (hit.stamp, hit.raw, hit.taken.form) == (Stamp(START_S + 5.0), b"GET /shop?page=2 HTTP/2.0", "combined format")


@pytest.mark.parametrize("user", ["-", "bob", "a user [with] brackets", "x [21/Nov/2026:10:00:00 +0000]"])
def test_a_user_name_with_anything_in_it(user: str) -> None:
    assert parsed(combined("GET /a HTTP/1.1", user=user)).target == b"/a"


def test_an_agent_that_looks_like_a_request_is_none() -> None:
    line = combined("GET /real HTTP/1.1", agent="[21/Nov/2026:10:00:00 +0000] \\x22GET /forged HTTP/1.1\\x22 200 1")
    assert parsed(line).target == b"/real"


def test_escapes_of_nginx_and_apache_are_undone() -> None:
    assert parsed(combined(r"GET /a\x22b\x5Cc\xC3\xA4 HTTP/1.1")).target == b'/a"b\\c\xc3\xa4'
    assert parsed(combined(r"GET /a\"b\\c HTTP/1.1")).target == b'/a"b\\c'


def test_a_common_log_without_referer() -> None:
    assert parsed(b'192.0.2.7 - - [21/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 -').status == 200


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\x00\xff\xfe" * 50,
        b"not a log",
        combined(r"\x16\x03\x01\x02\x00\x01"),
        combined(""),
        combined("-"),
        combined("GET /a b HTTP/1.1"),
        combined("GET /"),
        b"{",
        b"[" * 100_000,
        b'{"request":' + b"[" * 100_000,
        b"{}",
        b'{"request_uri": "/", "status": 200}',
        b'{"request_uri": "/", "request_method": "GET"}',
        b'{"request_uri": 7, "request_method": ["GET"], "status": 200}',
        b'{"request_uri": "/", "request_method": "GET", "status": 1e999}',
        b'{"request_uri": "/", "request_method": "GET", "status": ' + b"9" * 9000 + b"}",
        b'{"request_uri": "/", "request_method": "GET", "status": true}',
    ],
)
def test_what_tells_of_no_request(line: bytes) -> None:
    assert parse_line(line) is None


def test_an_impossible_time_leaves_the_request() -> None:
    hit = parsed(b'192.0.2.7 - - [99/Foo/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 1 "-" "-"')
    assert (hit.target, hit.stamp) == (b"/a", None)


@pytest.mark.parametrize(
    "fields",
    [
        {"request": "GET /a?b=1 HTTP/2.0", "status": "200"},
        {"request_method": "get", "request_uri": "/a?b=1", "status": 200},
        {"method": "GET", "uri": "/a", "args": "b=1", "status": 200},
        {"request_method": "GET", "uri": "/a", "query_string": "b=1", "status": 200},
        {"method": "GET", "url": "/a?b=1", "status": 200},
        {"request": "GET /a?b=1 HTTP/1.1", "uri": "/index.php", "args": "q=/a", "status": 200},
    ],
)
def test_names_of_keys(fields: dict[str, object]) -> None:
    hit = parsed(json_line(**({"request_method": None, "request_uri": None} | fields)))
    assert (hit.method, hit.target, hit.status, hit.taken.form) == ("GET", b"/a?b=1", 200, "JSON")


def test_a_decoded_uri_is_encoded_again() -> None:
    assert parsed(json_line(request_uri=None, uri="/a b/ü%?#", args="-")).target == b"/a%20b/%C3%BC%25%3F%23"


@pytest.mark.parametrize(
    ("fields", "stamp"),
    [
        ({"msec": "1795255205.250"}, Stamp(START_S + 5.25, fine=True)),
        ({"msec": 1795255205.25}, Stamp(START_S + 5.25, fine=True)),
        ({"msec": "1795255205.250", "request_time": "0.250"}, Stamp(START_S + 5.0, fine=True)),
        ({"time_iso8601": "2026-11-21T11:00:05+01:00", "request_time": 3}, Stamp(START_S + 5.0)),
        ({"time_local": "21/Nov/2026:11:00:05 +0100"}, Stamp(START_S + 5.0)),
        ({"@timestamp": "2026-11-21T10:00:05.500Z"}, Stamp(START_S + 5.5, fine=True)),
        ({"timestamp": 1795255205500}, Stamp(START_S + 5.5, fine=True)),
        ({"time": "2026-11-21T10:00:05"}, Stamp(START_S + 5.0)),
        ({"msec": "-", "time_local": "21/Nov/2026:10:00:05 +0000"}, Stamp(START_S + 5.0)),
        ({"time": "yesterday"}, None),
        ({"time": "9" * 5000}, None),
        ({"time": 10**400}, None),
        ({"time": True}, None),
        ({"time": "nan"}, None),
        ({"time": "9999-01-01T00:00:00Z"}, None),
        ({"time": "0001-01-01T00:00:00+23:59"}, None),
        ({}, None),
    ],
)
def test_times(fields: dict[str, object], stamp: Stamp | None) -> None:
    assert parsed(json_line(**fields)).stamp == stamp


@pytest.mark.parametrize(
    ("fields", "host"),
    [
        ({"host": "Shop.Example:443"}, "shop.example"),
        ({"http_host": "shop.example."}, "shop.example"),
        ({"server_name": "_"}, "-"),
        ({"host": "[::1]:8080"}, "-"),
        ({"host": "203.0.113.7", "server_name": "shop.example"}, "shop.example"),
        ({"host": 7}, ""),
    ],
)
def test_hosts(fields: dict[str, object], host: str) -> None:
    assert parsed(json_line(**fields)).host == host


@pytest.mark.parametrize(
    ("fields", "by_server"),
    [
        ({"upstream_response_time": "-"}, True),
        ({"upstream_addr": ""}, True),
        ({"upstream_addr": "unix:/run/php.sock", "upstream_response_time": "0.010"}, False),
        ({"upstream_response_time": 0.01}, False),
        ({"upstream_addr": "127.0.0.1:9000"}, False),
        ({"upstream_addr": "10.4.125.1:8080, 10.4.125.2:8080"}, None),
        ({}, None),
    ],
)
def test_who_answered(fields: dict[str, object], by_server: bool | None) -> None:
    assert parsed(json_line(**fields)).by_server is by_server


def test_json_that_holds_raw_bytes_or_default_escapes() -> None:
    raw = b'{"request_method":"GET","request_uri":"/\xff\xc3\xa4","status":200,"agent":"\xfe"}'
    assert parsed(raw).target == b"/\xff\xc3\xa4"
    default = rb'{"request_method":"GET","request_uri":"/\x22a\xC3\xA4","status":200}'
    assert parsed(default).target == b'/"a\xc3\xa4'
