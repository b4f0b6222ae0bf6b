"""Fake HTTP servers for the contract of the native core: threads of the test's own process."""

import socket
import socketserver
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from phpdyno._native import Target

Serve = Callable[[socket.socket], None]

DEADLINE_S = 20.0
"""Of what takes milliseconds on a host that nobody else uses; less than the time-out of a
response."""
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Fake: yes\r\n\r\nhello"


class FakeServer:
    """Calls `serve` with every connection, in a thread of its own; listens on loopback, or on
    `path` when given."""

    def __init__(self, serve: Serve, path: Path | None = None) -> None:
        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                serve(self.request)

        if path is None:
            self._server: socketserver.BaseServer = _Tcp(("127.0.0.1", 0), Handler)
            self.address = f"tcp:127.0.0.1:{self._server.server_address[1]}"
        else:
            self._server = _Unix(str(path), Handler)
            self.address = f"unix:{path}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Quiet:
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore it: a client that hangs up is the fate of a fake."""


class _Tcp(_Quiet, socketserver.ThreadingTCPServer):
    pass


class _Unix(_Quiet, socketserver.ThreadingUnixStreamServer):
    pass


def always(answer: bytes) -> Serve:
    """Answer every request of a connection with the same bytes."""

    def serve(peer: socket.socket) -> None:
        pending = b""
        while got := peer.recv(65536):
            pending += got
            while b"\r\n\r\n" in pending:
                pending = pending.partition(b"\r\n\r\n")[2]
                peer.sendall(answer)

    return serve


def hang(peer: socket.socket) -> None:
    """Never answer; end when the client does."""
    while peer.recv(65536):
        pass


def get(path: str = "/", *, status: int = 200, min_bytes: int = 0, max_bytes: int = 2**62) -> Target:
    """An HTTP GET target."""
    request = f"GET {path} HTTP/1.1\r\nHost: fake\r\n\r\n".encode()
    return Target.http(request, status=status, min_bytes=min_bytes, max_bytes=max_bytes)


class Held:
    """Answers each request once it may; `asked` is set as soon as one has come, `free` lets the
    answers go."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.free = threading.Event()

    def serve(self, peer: socket.socket) -> None:
        """One request of a connection."""
        if peer.recv(65536):
            self.asked.set()
            if self.free.wait(DEADLINE_S):
                peer.sendall(HELLO)
