"""What really goes over the wire for a target, on both transports, and what a redirect becomes."""

import queue
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from phpdyno._native import OUTCOMES, Engine
from phpdyno.drive.driver import NativeDriver, failures
from phpdyno.drive.requests import native_targets
from phpdyno.model.plan import Transport
from phpdyno.model.workload import Target, Workload
from tests.contract.fake_servers import FakeServer, Serve

LOGIN = Target(
    "/login?next=%2F",
    status=303,
    method="POST",
    writes=True,
    body="user=ada&größe=1",
    headers={"X-Requested-With": "XMLHttpRequest"},
    cookies={"session": "1234", "theme": "dark"},
)
FastcgiRequest = tuple[dict[bytes, bytes], bytes, bool]
"""Parameters, STDIN, FCGI_KEEP_CONN."""
HTTP_303 = b"HTTP/1.1 303 See Other\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"
CGI_303 = b"Status: 303 See Other\r\nLocation: /\r\n\r\n"


def record(kind: int, content: bytes) -> bytes:
    return struct.pack(">BBHHBB", 1, kind, 1, len(content), 0, 0) + content


def exactly(peer: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        part = peer.recv(count - len(got))
        if not part:
            raise ConnectionError
        got += part
    return got


def read_fastcgi(peer: socket.socket) -> FastcgiRequest:
    """One request, read as the specification says."""
    streams = {4: b"", 5: b""}
    keep = False
    while True:
        _, kind, _, length, padding, _ = struct.unpack(">BBHHBB", exactly(peer, 8))
        content = exactly(peer, length + padding)[:length]
        if kind == 1:
            keep = bool(content[2] & 1)
        else:
            streams[kind] += content
        if kind == 5 and not length:
            return pairs(streams[4]), streams[5], keep


def pairs(stream: bytes) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    at = 0
    while at < len(stream):
        lengths = []
        for _ in range(2):
            if stream[at] < 128:
                lengths.append(stream[at])
                at += 1
            else:
                lengths.append(struct.unpack_from(">I", stream, at)[0] & 0x7FFFFFFF)
                at += 4
        name = stream[at : at + lengths[0]]
        found[name] = stream[at + lengths[0] : at + sum(lengths)]
        at += sum(lengths)
    return found


def http_server(seen: queue.Queue[bytes], answer: bytes) -> Serve:
    def serve(peer: socket.socket) -> None:
        pending = b""
        while got := peer.recv(65536):
            pending += got
            head, blank, body = pending.partition(b"\r\n\r\n")
            told = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            if blank and len(body) >= (int(told[0].partition(b":")[2]) if told else 0):
                seen.put(pending)
                pending = b""
                peer.sendall(answer)

    return serve


def fastcgi_server(seen: queue.Queue[FastcgiRequest], answer: bytes) -> Serve:
    def serve(peer: socket.socket) -> None:
        keep = True
        while keep:
            try:
                request = read_fastcgi(peer)
            except ConnectionError:
                return
            seen.put(request)
            keep = request[2]
            peer.sendall(record(6, answer) + record(6, b"") + record(3, bytes(8)))

    return serve


def engine_for(target: Target, transport: Transport, docroot: Path) -> Callable[[str], Engine]:
    targets = native_targets(Workload((target,), "shop.test"), transport, docroot=docroot, front_controller="index.php", lengths={})
    return lambda address: Engine(address, targets, keep_alive=transport == "http")


def test_a_post_with_cookies_over_http(tmp_path: Path) -> None:
    seen: queue.Queue[bytes] = queue.Queue()
    with FakeServer(http_server(seen, HTTP_303)) as server:
        samples = engine_for(LOGIN, "http", tmp_path)(server.address).run(np.zeros(2, np.uint32))
    assert not samples.outcome.any()
    expected = (
        b"POST /login?next=%2F HTTP/1.1\r\nHost: shop.test\r\nUser-Agent: phpdyno\r\nAccept: */*\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\nX-Requested-With: XMLHttpRequest\r\n"
        b"Cookie: session=1234; theme=dark\r\nContent-Length: 18\r\n\r\nuser=ada&gr\xc3\xb6\xc3\x9fe=1"
    )
    assert [seen.get(timeout=5) for _ in range(2)] == [expected] * 2


def test_the_same_over_fastcgi(tmp_path: Path) -> None:
    seen: queue.Queue[FastcgiRequest] = queue.Queue()
    with FakeServer(fastcgi_server(seen, CGI_303), tmp_path / "fpm.sock") as server:
        samples = engine_for(LOGIN, "fastcgi", tmp_path)(server.address).run(np.zeros(2, np.uint32))
    assert not samples.outcome.any()
    assert samples.connects == 2
    params, stdin, keep = seen.get(timeout=5)
    assert (stdin, keep) == ("user=ada&größe=1".encode(), False)
    told = {
        b"REQUEST_METHOD": b"POST",
        b"REQUEST_URI": b"/login?next=%2F",
        b"QUERY_STRING": b"next=%2F",
        b"CONTENT_TYPE": b"application/x-www-form-urlencoded",
        b"CONTENT_LENGTH": b"18",
        b"HTTP_COOKIE": b"session=1234; theme=dark",
        b"HTTP_X_REQUESTED_WITH": b"XMLHttpRequest",
        b"HTTP_HOST": b"shop.test",
        b"SCRIPT_FILENAME": str(tmp_path / "index.php").encode(),
    }
    assert {name: params[name] for name in told} == told


@pytest.mark.parametrize("keep", [False, True])
def test_kept_fastcgi_connections_are_a_choice(keep: bool, tmp_path: Path) -> None:
    seen: queue.Queue[FastcgiRequest] = queue.Queue()
    targets = native_targets(Workload((Target("/"),)), "fastcgi", docroot=tmp_path, front_controller="index.php", lengths={})
    with FakeServer(fastcgi_server(seen, b"\r\nhello"), tmp_path / "fpm.sock") as server:
        driver = NativeDriver(server.address, targets, keep_alive=keep, concurrency=2, release=True)
        slots = [driver.drive(np.zeros(10, np.uint32)) for _ in range(2)]
    # Kept within a slot, and given up at its end: a worker that keeps a connection answers nobody
    # else.
    assert [slot.connects for slot in slots] == [2 if keep else 10] * 2
    assert not any(slot.outcome.any() for slot in slots)
    assert {seen.get(timeout=5)[2] for _ in range(20)} == {keep}


@pytest.mark.parametrize("transport", ["http", "fastcgi"])
def test_a_redirect_is_not_followed_and_says_where_it_leads(transport: Transport, tmp_path: Path) -> None:
    seen: queue.Queue[object] = queue.Queue()
    serve = http_server(seen, HTTP_303) if transport == "http" else fastcgi_server(seen, CGI_303)  # type: ignore[arg-type]
    with FakeServer(serve, tmp_path / "fake.sock") as server:
        engine = engine_for(Target("/account", cookies={"session": "gone"}), transport, tmp_path)(server.address)
        response = engine.fetch(0)
        samples = engine.run(np.zeros(1, np.uint32))
    assert (OUTCOMES[response.outcome], response.status) == ("wrong_status", 303)
    assert response.detail == "status 303, expected 200, Location: /"
    assert failures(samples) == "1 wrong_status (303)"
    assert seen.qsize() == 2


def test_ten_thousand_targets(hello: FakeServer, tmp_path: Path) -> None:
    workload = Workload(tuple(Target(f"/page-{number}", cookies={"n": str(number)}) for number in range(10_000)))
    targets = native_targets(workload, "http", docroot=tmp_path, front_controller="index.php", lengths={})
    samples = Engine(hello.address, targets).run(np.arange(10_000, dtype=np.uint32), concurrency=4, threads=2)
    assert not samples.outcome.any()
    assert samples.target.tolist() == list(range(10_000))


def test_an_answer_to_head_has_no_body(tmp_path: Path) -> None:
    seen: queue.Queue[bytes] = queue.Queue()
    with FakeServer(http_server(seen, b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")) as server:
        samples = engine_for(Target("/", method="HEAD"), "http", tmp_path)(server.address).run(np.zeros(3, np.uint32))
    assert not samples.outcome.any()
    assert samples.connects == 1
    assert seen.get(timeout=5).startswith(b"HEAD / HTTP/1.1\r\n")
