"""Which kind of service listens at a port, or at a unix socket, by custom. Pure."""

import re

from phpdyno.model.services.kinds import SERVICE_KINDS, Kind

_BY_PORT: dict[int, Kind] = {port: kind for kind, known in SERVICE_KINDS.items() for port in (known.port, *known.other_ports)}


def kind_of(port: int, path: str = "") -> Kind | None:
    """The kind by the port of the network or the path of a socket; None for any other."""
    if not path:
        return _BY_PORT.get(port)
    name = path.rpartition("/")[2]
    return next((kind for kind, known in SERVICE_KINDS.items() if known.sockets and re.fullmatch(known.sockets, name)), None)
