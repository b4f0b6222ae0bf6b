"""Logs of the kinds that public trackers show to be misread, each read rightly or refused in one
line; written for this project, after the issue that is named."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from phpdyno.access_log.reading import read_access_log
from phpdyno.access_log.summary import LogSummary, workload_of
from phpdyno.access_log.words import summary_text, unread_words
from phpdyno.errors import UsageError

WHEN = "[20/Nov/2026:08:00:00 +0000]"
AGENT = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36"


def read(tmp_path: Path, lines: Sequence[str], **options: Any) -> LogSummary:
    log = tmp_path / "access.log"
    log.write_text("\n".join(lines) + "\n")
    return read_access_log(log, **options)


def targets(summary: LogSummary) -> dict[str, int]:
    return {target.path: target.hits for target in summary.targets}


def refused(tmp_path: Path, lines: Sequence[str], **options: Any) -> str:
    with pytest.raises(UsageError) as caught:
        workload_of(read(tmp_path, lines, **options))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_virtualmin_puts_the_site_behind_the_client_twice(tmp_path: Path) -> None:
    """The project goaccess, issue 336: `%h %l %v %V %u %t`."""
    lines = [
        f'203.0.113.{n} - {site} {site} - {WHEN} "GET /{n} HTTP/1.1" 200 20 "-" "{AGENT}"'
        for n in (1, 2)
        for site in ("a.example", "b.example")
    ]
    lines.append(f'203.0.113.9 - a.example a.example - {WHEN} "GET /1 HTTP/1.1" 200 20 "-" "{AGENT}"')
    summary = read(tmp_path, lines)
    assert (summary.host, targets(summary)) == ("a.example", {"/1": 2, "/2": 1})
    assert "site = column 3" in summary_text(summary)


def test_the_site_between_the_time_and_the_client(tmp_path: Path) -> None:
    """The project goaccess, issue 1147: `[$time_local] $server_name $remote_addr "$request" …`."""
    lines = [
        f'{WHEN} {site} 203.0.113.7 "GET {path} HTTP/1.1" 200 "-" "{AGENT}" 0.011'
        for site, path in (("sub.example.com", "/stay/"), ("beans.example.com", "/login.php"), ("sub.example.com", "/stay/"))
    ]
    summary = read(tmp_path, lines)
    assert (summary.host, targets(summary), summary.lines_out("host")) == ("sub.example.com", {"/stay/": 2}, 1)
    assert summary.arrival is not None


def test_a_dash_between_the_time_and_the_request(tmp_path: Path) -> None:
    """The project goaccess, issue 383."""
    lines = [f'{site} 203.0.113.7 - - {WHEN} - "GET / HTTP/1.1" 200 178 "-" "{AGENT}"' for site in ("a.example", "b.example", "a.example")]
    assert (read(tmp_path, lines).host, targets(read(tmp_path, lines))) == ("a.example", {"/": 2})


def test_a_site_that_is_one_word_without_a_port(tmp_path: Path) -> None:
    """The project goaccess, issue 2973: `%v %h %l %u %t`, ServerName test."""
    lines = [f'{site} ::1 - - {WHEN} "GET / HTTP/1.1" 200 0' for site in ("test", "intranet", "test")]
    assert (read(tmp_path, lines).host, targets(read(tmp_path, lines))) == ("test", {"/": 2})


def test_syslog_with_a_host_that_looks_like_a_site(tmp_path: Path) -> None:
    """The project goaccess, issue 2259: the machine's name in syslog's prefix is no site."""
    lines = [f'Nov 20 08:00:00 {host} auth-apache-access: 203.0.113.7 9999 - {WHEN} "GET /a HTTP/1.1" 200 471 "-" "{AGENT}"'
             for host in ("prod1.example.com", "prod2.example.com")]  # fmt: skip
    assert (read(tmp_path, lines).host, targets(read(tmp_path, lines))) == ("", {"/a": 2})


def test_nginx_proxy_manager(tmp_path: Path) -> None:
    """The project goaccess, issue 2824: the address alone is in quotes, behind the site."""
    asked = (("sub.example.com", 200), ("sub.example.com", 401), ("other.example.com", 200), ("sub.example.com", 200))
    lines = [
        f'{WHEN} - {status} {status} - GET https {site} "/robots.txt?x=1" [Client 203.0.113.7] [Length 10] [Gzip -] [Sent-to h] "a" "-"'
        for site, status in asked
    ]
    summary = read(tmp_path, lines)
    assert (summary.host, targets(summary), summary.lines_out("status")) == ("sub.example.com", {"/robots.txt?x=1": 2}, 1)


def test_the_upstream_between_the_request_and_its_status(tmp_path: Path) -> None:
    """The project goaccess, issue 2389: `"$request" to: $upstream_addr $status … "$host" …`."""
    lines = [
        f'203.0.113.7 - - {WHEN} "GET /v2/auth HTTP/2.0" to: 192.0.2.146:80 200 35 "-" "oxttp/4.5.0" "-" "{site}" upstream 0.026'
        for site in ("api.example", "www.example", "api.example")
    ]
    summary = read(tmp_path, lines)
    assert (summary.host, targets(summary), summary.lines_out("unreadable")) == ("api.example", {"/v2/auth": 2}, 0)


def test_an_ingress_with_the_client_twice(tmp_path: Path) -> None:
    """The project goaccess, issue 1116: two services behind one ingress are two apps."""
    lines = [
        f'203.0.113.3 - [203.0.113.3] - - {WHEN} "GET {path} HTTP/2.0" 200 8319 "-" "a b" 563 0.102 [{service}] [] 10.9.4.3:80 39 0.1 200'
        for service, path in (("shop-web-80", "/en/resources"), ("shop-web-80", "/en"), ("blog-web-80", "/en"))
    ]
    summary = read(tmp_path, lines)
    assert (summary.host, targets(summary), summary.lines_out("host")) == ("shop-web-80", {"/en/resources": 1, "/en": 1}, 1)


def test_ltsv_whose_host_is_the_client_and_bad_escapes(tmp_path: Path) -> None:
    """The project alp, issue 1: `host:` is the client, `vhost:` the site; `%\\x22` is no escape."""
    fields = "time:20/Nov/2026:08:00:00 +0000\thost:{client}\treq:GET {uri} HTTP/1.1\tstatus:{status}\tmethod:GET\turi:{uri}\tvhost:{site}"
    lines = [fields.format(client=f"203.0.113.{n}", uri="/x?1000", status=200, site="shop.example") for n in range(3)]
    lines.append(fields.format(client="203.0.113.9", uri=r"/server-status?P=%\x22%6346#%#/&#736", status=404, site="shop.example"))
    summary = read(tmp_path, lines)
    assert (summary.host, targets(summary), summary.lines_out("form")) == ("shop.example", {"/x?1000": 3}, 1)


def test_every_line_in_quotes(tmp_path: Path) -> None:
    """The project goaccess, issue 2198, as LiteSpeed writes its lines."""
    lines = [f'"203.0.113.{n} - - {WHEN} "GET /uploads/?p={n} HTTP/1.1" 200 937 "https://shop.example/" "{AGENT}""' for n in (1, 1)]
    assert targets(read(tmp_path, lines)) == {"/uploads/?p=1": 2}


def test_json_with_uri_args_and_the_request(tmp_path: Path) -> None:
    """The project goaccess, issue 2114: the request line beats uri, which nginx rewrites."""
    line = {
        "time_iso8601": "2026-11-20T08:00:00+00:00", "http_x_forwarded_for": "203.0.113.9", "request": "GET /api/a%20b?x=1 HTTP/1.1",
        "status": "200", "upstream_addr": "10.4.125.202:8080", "request_method": "GET", "host": "api.example", "server_port": "80",
        "uri": "/index.php", "args": "q=/api/a b&x=1",
    }  # fmt: skip
    assert targets(read(tmp_path, [json.dumps(line)])) == {"/api/a%20b?x=1": 1}


def test_lines_that_are_no_request_are_told_from_those_in_no_form(tmp_path: Path) -> None:
    """The project nielsbasjes/logparser, issue 227, and goaccess, issue 2502: scanners' bytes."""
    junk = [r"x00Cookie: mstshash=Administr", "", r"\x16\x03\x01\x00", "-", "GET /index.php?x=a b HTTP/1.1"]
    lines = [f'203.0.113.7 - - {WHEN} "{request}" 400 157 "-" "-" "-"' for request in junk]
    lines.append(f'203.0.113.7 - - {WHEN} "GET / HTTP/1.1" 200 157 "-" "-" "-"')
    summary = read(tmp_path, lines)
    assert targets(summary) == {"/": 1}
    assert "5 (83.3%) unreadable: no request line 5" in summary_text(summary)
    assert unread_words(summary) == ""


def test_quotes_that_varnish_did_not_escape(tmp_path: Path) -> None:
    """The project varnish-cache, issue 1868: an agent with bare quotes."""
    lines = [f'203.0.113.7 - - {WHEN} "GET http://shop.example/hello?a=%22 HTTP/1.1" 200 417 "-" ""echo "GET /no HTTP/1.1" 2.0""'] * 2
    summary = read(tmp_path, lines)
    assert (summary.host, targets(summary)) == ("shop.example", {"/hello?a=%22": 2})


def test_clients_by_their_names_or_sites(tmp_path: Path) -> None:
    """Apache's HostnameLookups, or `%v` in the place of `%h`: two readings, so it is asked."""
    lines = [f'{name} - - {WHEN} "GET /{name[0]} HTTP/1.1" 200 20' for name in ("a.example", "b.example", "a.example")]
    said = refused(tmp_path, lines)
    assert "the first column holds 2 names (a.example, b.example): of sites, or of clients?" in said
    assert targets(read(tmp_path, lines, host="a.example")) == {"/a": 2}
    assert targets(read(tmp_path, lines, log_format='%h %l %u %t "%r" %>s %b')) == {"/a": 2, "/b": 1}
    assert "c.example is none of them" in refused(tmp_path, lines, host="c.example")


def test_sites_or_users_before_the_time(tmp_path: Path) -> None:
    """A log_format with $host in the place of $remote_user."""
    lines = [f'203.0.113.7 - {name} {WHEN} "GET /{name[0]} HTTP/1.1" 200 20 "-" "-"' for name in ("a.example", "b.example", "a.example")]
    assert "the column before the time holds 2 names (a.example, b.example): of sites, or of users?" in refused(tmp_path, lines)
    assert targets(read(tmp_path, lines, host="a.example")) == {"/a": 2}
    users = [line.replace("b.example", "-") for line in lines]
    assert targets(read(tmp_path, users)) == {"/a": 2, "/b": 1}


def test_the_site_and_the_client_alone_in_front(tmp_path: Path) -> None:
    lines = [f'{name} 203.0.113.7 {WHEN} "GET /{name[0]} HTTP/1.1" 200 20' for name in ("a.example", "b.example", "a.example")]
    assert (read(tmp_path, lines).host, targets(read(tmp_path, lines))) == ("a.example", {"/a": 2})


def test_an_object_behind_words_is_caddys_console(tmp_path: Path) -> None:
    inner = json.dumps({"request": {"method": "GET", "host": "a.example", "uri": "/x?y=%20"}, "status": 200})
    summary = read(tmp_path, [f"2026/11/20 08:00:00.123\tinfo\thttp.log.access\thandled request\t{inner}"])
    assert (summary.host, targets(summary)) == ("a.example", {"/x?y=%20": 1})


def test_many_clients_by_their_names_are_no_sites(tmp_path: Path) -> None:
    lines = [f'client-{n}.isp.example - - {WHEN} "GET / HTTP/1.1" 200 20' for n in range(60)]
    assert (read(tmp_path, lines).host, targets(read(tmp_path, lines))) == ("", {"/": 60})


def test_a_size_in_the_place_of_the_status(tmp_path: Path) -> None:
    lines = [f'203.0.113.7 - - {WHEN} "GET / HTTP/1.1" {size} 200 "-" "{AGENT}"' for size in (512, 617, 940, 200, 713, 804)]
    said = refused(tmp_path, lines)
    assert "the number behind the request is no HTTP status in 5 of 6 lines; is it the size?" in said
    log_format = '%h %l %u %t "%r" %b %>s "%{Referer}i" "%{User-Agent}i"'
    assert targets(read(tmp_path, lines, log_format=log_format)) == {"/": 6}


def test_a_log_without_a_status_is_refused(tmp_path: Path) -> None:
    """The project goaccess, issue 2232: a log_format without $status."""
    lines = [f'203.0.113.7 - - {WHEN} "GET https://sub.example/file HTTP/2.0" "-" "{AGENT}"'] * 3
    said = refused(tmp_path, lines)
    assert "3 of 3 lines cannot be read, as line 1: '203.0.113.7" in said
    assert "--log-format" in said


def test_a_site_that_no_line_has(tmp_path: Path) -> None:
    lines = [f'{site}:443 203.0.113.7 - - {WHEN} "GET / HTTP/1.1" 200 20 "-" "-"' for site in ("a.example", "b.example", "a.example")]
    assert "no line is of the site c.example; it has lines of a.example (2), b.example (1)" in refused(tmp_path, lines, host="c.example")


def test_a_site_where_lines_name_none_is_only_how_the_app_is_asked(tmp_path: Path) -> None:
    summary = read(tmp_path, [f'203.0.113.7 - - {WHEN} "GET / HTTP/1.1" 200 20 "-" "-"'], host="shop.example")
    assert workload_of(summary).host == "shop.example"
    assert "note: no line names a site: all are taken as those of shop.example" in summary_text(summary)


def test_scanners_that_ask_by_address_are_of_no_site(tmp_path: Path) -> None:
    lines = [json.dumps({"host": host, "request": f"GET {path} HTTP/1.1", "status": 200})
             for host, path in [("shop.example", "/")] * 9 + [("198.51.100.1", "/setup.php")]]  # fmt: skip
    summary = read(tmp_path, lines)
    assert (summary.host, targets(summary), summary.lines_out("host")) == ("shop.example", {"/": 9}, 1)


@pytest.mark.parametrize("nameless", ["198.51.100.1", "_"])
def test_lines_of_no_site_are_left_out_also_where_they_are_many(tmp_path: Path, nameless: str) -> None:
    hosts = ["shop.example", nameless, "blog.example", "shop.example", nameless] * 6
    text = [f'{host} 203.0.113.{n} - - {WHEN} "GET / HTTP/1.1" 200 20 "-" "-"' for n, host in enumerate(hosts)]
    objects = [json.dumps({"host": host, "request": "GET / HTTP/1.1", "status": 200}) for host in hosts]
    for lines in (text, objects):
        summary = read(tmp_path, lines)
        assert (summary.host, targets(summary), summary.lines_out("host")) == ("shop.example", {"/": 12}, 18)
        assert "(no host name) 12, blog.example 6" in summary_text(summary)
        assert "the log holds 2 sites, and shop.example has the most lines" in summary_text(summary)


def test_a_default_server_that_serves_nearly_all_is_the_site(tmp_path: Path) -> None:
    lines = [json.dumps({"server_name": name, "request": "GET / HTTP/1.1", "status": 200}) for name in ["_"] * 9 + ["status.example"]]
    summary = read(tmp_path, lines)
    assert (summary.host, targets(summary), summary.lines_out("host")) == ("", {"/": 9}, 1)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("2026/11/20 08:00:00 [error] 1#1: *1 open() failed, client: 203.0.113.7", "that looks like an error log: give the access log"),
        ('127.0.0.1 -  20/Nov/2026:08:00:00 +0000 "GET /index.php" 200', "php-fpm's own log has no addresses: give the web server's"),
        ("{", "that looks like JSON over several lines: write one object a line"),
    ],
)
def test_what_is_no_access_log_is_called_by_its_name(tmp_path: Path, line: str, hint: str) -> None:
    assert hint in refused(tmp_path, [line] * 3)


def test_a_proxy_request_of_a_scanner_does_not_name_the_site(tmp_path: Path) -> None:
    lines = [f'203.0.113.7 - - {WHEN} "GET {target} HTTP/1.1" 200 20 "-" "-"' for target in ("http://evil.example/", "/", "/", "/")]
    summary = read(tmp_path, lines)
    assert (summary.host, targets(summary), summary.lines_out("host")) == ("", {"/": 3}, 1)


def test_json_that_lacks_a_part_says_which(tmp_path: Path) -> None:
    said = refused(tmp_path, [json.dumps({"ts": 1, "uri": "/", "status": 200})] * 2)
    assert "2 of 2 lines cannot be read, as line 1" in said
    assert "no method among its names: ts, uri, status" in said


def test_a_path_that_is_now_raw_and_now_decoded_is_told(tmp_path: Path) -> None:
    lines = [json.dumps({"method": "GET", "uri": uri, "status": 200}, ensure_ascii=False) for uri in ["/a?b=1"] * 6 + ["/ü b"] * 4]
    assert "note: uri holds a query or %XX in 6 lines and what no client sends so in 4" in summary_text(read(tmp_path, lines))


def test_lines_of_which_some_are_in_no_form(tmp_path: Path) -> None:
    lines = [f'203.0.113.7 - - {WHEN} "GET / HTTP/1.1" 200 20 "-" "-"', "2026/11/20 08:00:00 [error] 8001#8001: *6 open() failed"]
    words = unread_words(read(tmp_path, lines))
    assert words.startswith("1 line (50.0%) are in no form that is known, as line 2: 2026/11/20 08:00:00 [error]") or words.startswith(
        "1 line (50.0%) is"
    )
