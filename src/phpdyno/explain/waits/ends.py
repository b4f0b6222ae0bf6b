"""The owners of addresses that a worker may be connected to: the pool itself, the database,
services, peers that are let through."""

from collections.abc import Sequence

from phpdyno.explain.waits.descriptors import KnownEnds
from phpdyno.model.app import PreparedApp
from phpdyno.model.inside.waits import Wait
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.services.addresses import addresses_of
from phpdyno.servers.services.running import RunningService

DATABASE = Wait("database", "MariaDB")


def known_ends(app: PreparedApp, fastcgi: str, database: Database | None, services: Sequence[RunningService]) -> KnownEnds:
    """The known ends of connections of one instance's workers; `fastcgi` is where its pool
    listens, as the load core has it (`unix:PATH`, `tcp:HOST:PORT`)."""
    names: dict[str, Wait] = {}
    plan = addresses_of([each.service for each in app.services], app.peers)
    for passage in plan.through:
        names[str(passage.at)] = Wait("network", str(passage.to))
    for name, listen in plan.listen.items():
        for address in (*listen.tcp, *listen.sockets):
            names[str(address)] = Wait("service", name)
    for service in services:
        if service.socket is not None:
            names[str(service.socket)] = Wait("service", service.service.name)
    if database is not None:
        names[str(database.socket)] = DATABASE
    return KnownEnds(frozenset({fastcgi.partition(":")[2]}), names)
