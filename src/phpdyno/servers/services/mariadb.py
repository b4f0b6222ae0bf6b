"""MariaDB as a service: any user with any password, over TCP as well."""

import contextlib
from collections.abc import Iterator

from phpdyno.errors import DynoError
from phpdyno.model.services.kinds import SERVICE_KINDS
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.services.running import RunningService, ServiceStart, home_of
from phpdyno.servers.supervision.supervisor import Supervisor


@contextlib.contextmanager
def started(supervisor: Supervisor, start: ServiceStart) -> Iterator[RunningService]:
    """Run it on its copy of a prepared data directory.

    MariaDB listens on TCP with its grant tables skipped all the same (MySQL 8 does not). It has no
    TLS here, so an app that insists on that is refused.
    """
    if start.data is None:
        raise DynoError("MariaDB has no data directory", where=f"service.{start.service.name}")
    database = Database.start(
        supervisor,
        datadir=start.data,
        socket_path=home_of(supervisor, start) / "mariadb.sock",
        name=start.log,
        cores=start.cores,
        cgroups=start.cgroups,
        addresses=start.addresses,
        port=start.port(SERVICE_KINDS["mariadb"].port),
    )
    with database as server:
        for place in start.listen.sockets:
            supervisor.link(place, server.socket)
        yield RunningService(start.service, server.child, server.socket)
