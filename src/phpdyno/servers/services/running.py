"""A running service: waiting until it answers, its sockets at production's paths, and its end."""

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.model.services.service import Service
from phpdyno.servers.services.addresses import Listen
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor

READY_S = 30.0
SHUTDOWN_S = 30.0
ANSWER_S = 2.0
SYSTEM_PYTHON = "/usr/bin/python3"


class Complaint(Struct, frozen=True):
    """What a server refused a client, and the next step, in one line; `user` is whom it did not
    know, '' where that was not the reason."""

    text: str
    user: str = ""


class RunningService:
    """One started service. `child` is its process; `socket` a private socket of it, None where its
    kind has none beside TCP."""

    def __init__(self, service: Service, child: Child, socket_path: Path | None) -> None:
        self.service = service
        self.child = child
        self.socket = socket_path

    def turned_away(self) -> tuple[Complaint, ...]:
        """What it has refused clients since it was started, for want of a key in the app.toml."""
        return ()

    def let_in(self, user: str) -> None:
        """Let a user that it turned away sign in from now on, with any password and all rights.
        Raises DynoError."""

    def complaints(self) -> tuple[str, ...]:
        """What `turned_away` tells, in lines for a person."""
        return tuple(each.text for each in self.turned_away())

    def let_all_in(self) -> tuple[str, ...]:
        """Let in every user that was turned away so far, and give their names: the app has to be
        asked again then. Raises DynoError."""
        users = tuple(dict.fromkeys(each.user for each in self.turned_away() if each.user))
        for user in users:
            self.let_in(user)
        return users


class ServiceStart(Struct, frozen=True):
    """How one server is started: its service, where it listens, its copy of the data (None: none),
    its cores and cgroups."""

    service: Service
    listen: Listen
    data: Path | None = None
    cores: Sequence[int] = ()
    cgroups: Sequence[Path] = ()

    @property
    def log(self) -> str:
        """Name of its log."""
        return f"service-{self.service.name}"

    @property
    def addresses(self) -> list[str]:
        """The IP addresses that it listens on."""
        return list(dict.fromkeys(each.host for each in self.listen.tcp))

    def port(self, otherwise: int) -> int:
        """The one port that a server with `ServiceKind.one_port` listens on."""
        return next((each.port for each in self.listen.tcp), otherwise)


def home_of(supervisor: Supervisor, start: ServiceStart) -> Path:
    """A directory of its own that the servers' account alone may enter: its private socket lies
    there."""
    return supervisor.directory(start.log)


@contextlib.contextmanager
def kept_running(
    supervisor: Supervisor,
    child: Child,
    ready: Callable[[], bool],
    *,
    socket_path: Path | None = None,
    listen: Listen,
    stop: Callable[[Child], None] | None = None,
    timeout_s: float = READY_S,
) -> Iterator[None]:
    """Wait until it is `ready`, make its socket known at production's paths, and stop it at the
    end. Raises DynoError."""
    try:
        await_ready(child, ready, timeout_s=timeout_s)
        for place in listen.sockets if socket_path else ():
            supervisor.link(place, socket_path or place)
        yield
    finally:
        (stop or _stop)(child)


def await_ready(child: Child, ready: Callable[[], bool], *, timeout_s: float) -> None:
    """Wait until `ready` says so. Raises DynoError with the last lines of its log."""
    deadline = time.monotonic() + timeout_s
    while not ready():
        if not child.alive() or time.monotonic() > deadline:
            raise DynoError(f"{child.name} does not start: it {child.ended_how()}: {child.tail()}", next_step=f"see {child.log}")
        time.sleep(0.01)


@contextlib.contextmanager
def connected(path: Path, *, timeout_s: float = ANSWER_S) -> Iterator[socket.socket]:
    """A connection to a private socket. Raises OSError."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout_s)
        connection.connect(str(path))
        yield connection


def answers(path: Path, question: bytes, expected: bytes) -> bool:
    """Whether the answer to a question, or the greeting where that is empty, begins as expected."""
    with contextlib.suppress(OSError), connected(path) as connection:
        if question:
            connection.sendall(question)
        said = b""
        while len(said) < len(expected) and (part := connection.recv(1024)):
            said += part
        return said.startswith(expected)
    return False


def answers_over_tcp(supervisor: Supervisor, host: str, port: int, question: bytes, expected: bytes) -> bool:
    """The same over TCP, asked by a process beside the server: we ourselves may be in another
    network."""
    asking = [system_python(), "-I", str(placed_file(supervisor, "ask_tcp.py")), host, str(port), question.hex(), expected.hex()]
    return supervisor.run("service-ask", asking, timeout_s=60.0).status == 0


def system_python() -> str:
    """A Python that the servers' account can start: ours may lie in a home that is closed to it.
    Raises DynoError."""
    if os.access(SYSTEM_PYTHON, os.X_OK):
        return SYSTEM_PYTHON
    raise DynoError("there is no such program", where=SYSTEM_PYTHON, next_step="install it with: sudo apt-get install python3-minimal")


def placed_file(supervisor: Supervisor, name: str) -> Path:
    """A program of ours that runs by itself, where the servers' account can read it and not write
    it."""
    folder = supervisor.live / "service-programs"
    folder.mkdir(mode=0o755, exist_ok=True)
    folder.chmod(0o755)
    place = folder / name
    if not place.exists():
        place.write_bytes((Path(__file__).parent / name).read_bytes())
        place.chmod(0o644)
    return place


def _stop(child: Child) -> None:
    child.stop(timeout_s=SHUTDOWN_S)
