"""Which kind of service listens at a port, or at a unix socket, by custom. Pure."""

import re

MAIL = "smtp-sink"
SERVICE_NAMES = {"mariadb": "database", "postgresql": "database", "redis": "cache", "memcached": "cache", MAIL: "mail"}
"""Kinds, and the name that each is suggested under."""
PORTS = {
    3306: "mariadb",
    5432: "postgresql",
    6379: "redis",
    11211: "memcached",
    **dict.fromkeys((25, 465, 587, 1025), MAIL),
}
SOCKETS = {
    **dict.fromkeys(("mysqld.sock", "mysql.sock", "mariadb.sock"), "mariadb"),
    ".s.PGSQL.5432": "postgresql",
}
_PATTERNS = ((re.compile(r"redis[^/]*\.sock"), "redis"), (re.compile(r"memcached?[^/]*\.sock"), "memcached"))


def kind_of(port: int, path: str = "") -> str:
    """The kind by the port of the network or the name of a socket's file; '' for any other."""
    if not path:
        return PORTS.get(port, "")
    name = path.rpartition("/")[2]
    return SOCKETS.get(name) or next((kind for pattern, kind in _PATTERNS if pattern.fullmatch(name)), "")
