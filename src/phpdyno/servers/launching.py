"""What the server of an arm asks of the bench that starts it, so that a kind of server needs not
know the bench."""

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from phpdyno.host.cores import Cores
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.servers.facts.meter import Meter
from phpdyno.servers.placement import Placement
from phpdyno.servers.programs.php import IniFiles
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor


class Launching(Protocol):
    """A bench as the server of an arm sees it."""

    supervisor: Supervisor
    cores: Cores
    probe: Path

    def app_of(self, arm: Arm) -> PreparedApp:
        """The app that the arm serves."""

    def files_of(self, arm: Arm) -> IniFiles:
        """The ini files that the arm's PHP reads by itself."""

    def real_values(self, arm: Arm) -> dict[str, str]:
        """The settings of the arm with what markers stand for."""

    def show(self, arm: Arm, real: Mapping[str, str]) -> None:
        """Show in the bottle what the arm names."""

    def write_ini(self, arm: Arm, directory: Path, placement: Placement, texts: frozenset[str]) -> dict[str, str]:
        """Write the ini files of the arm; the originals of what is replaced."""

    def environment(self, arm: Arm, placement: Placement) -> dict[str, str]:
        """The environment that the server is started with."""

    def spawn(self, arm: Arm, name: str, argv: Sequence[str], **options: Any) -> Child:
        """Start a program of the arm."""

    def reachable(self, settings: Mapping[str, str]) -> dict[str, str]:
        """The settings with paths as the bottle has them."""

    def cgroup(self, name: str, *, make: bool = True) -> list[Path]:
        """The cgroups of a component."""

    def meter(self, name: str, child: Child) -> Meter:
        """The meter of a component."""


def free_port() -> int:
    """A TCP port on loopback that is free at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
