"""`--serve`: /metrics for Prometheus, / a page that shows what the terminal does, /state.json what
it asks for. Nothing changes."""

import ipaddress
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct
from prometheus_client.exposition import choose_encoder

from phpdyno.commands.watch.found import Advice, Event, HostMoment, PoolMoment
from phpdyno.commands.watch.render.metrics import PoolMetrics
from phpdyno.errors import UsageError

PAGE = Path(__file__).with_name("page.html")
LOOPBACK = "127.0.0.1"
KEPT_EVENTS = 20
TIMEOUT_S = 10
POLL_S = 0.5
"""How long an end may take to be noticed."""
_HEADERS = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:",
    ),
)


class State(Struct, frozen=True):
    """What /state.json holds: the last interval, what happened lately, the ranges so far."""

    host: HostMoment | None
    pools: tuple[PoolMoment, ...]
    events: tuple[Event, ...]
    advice: tuple[Advice, ...]


def parse_address(text: str) -> tuple[str, int]:
    """`9253`, `127.0.0.1:9253`, `[::1]:9253` as address and port; port 0 is any that is free.
    Raises UsageError."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or LOOPBACK
    example = "write --serve 9253, or --serve 127.0.0.1:9253"
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError("this is no port", where=f"--serve {text}", next_step=example)
    try:
        ipaddress.ip_address(host)
    except ValueError as error:
        raise UsageError("this is no address", where=f"--serve {text}", next_step=example) from error
    return host, int(port)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, host: str, port: int, served: "Served") -> None:
        self.address_family = 10 if ":" in host else 2  # AF_INET6, AF_INET
        self.served = served
        self.only_local = ipaddress.ip_address(host).is_loopback
        super().__init__((host, port), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A reader that went away is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = TIMEOUT_S
    server_version = "phpdyno"
    sys_version = ""

    def do_GET(self) -> None:
        """The three things that there are."""
        if not self._meant_for_us():
            self._answer(403, "text/plain", b"this is not the name it listens at\n")
        elif self.path == "/":
            self._answer(200, "text/html; charset=utf-8", PAGE.read_bytes())
        elif self.path == "/state.json":
            self._answer(200, "application/json", msgspec.json.encode(self.server.served.state))
        elif self.path.partition("?")[0] == "/metrics":
            encode, kind = choose_encoder(self.headers.get("Accept") or "")
            self._answer(200, kind, encode(self.server.served.registry))
        else:
            self._answer(404, "text/plain", b"there is /, /metrics and /state.json\n")

    def do_HEAD(self) -> None:
        """The same without its content."""
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the library's name)
        """Nobody is told: the terminal is the view's."""

    def _meant_for_us(self) -> bool:
        """A name that leads a browser to our loopback (DNS rebinding) would let a page of somebody
        else's read this."""
        host = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host") or ""
        if not self.server.only_local or host in {"", "localhost"}:
            return True
        try:
            return ipaddress.ip_address(host.strip("[]")).is_loopback
        except ValueError:
            return False

    def _answer(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), *_HEADERS):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class Served:
    """The server, while its context is open. `address` is where it listens."""

    def __init__(self, host: str, port: int) -> None:
        """Raises UsageError where it cannot listen there."""
        self._metrics = PoolMetrics()
        self.registry = self._metrics.registry()
        self._events: deque[Event] = deque(maxlen=KEPT_EVENTS)
        self.state = State(None, (), (), ())
        try:
            self._server = _Server(host, port, self)
        except OSError as error:
            shown = f"{host}:{port}"
            raise UsageError(
                f"it cannot listen there: {error.strerror}", where=f"--serve {shown}", next_step="name another port"
            ) from error
        shown = f"[{host}]" if ":" in host else host
        self.address = f"{shown}:{self._server.server_address[1]}"
        self.is_local = self._server.only_local
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="phpdyno-watch-http", daemon=True, kwargs={"poll_interval": POLL_S}
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def put(self, host: HostMoment, pools: tuple[PoolMoment, ...], events: tuple[Event, ...], advice: tuple[Advice, ...]) -> None:
        """One interval."""
        self._events.extend(events)
        self._metrics.put(host, pools, advice)
        self.state = State(host, pools, tuple(self._events), advice)
