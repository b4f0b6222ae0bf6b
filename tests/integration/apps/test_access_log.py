"""Access logs that a real nginx wrote, of requests as browsers, scanners and attackers send
them."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from phpdyno.access_log.reading import read_access_log

pytestmark = pytest.mark.integration
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin") or "nginx"
CONFIG = """
daemon off; master_process off; pid {root}/pid; error_log {root}/error.log;
events {{ }}
http {{
    log_format as_json escape=json '{{"time":"$time_iso8601","msec":"$msec","request":"$request","request_method":"$request_method",'
        '"request_uri":"$request_uri","status":"$status","host":"$host","request_time":"$request_time","agent":"$http_user_agent"}}';
    log_format default_escapes '{{"time_local":"$time_local","request":"$request","status":$status,"host":"$host",'
        '"agent":"$http_user_agent"}}';
    log_format decoded escape=json '{{"method":"$request_method","uri":"$uri","args":"$args","status":$status,"msec":$msec}}';
    log_format own '$request_time|$host|$status|$http_user_agent|' "$request_method $request_uri" '|$time_local';
    log_format apart escape=json '$scheme://$host$uri$is_args$args $request_method "$status"';
    client_body_temp_path {root}/t1; proxy_temp_path {root}/t2; fastcgi_temp_path {root}/t3; uwsgi_temp_path {root}/t4;
    scgi_temp_path {root}/t5;
    server {{
        listen unix:{root}/sock;
        access_log {root}/combined.log combined;
        access_log {root}/json.log as_json;
        access_log {root}/default.log default_escapes;
        access_log {root}/decoded.log decoded;
        access_log {root}/own.log own;
        access_log {root}/apart.log apart;
        access_log {root}/packed.log combined gzip flush=1s;
        location /moved {{ return 302 /; }}
        location / {{ return 200 "ok"; }}
    }}
}}
"""
REQUESTS = [
    *[b"GET / HTTP/1.1"] * 3,
    b"GET /shop?page=2 HTTP/1.1",
    b"GET /shop?page=3&token=s3cret HTTP/1.1",
    b"GET /moved HTTP/1.1",
    b'GET /quote"back\\slash HTTP/1.1',
    b"GET /stra\xc3\x9fe/\xff HTTP/1.1",
    b"GET /space%20d?a%22b HTTP/1.1",
    b"GET /a.css HTTP/1.1",
    b"POST / HTTP/1.1",
    b"GET //evil HTTP/1.1",
    b"GET /a/../b HTTP/1.1",
    b"GET http://other.example/ HTTP/1.1",
    b"CONNECT other.example:443 HTTP/1.1",
    b"GET /" + b"x/" * 1500 + b" HTTP/1.1",
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"GET /ctl\x01 HTTP/1.1",
]
PATHS = {"/", "/shop?page=2", "/shop?page=3&token=masked", "/moved", '/quote"back\\slash', "/stra%C3%9Fe/%FF"}
AGENT = b'agent "quoted" [21/Nov/2026:10:00:00 +0000] \\ \xff\xc3\xa4'


@contextmanager
def nginx(root: Path) -> Iterator[Path]:
    (root / "nginx.conf").write_text(CONFIG.format(root=root))
    with subprocess.Popen([NGINX, "-p", str(root), "-c", str(root / "nginx.conf")], stderr=subprocess.DEVNULL) as server:
        try:
            deadline = time.monotonic() + 10
            while not (root / "sock").exists() and server.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
            yield root / "sock"
        finally:
            server.terminate()
            server.wait(10)


def ask(path: Path, request: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        connection.sendall(request + b"\r\nHost: shop.example\r\nUser-Agent: " + AGENT + b"\r\nConnection: close\r\n\r\n")
        while connection.recv(65536):
            pass


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("nginx")
    with nginx(root) as path:
        for request in REQUESTS:
            ask(path, request)
        deadline = time.monotonic() + 10  # a line is written after its answer was sent
        while (root / "combined.log").read_bytes().count(b"\n") < len(REQUESTS) and time.monotonic() < deadline:
            time.sleep(0.02)
    return root


@pytest.mark.parametrize("name", ["combined.log", "json.log", "default.log", "packed.log"])
def test_every_format_gives_the_same_targets(logs: Path, name: str) -> None:
    summary = read_access_log(logs / name)
    assert summary.lines == len(REQUESTS)
    assert summary.kept + sum(each.lines for each in summary.left_out) == summary.lines
    paths = {target.path: target.hits for target in summary.targets}
    assert paths.keys() == PATHS | {"/space%20d?a%22b"}
    assert paths["/"] == 3
    assert {target.status for target in summary.targets if target.path == "/moved"} == {302}
    assert summary.lines_out("static") == 1
    # JSON tells that nginx took no host from the request with a control character
    assert (summary.lines_out("form"), summary.lines_out("host")) == ((2, 2) if name in {"json.log", "default.log"} else (3, 1))
    assert summary.lines_out("long") == 1
    assert summary.lines_out("method") + summary.lines_out("unreadable") + summary.lines_out("status") == 3
    assert summary.arrival is not None
    assert summary.arrival.rate_per_s > 0


def test_a_log_of_decoded_addresses(logs: Path) -> None:
    summary = read_access_log(logs / "decoded.log")
    paths = {target.path for target in summary.targets}
    assert {"/", "/shop?page=2", "/shop?page=3&token=masked", "/space%20d?a%22b", "/b", "/evil"} <= paths


@pytest.mark.parametrize("named", [":own", ""])
def test_a_format_of_its_own_is_read_as_nginx_has_it(logs: Path, named: str) -> None:
    summary = read_access_log(logs / "own.log", log_format=f"@{logs}/nginx.conf{named}")
    paths = {target.path: target.hits for target in summary.targets}
    assert (summary.host, set(paths), paths["/"]) == ("shop.example", PATHS | {"/space%20d?a%22b"}, 3)
    assert summary.arrival is not None


def test_a_path_and_its_query_side_by_side(logs: Path) -> None:
    summary = read_access_log(logs / "apart.log", log_format=f"@{logs}/nginx.conf")
    assert {"/", "/shop?page=2", "/shop?page=3&token=masked", "/moved", "/b"} <= {target.path for target in summary.targets}
    assert summary.host == "shop.example"
