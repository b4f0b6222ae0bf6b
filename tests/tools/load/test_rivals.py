"""Rivals of the bench: what h2load and oha report, how each is asked, and what happens where one is
not installed."""

import shutil
import socket
from pathlib import Path

import pytest
from tools.bench.load.generator import Load
from tools.bench.load.rivals import INSTALLS, Ask, Counted, Rival, find_rivals, h2load_argv, oha_argv, read_h2load, without

from phpdyno.errors import DynoError
from phpdyno.servers.programs.finding import program_path
from tests.contract.fake_servers import FakeServer, Serve, always
from tests.support.optional import absent

H2LOAD = """starting benchmark...
spawning thread #0: 10 total client(s). 200 total requests
Application protocol: http/1.1
progress: 50% done
progress: 100% done

finished in 17.44ms, 11469.21 req/s, 459.22KB/s
requests: 200 total, 200 started, 200 done, 200 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 200 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 8.01KB (8200) total, 2.93KB (3000) headers (space savings 0.00%), 600B (600) data
                     min         max         mean         sd        +/- sd
time for request:       18us      8.93ms       676us      1.27ms    86.50%
time for connect:       82us       450us       212us       105us    80.00%
time to 1st byte:      828us      9.03ms      3.58ms      2.95ms    80.00%
req/s           :    1187.21     2368.96     1537.25      441.83    80.00%
"""
REFUSED = """starting benchmark...
spawning thread #0: 10 total client(s). 200 total requests

finished in 9.18ms, 0.00 req/s, 0B/s
requests: 200 total, 0 started, 0 done, 0 succeeded, 200 failed, 200 errored, 0 timeout
status codes: 0 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 0B (0) total, 0B (0) headers (space savings 0.00%), 0B (0) data
"""
ASK = Ask("http://127.0.0.1:8080/?p=1", 700, 5)
KEPT = b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello"
UNUSUAL = ("h2load", "oha")
"""Not installed by continuous integration either."""


def test_the_report_of_h2load() -> None:
    load = read_h2load(H2LOAD, 9)
    assert (load.requests, load.cpu_ns) == (200, 9)
    assert load.per_s == pytest.approx(11469.21)
    assert read_h2load(H2LOAD.replace("17.44ms", "1.02s"), 9) == load


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (H2LOAD.replace("200 succeeded, 0 failed", "160 succeeded, 40 failed"), "had failures: requests: .* 40 failed"),
        (H2LOAD.replace("200 2xx, 0 3xx", "199 2xx, 1 3xx"), "had failures: .* 1 3xx"),
        (H2LOAD.replace("200 started, 200 done", "50 started, 40 done"), "had failures: .* 40 done"),
        (REFUSED, "had failures: .* 200 errored"),
        (H2LOAD.replace("11469.21", "0.00"), "had failures"),
        (H2LOAD.replace("finished in", "after"), "not a report of h2load"),
        (H2LOAD.replace("status codes", "codes"), "not a report of h2load"),
        ("", "not a report of h2load"),
    ],
)
def test_errors_in_the_report_of_h2load_are_errors(text: str, why: str) -> None:
    with pytest.raises(DynoError, match=why):
        read_h2load(text, 1)


# OHA#


def test_h2load_names_the_host_once_and_oha_asks_for_no_compression() -> None:
    others = ["-H", "User-Agent: phpdyno", "-H", "Accept: */*"]
    h2load = ["/bin/h2load", "--h1", "-n", "700", "-c", "5", "-t", "1", "-H", ":authority: localhost", *others, ASK.url]
    assert h2load_argv("/bin/h2load", ASK) == h2load
    oha = ["--disable-compression", "-n", "700", "-c", "5", "--worker-threads", "1", "-H", "Host: localhost", *others, ASK.url]
    assert oha_argv("/bin/oha", ASK) == ["/bin/oha", "--no-tui", "--output-format", "json", *oha]


def test_those_that_are_installed_are_found_without_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("wrk", "h2load"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PHPDYNO_PATH", str(tmp_path))
    skipped: list[str] = []
    assert list(find_rivals(skipped)) == ["wrk", "h2load"]
    assert skipped == [
        "our generator beside ab: ab is not installed; sudo apt-get install --no-install-recommends apache2-utils",
        "our generator beside oha: oha is not installed; cargo install --locked oha",
    ]


def test_start_up_is_taken_off_with_its_requests() -> None:
    assert without(Load(1000, 90, 7), Load(10, 20, 3)) == Load(990, 70, 7)


def test_another_number_of_requests_than_asked_for_is_an_error(tmp_path: Path) -> None:
    """A stand-in that prints a report of 200."""
    report, program = tmp_path / "report", tmp_path / "h2load"
    report.write_text(H2LOAD)
    program.write_text(f"#!/bin/sh\nexec cat {report}\n")
    program.chmod(0o755)
    rival = Counted("h2load", str(program))
    assert rival.drive(Ask(ASK.url, 200, 5)).requests == 200
    with pytest.raises(DynoError, match="it reports 200 requests where it was to send 700"):
        rival.drive(ASK)


# ---- the programs themselves -------------------------------------------------------------------


def recording(seen: list[bytes]) -> Serve:
    """Answer and keep what each connection sent."""

    def serve(peer: socket.socket) -> None:
        pending = b""
        while got := peer.recv(65536):
            pending += got
            while b"\r\n\r\n" in pending:
                request, _, pending = pending.partition(b"\r\n\r\n")
                seen.append(request)
                peer.sendall(KEPT)

    return serve


def installed(name: str) -> Rival:
    if shutil.which(name, path=program_path()) is None:
        missing = f"{name} is not installed"
        if name in UNUSUAL:
            pytest.skip(missing)
        absent(missing)
    return find_rivals([])[name]


@pytest.mark.integration
@pytest.mark.parametrize("name", INSTALLS)
def test_each_sends_the_headers_that_we_send(name: str) -> None:
    rival, seen = installed(name), list[bytes]()
    with FakeServer(recording(seen)) as server:
        load = rival.drive(Ask(f"http://{server.address.removeprefix('tcp:')}/page", 50, 2))
    assert load.requests == 50 or name == "wrk"
    line, *headers = seen[-1].decode().split("\r\n")
    assert line == ("GET /page HTTP/1.0" if name == "ab" else "GET /page HTTP/1.1")
    known = {tuple(header.lower().split(": ", 1)) for header in headers} - {("connection", "keep-alive")}
    assert known == {("host", "localhost"), ("user-agent", "phpdyno"), ("accept", "*/*")}
    assert sum(header.lower().startswith("host:") for header in headers) == 1


@pytest.mark.integration
@pytest.mark.parametrize("name", INSTALLS)
@pytest.mark.parametrize("status", [b"502 Bad Gateway", b"302 Found", b""])
def test_each_report_of_failures_is_an_error(name: str, status: bytes) -> None:
    """Statuses that are no 2xx, and (an empty one) connections that end without an answer. wrk
    alone takes a 3xx for valid."""
    rival = installed(name)
    serve = always(KEPT.replace(b"200 OK", status)) if status else lambda peer: None
    with FakeServer(serve) as server:
        ask = Ask(f"http://{server.address.removeprefix('tcp:')}/", 50, 2)
        if name == "wrk" and status.startswith(b"3"):
            assert rival.drive(ask).requests > 0
        else:
            with pytest.raises(DynoError):
                rival.drive(ask)
