"""Questions to a real MariaDB: what it answers, and what is said where it refuses."""

from pathlib import Path

import pytest

from phpdyno.apps.data.databases import database_socket
from phpdyno.commands.size.measuring.limits import read_limits
from phpdyno.commands.size.request import SizeRequest
from phpdyno.errors import DynoError
from phpdyno.model.plan import AppSource
from phpdyno.servers.database.client import ask
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.programs.finding import find_program
from phpdyno.servers.supervision.supervisor import Supervisor

pytestmark = pytest.mark.integration


def test_mariadb_is_asked(tmp_path: Path) -> None:
    find_program("mariadbd")
    with Supervisor(tmp_path) as supervisor:
        datadir = supervisor.directory("data")
        Database.initialise(supervisor, datadir)
        with Database.start(supervisor, datadir=datadir, socket_path=database_socket(supervisor)) as database:
            assert ask(supervisor, database.socket, "SELECT 1, 'two' UNION SELECT 3, 'four'") == "1\ttwo\n3\tfour"
            assert ask(supervisor, database.socket, "SELECT 1 FROM DUAL WHERE 1 = 0") == ""
            with pytest.raises(DynoError, match=r": it will not: ERROR 1064 ") as refused:
                ask(supervisor, database.socket, "SELEKT 1", refused="it will not")
            assert refused.value.where == str(database.socket)
            assert "ask-mariadb" in refused.value.next_step
            most = int(ask(supervisor, database.socket, "SELECT @@max_connections"))
            limits = read_limits(SizeRequest(AppSource("hello")), supervisor, database)
            # One is kept for the administrator.
            assert [limit.value for limit in limits.limits if limit.kind == "connections"] == [most - 1]
            assert limits.connections_here == most - 1
