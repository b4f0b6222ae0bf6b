"""What several tests get: processes in a bottle, a port that is free again at the end, a directory
for production's sockets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.apps.source import silent
from phpdyno.commands.connectors.program import PACKAGES, find_server
from phpdyno.paths import cache_dir
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.servers.tarantool.server import TarantoolProgram
from tests.support.real.apps import need_packages
from tests.support.real.services import free_port, refused
from tests.support.session.outside import host_network
from tests.support.traces import wait_for_no_traces


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """One with a bottle; where none can be made the test is skipped."""
    with Supervisor(tmp_path / "logs") as supervisor:
        if supervisor.no_bottle:
            pytest.skip(f"no bottle can be made here: {supervisor.no_bottle}")
        yield supervisor


@pytest.fixture
def bottled(tmp_path: Path) -> None:
    """Skips the test where no bottle can be made: there, an app of a folder is refused."""
    with Supervisor(tmp_path / "bottled") as supervisor:
        if supervisor.no_bottle:
            pytest.skip(f"no bottle can be made here: {supervisor.no_bottle}")


@pytest.fixture(scope="session")
def tarantool(tmp_path_factory: pytest.TempPathFactory) -> TarantoolProgram:
    """Debian's server, in the cache from now on."""
    need_packages(PACKAGES)
    with host_network(), Supervisor(tmp_path_factory.mktemp("fetching"), bottle=False) as supervisor:
        return find_server(None, supervisor, cache=cache_dir(), progress=silent)


@pytest.fixture
def port() -> Iterator[int]:
    number = free_port()
    yield number
    assert refused(number), "it is still there"
    assert wait_for_no_traces() == []


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory for production's sockets, which is empty again at the end."""
    folder = tmp_path / "run"
    yield folder
    assert not folder.exists() or list(folder.iterdir()) == []
