"""Starting a service of any kind."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from phpdyno.model.services.kinds import Kind
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.services import mariadb, memcached, postgresql, redis, smtp_sink
from phpdyno.servers.services.running import RunningService, ServiceStart
from phpdyno.servers.supervision.supervisor import Supervisor

STARTERS: dict[Kind, Callable[[Supervisor, ServiceStart], AbstractContextManager[RunningService]]] = {
    "mariadb": mariadb.started,
    "postgresql": postgresql.started,
    "redis": redis.started,
    "memcached": memcached.started,
    "smtp-sink": smtp_sink.started,
}
VERSIONS: dict[Kind, Callable[[], str]] = {
    "mariadb": Database.version,
    "postgresql": postgresql.version,
    "redis": redis.version,
    "memcached": memcached.version,
    "smtp-sink": lambda: "phpdyno's own",
}


def started(supervisor: Supervisor, start: ServiceStart) -> AbstractContextManager[RunningService]:
    """A running service, until its context is left. Raises DynoError: the server is not installed,
    or does not come up."""
    return STARTERS[start.service.kind](supervisor, start)


def version_of(kind: Kind) -> str:
    """Version of the installed server. Raises DynoError with the line that installs it."""
    return VERSIONS[kind]()
