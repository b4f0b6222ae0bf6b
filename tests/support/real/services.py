"""Services of an app, really started at an address of the loopback that nobody else has."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from phpdyno.apps.data.services import prepare_services, start_services
from phpdyno.model.services.service import Address, Service, Tcp, UnixSocket
from phpdyno.servers.programs.finding import program_path
from phpdyno.servers.services.addresses import addresses_of
from phpdyno.servers.services.running import RunningService
from phpdyno.servers.supervision.supervisor import Supervisor

ADDRESS = f"127.18.{os.getpid() % 250 + 1}.9"
"""Two sessions of the tests on one host have different ones."""


@contextmanager
def running(folder: Path, *services: Service, logs: str = "logs") -> Iterator[tuple[RunningService, ...]]:
    """These services, prepared in a cache in `folder` and started."""
    folder.chmod(0o755)
    with Supervisor(folder / logs) as supervisor, ExitStack() as stack:
        prepared = prepare_services(supervisor, services, cache=folder / "cache", file=folder / "app.toml", progress=lambda _: None)
        yield start_services(stack, supervisor, prepared, addresses_of(services))


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])


def refused(port: int) -> bool:
    """Whether nobody listens at that port any more."""
    with socket.socket() as probe:
        return probe.connect_ex((ADDRESS, port)) != 0


def at(port: int, *sockets: Path) -> tuple[Address, ...]:
    """That port of our address, and sockets."""
    return (Tcp(ADDRESS, port), *(UnixSocket(path) for path in sockets))


def told(*argv: str, **env: str) -> str:
    """All that a program prints."""
    answer = subprocess.run(argv, capture_output=True, text=True, env={"PATH": program_path(), **env}, check=False)
    return (answer.stdout + answer.stderr).strip()
