"""A table of the forms that servers and proxies write, each after its documentation, and the
targets that come of it."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from phpdyno.access_log.reading import read_access_log
from phpdyno.access_log.summary import LogSummary

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0"
WHEN = "[20/Nov/2026:08:00:00 +0000]"
ENCODED = "/catalog/search?q=%D1%87%D0%B0%D0%B9&page=2"


def read(tmp_path: Path, lines: Sequence[str], **options: Any) -> LogSummary:
    log = tmp_path / "access.log"
    log.write_bytes(b"".join(line.encode("utf-8", "surrogateescape") + b"\n" for line in lines))
    summary = read_access_log(log, **options)
    assert summary.kept + sum(each.lines for each in summary.left_out) == summary.lines
    return summary


def targets(summary: LogSummary) -> dict[str, int]:
    return {target.path: target.hits for target in summary.targets}


def combined(target: str, *, front: str = "203.0.113.7 - -", status: int = 200, behind: str = "") -> str:
    return f'{front} {WHEN} "GET {target} HTTP/1.1" {status} 5120 "-" "{AGENT}"{behind}'


COMBINED = [combined("/"), combined(ENCODED), combined("/caf%C3%A9/menu"), combined("/app.css?v=9")]
KEPT = {"/": 1, ENCODED: 1, "/caf%C3%A9/menu": 1}
ASKED = ("/", ENCODED, "/caf%C3%A9/menu", "/app.css?v=9")

FORMS = {
    "nginx combined": COMBINED,
    "common, as Apache writes it": [line[: line.index(' "-" "')] for line in COMBINED],
    "time taken behind (%D)": [line + " 10234" for line in COMBINED],
    "more behind": [line + ' "203.0.113.9" 0.012 0.011 unix:/run/php/php8.2-fpm.sock TLSv1.3' for line in COMBINED],
    "X-Forwarded-For in front": [combined(target, front="203.0.113.9, 10.0.0.5 192.0.2.1 - bob") for target in ASKED],
    "X-Forwarded-For in quotes": [combined(target, front='"203.0.113.9, 10.0.0.5" 192.0.2.1 - -') for target in ASKED],
    "no client": [combined(target, front="- - -") for target in ASKED],
    "IPv6": [combined(target, front="2001:db8::7 - -") for target in ASKED],
    "the whole line in quotes (LiteSpeed)": [f'"{line}"' for line in COMBINED],
    "Traefik CLF": [line + ' 12 "shop@docker" "http://172.18.0.5:80" 12ms' for line in COMBINED],
    "ingress-nginx": [
        line + " 563 0.102 [shop-web-80] [] 10.0.4.34:8080 39615 0.102 200 5c1f3bb5a0e0c7b1d0f8a2c94e6d7f10" for line in COMBINED
    ],
    "request time before the size": [line.replace(" 200 5120", " 200 0.012 5120") for line in COMBINED],
    "time first, then the client": [f'{WHEN} 203.0.113.7 "GET {target} HTTP/2.0" 200 "-" "{AGENT}" 0.011' for target in ASKED],
    "Envoy": [
        f'[2026-11-20T08:00:00.123Z] "GET {target} HTTP/1.1" 200 - via_upstream - "-" 0 5120 12 11 "203.0.113.7" "{AGENT}" '
        '"9d1f3bb5-a0e0-47b1-90f8-a2c94e6d7f10" "localhost" "10.0.4.34:8080"'
        for target in ASKED
    ],
    "bars between": [f'203.0.113.7|-|{WHEN}|"GET {target} HTTP/1.1"|200|11400|"-"|"{AGENT}"' for target in ASKED],
    "syslog, RFC 3164": [f"<190>Nov 20 08:00:00 web1 nginx: {line}" for line in COMBINED],
    "syslog, RFC 5424": [f"<190>1 2026-11-20T08:00:00.003Z web1 nginx 1234 - - {line}" for line in COMBINED],
    "syslog's file": [f"Nov 20 08:00:00 web1 nginx[812]: {line}" for line in COMBINED],
    "rsyslog's precise file": [f"2026-11-20T08:00:00.123456+00:00 web1 nginx: {line}" for line in COMBINED],
    "a container's log": [f"2026-11-20T08:00:00.123456789Z stdout F {line}" for line in COMBINED],
    "docker compose logs": [f"web-1  | {line}" for line in COMBINED],
    "Docker's json-file": [json.dumps({"log": line + "\n", "stream": "stdout", "time": "2026-11-20T08:00:00.1Z"}) for line in COMBINED],
    "JSON with request_uri": [
        json.dumps({"time": "2026-11-20T08:00:00+00:00", "method": "GET", "request_uri": each, "status": 200}) for each in ASKED
    ],
    "JSON whose uri is $request_uri": [
        json.dumps({"host": "198.51.100.4", "method": "GET", "uri": each, "status": "200"}) for each in ASKED
    ],
    "JSON whose uri is the path as sent, the query apart": [
        json.dumps({"method": "GET", "uri": path, "args": query, "status": 200})
        for path, _, query in (target.partition("?") for target in ASKED)
    ],
    "JSON with requestPath and a query behind its mark": [
        json.dumps({"method": "GET", "requestPath": path, "query": query and f"?{query}", "status": 200})
        for path, _, query in (target.partition("?") for target in ASKED)
    ],
    "JSON whose request is the path": [
        json.dumps({"method": "GET", "request": path, "query": query, "status": 200})
        for path, _, query in (target.partition("?") for target in ASKED)
    ],
    "JSON with path and params": [
        json.dumps({"method": "GET", "path": path, "params": query, "status": 200})
        for path, _, query in (target.partition("?") for target in ASKED)
    ],
    "JSON with path and query": [
        json.dumps({"method": "GET", "path": path, "query": query, "status": 200})
        for path, _, query in (target.partition("?") for target in ASKED)
    ],
    "JSON with the request line": [
        json.dumps({"request": f"GET {each} HTTP/2.0", "status": 200, "args": "x=1", "uri": "/i"}) for each in ASKED
    ],
    "JSON of a collector (verb, request, response)": [
        json.dumps({"verb": "GET", "request": each, "httpversion": "1.1", "response": "200", "clientip": "203.0.113.7"}) for each in ASKED
    ],
    "Elastic Common Schema": [
        json.dumps({
            "@timestamp": "2026-11-20T08:00:00.000Z", "host": {"name": "web-1"}, "url": {"original": each, "path": "/x"},
            "http": {"request": {"method": "GET"}, "response": {"status_code": 200}},
        })
        for each in ASKED
    ],
    "LTSV": [
        f"time:20/Nov/2026:08:00:00 +0000\thost:203.0.113.7\tforwardedfor:-\treq:GET {each} HTTP/1.1\tstatus:200\tmethod:GET\turi:{each}"
        f"\tsize:5120\treferer:-\tua:{AGENT}\treqtime:0.022"
        for each in ASKED
    ],
    "name=value": [f'time=2026-11-20T08:00:00Z method=GET path="{each}" client=203.0.113.7 status=200 bytes=512' for each in ASKED],
    "HAProxy": [
        "Nov 20 08:00:00 lb1 haproxy[14389]: 203.0.113.7:33317 [20/Nov/2026:08:00:00.655] http-in~ php/srv1 10/0/30/69/109 200 2750 - - "
        f'---- 1/1/1/1/0 0/0 "GET {each} HTTP/1.1"'
        for each in ASKED
    ],
    "IIS": [
        "#Software: Microsoft Internet Information Services 10.0",
        "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) sc-status time-taken",
        *[
            f"2026-11-20 08:00:00 192.0.2.1 GET {path} {query or '-'} 443 - 203.0.113.7 Mozilla/5.0+(X11) 200 15"
            for path, _, query in (target.partition("?") for target in ASKED)
        ],
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_is_recognised(tmp_path: Path, name: str) -> None:
    summary = read(tmp_path, FORMS[name])
    assert targets(summary) == KEPT
    assert summary.lines_out("static") == 1
    assert summary.lines_out("unreadable") == 0


@pytest.mark.parametrize("name", FORMS)
def test_the_same_with_gzip(tmp_path: Path, name: str) -> None:
    log = tmp_path / "access.log.1"
    log.write_bytes(gzip.compress("\n".join(FORMS[name]).encode()))
    assert targets(read_access_log(log)) == KEPT


def hosted(front: str, *, behind: str = "") -> list[str]:
    """Six lines of two sites; `SITE` stands for the name."""
    asked = [("shop.example", "/cart"), ("shop.example", "/"), ("blog.example", "/"), ("shop.example", "/cart"), ("blog.example", "/feed/")]
    return [
        combined(path, front=front.replace("SITE", site), behind=behind.replace("SITE", site)).replace("SITE", site)
        for site, path in (*asked, ("shop.example", "/"))
    ]


def caddy(site: str, uri: str) -> str:
    return json.dumps({
        "level": "info", "ts": 1795161600.5241, "logger": "http.log.access.log0", "msg": "handled request",
        "request": {
            "remote_ip": "203.0.113.7", "remote_port": "41342", "client_ip": "203.0.113.7", "proto": "HTTP/2.0", "method": "GET",
            "host": site, "uri": uri, "headers": {"User-Agent": [AGENT]}, "tls": {"resumed": False, "version": 772},
        },
        "bytes_read": 0, "user_id": "", "duration": 0.000929675, "size": 10900, "status": 200, "resp_headers": {"Server": ["Caddy"]},
    })  # fmt: skip


def traefik(site: str, uri: str) -> str:
    return json.dumps({
        "ClientAddr": "203.0.113.7:51234", "ClientHost": "203.0.113.7", "DownstreamStatus": 200, "Duration": 12000000,
        "OriginStatus": 200, "RequestAddr": site, "RequestHost": site, "RequestMethod": "GET", "RequestPath": uri, "RequestPort": "-",
        "RequestProtocol": "HTTP/2.0", "RequestScheme": "https", "RouterName": "shop@docker", "ServiceURL": "http://172.18.0.5:80",
        "StartUTC": "2026-11-20T08:00:00.123456789Z", "entryPointName": "websecure", "level": "info", "msg": "",
        "time": "2026-11-20T08:00:00Z",
    })  # fmt: skip


def alb(site: str, uri: str, kind: str = "https", status: int = 200, target: str = "10.0.0.1:80") -> str:
    scheme, port = ("http", 80) if kind == "http" else ("https", 443)
    return (
        f"{kind} 2026-11-20T08:00:00.186641Z app/shop/50dc6c495c0c9188 203.0.113.7:2817 {target} 0.000 0.001 0.000 {status} "
        f'{status if target != "-" else "-"} 34 366 "GET {scheme}://{site}:{port}{uri} HTTP/2.0" "{AGENT}" - TLSv1.2 '
        'arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/shop/73e2d6bc24d8a067 "Root=1-58337262-36d228ad5d99923122bbe354" '
        f'"{site}" "session-reused" 0 2026-11-20T08:00:00.186000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-" TID_1234abcd5678ef90'
    )


CLOUDFRONT_FIELDS = (
    "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query "
    "cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken"
)


def cloudfront(site: str, uri: str) -> str:
    path, _, query = uri.replace("%", "%25").partition("?")
    columns = ("2026-11-20", "08:00:00", "FRA56-P1", "392", "203.0.113.7", "GET", "d111111abcdef8.cloudfront.net", path, "200", "-",
               "Mozilla/5.0%20(X11)", query or "-", "-", "Miss", "SOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==", site, "https",
               "23", "0.001")  # fmt: skip
    return "\t".join(columns)


def on_sites(line: Any) -> list[str]:
    asked = [("shop.example", ENCODED), ("blog.example", "/"), ("shop.example", "/"), ("shop.example", "/caf%C3%A9/menu")]
    return [line(site, uri) for site, uri in asked] + [line("shop.example", "/app.css?v=9")]


SITES = {
    "Debian's other_vhosts_access.log": hosted("SITE:443 203.0.113.7 - -"),
    "the site without a port": hosted("SITE 203.0.113.7 - bob"),
    "the site second (Virtualmin)": hosted("203.0.113.7 - SITE SITE -"),
    "the site second (lighttpd)": hosted("203.0.113.7 SITE -"),
    "the site before a list of addresses": hosted("SITE 203.0.113.7, 10.0.0.5 - -"),
    "the site before clients by their names": hosted("SITE:443 client-7.isp.example - -"),
    "the site last": hosted("203.0.113.7 - -", behind=' "SITE"'),
    "the site last, by its name": hosted("203.0.113.7 - -", behind=' rt=0.002 host="SITE" uct="0.000"'),
    "the site in the request, as varnishncsa has it": [line.replace("GET /", "GET http://SITE/").replace("SITE", site)
        for line, site in zip(hosted("203.0.113.7 - -"), ["shop.example", "shop.example", "blog.example", "shop.example", "blog.example",
                                                          "shop.example"], strict=True)],
    "several routers of Traefik": [line.replace("ROUTER", "shop@docker" if "cart" in line or number in {1, 5} else "blog@docker")
        for number, line in enumerate(hosted("203.0.113.7 - -", behind=' 12 "ROUTER" "http://172.18.0.5:80" 12ms'))],
}  # fmt: skip


@pytest.mark.parametrize("name", SITES)
def test_a_line_names_its_site(tmp_path: Path, name: str) -> None:
    shop, blog = ("shop@docker", "blog@docker") if "routers" in name else ("shop.example", "blog.example")
    largest = read(tmp_path, SITES[name])
    assert (largest.host, targets(largest), largest.lines_out("host")) == (shop, {"/": 2, "/cart": 2}, 2)
    other = read(tmp_path, SITES[name], host=blog)
    assert (other.host, targets(other), other.lines_out("host")) == (blog, {"/": 1, "/feed/": 1}, 4)


@pytest.mark.parametrize(
    "lines",
    [
        on_sites(caddy),
        on_sites(traefik),
        on_sites(alb),
        on_sites(lambda site, uri: alb(site, uri, "h2")),
        ["#Version: 1.0", CLOUDFRONT_FIELDS, *on_sites(cloudfront)],
        on_sites(cloudfront),
        on_sites(lambda site, uri: json.dumps({"http_host": site, "url": uri, "method": "GET", "status": "200", "server_ip": "10.0.0.1"})),
        on_sites(
            lambda site, uri: json.dumps({
                "httpRequest": {"requestMethod": "GET", "requestUrl": f"https://{site}{uri}", "status": 200, "remoteIp": "203.0.113.7"}
            })
        ),
        on_sites(
            lambda site, uri: json.dumps({
                "ClientRequestHost": site, "ClientRequestMethod": "GET", "ClientRequestURI": uri, "EdgeResponseStatus": 200,
                "EdgeStartTimestamp": "2026-11-20T08:00:00Z",
            })
        ),
        on_sites(
            lambda site, uri: f"[20/Nov/2026:08:00:00 +0000] - 200 200 - GET https {site} \"{uri}\" [Client 203.0.113.7] [Length 512] "
            f"[Gzip -] [Sent-to 10.8.0.1] \"{AGENT}\" \"-\""
        ),
        on_sites(
            lambda site, uri: f"Nov 20 08:00:00 lb1 haproxy[14389]: 203.0.113.7:33317 [20/Nov/2026:08:00:00.655] http-in php/srv1 1/0/3/6/9"
            f" 200 2750 - - ---- 1/1/1/1/0 0/0 {{{site}|Mozilla}} {{}} \"GET {uri} HTTP/1.1\""
        ),
    ],
)  # fmt: skip
def test_proxies_and_collectors_that_name_the_site(tmp_path: Path, lines: list[str]) -> None:
    summary = read(tmp_path, lines)
    assert (summary.host, targets(summary)) == ("shop.example", KEPT)
    assert (summary.lines_out("host"), summary.lines_out("static"), summary.lines_out("unreadable")) == (1, 1, 0)
    assert targets(read(tmp_path, lines, host="blog.example")) == {"/": 1}


def test_what_a_load_balancer_answers_itself_and_its_redirects_are_left_out(tmp_path: Path) -> None:
    lines = [alb("shop.example", "/"), alb("shop.example", "/", "http", 301, "-"), alb("shop.example", "/cart", "http", 301)]
    summary = read(tmp_path, [*lines, alb("shop.example", "/cart")])
    assert {target.path: (target.hits, target.status) for target in summary.targets} == {"/": (1, 200), "/cart": (1, 200)}
    assert summary.lines_out("redirect") == 2


def test_http_and_https_of_one_site_in_one_log(tmp_path: Path) -> None:
    lines = [combined("/", front="shop.example:80 203.0.113.7 - -", status=302)] * 3
    lines += [combined("/", front="shop.example:443 203.0.113.7 - -")] * 2
    summary = read(tmp_path, lines)
    assert [(target.path, target.hits, target.status) for target in summary.targets] == [("/", 2, 200)]
    assert summary.lines_out("redirect") == 3


def test_the_largest_site_is_that_of_the_whole_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phpdyno.access_log.reading._HEAD_LINES", 8)
    lines = [combined("/monitor", front="status.example 203.0.113.7 - -")] * 8 + [combined("/", front="shop.example 203.0.113.7 - -")] * 20
    assert (read(tmp_path, lines).host, targets(read(tmp_path, lines))) == ("shop.example", {"/": 20})


def test_several_sites_are_said_where_none_was_asked_for(tmp_path: Path) -> None:
    summary = read(tmp_path, SITES["the site without a port"])
    assert summary.notes == ("the log holds 2 sites, and shop.example has the most lines: only its requests are taken",)
    assert read(tmp_path, SITES["the site without a port"], host="shop.example").notes == ()


def test_decoded_paths_are_encoded_again_and_no_others(tmp_path: Path) -> None:
    decoded = [
        json.dumps({"method": "GET", "uri": each, "args": "", "status": 200}, ensure_ascii=False) for each in ("/café", "/100 %", "/a?b")
    ]
    assert targets(read(tmp_path, decoded)) == {"/caf%C3%A9": 1, "/100%20%25": 1, "/a%3Fb": 1}


def test_a_path_that_nginx_rewrote_is_told(tmp_path: Path) -> None:
    lines = [json.dumps({"method": "GET", "uri": "/index.php", "args": f"q=/page/{n}", "status": 200}) for n in range(9)]
    (note,) = read(tmp_path, lines).notes
    assert note.startswith("uri is /index.php in 9 of 9 lines: servers log there what they made of an address; $request_uri")


def test_escapes_of_nginx_are_undone_once(tmp_path: Path) -> None:
    lines = [combined(r"/say?t=\x22hi\x22&p=%22"), combined(r"/stra\xC3\x9Fe")]
    assert targets(read(tmp_path, lines)) == {'/say?t="hi"&p=%22': 1, "/stra%C3%9Fe": 1}


def test_what_php_answers_behind_its_name_is_not_static(tmp_path: Path) -> None:
    lines = [combined("/assets.php/css/site.css"), combined("/index.php/app.js?v=1"), combined("/x%2Ephp/a.png"), combined("/php/a.png")]
    summary = read(tmp_path, lines)
    assert targets(summary) == {"/assets.php/css/site.css": 1, "/index.php/app.js?v=1": 1, "/x%2Ephp/a.png": 1}
    assert summary.lines_out("static") == 1
