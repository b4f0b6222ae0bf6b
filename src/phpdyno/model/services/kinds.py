"""The kinds of private services that an app may have, and all that is known of each."""

from typing import Literal, get_args

from msgspec import Struct

Kind = Literal["mariadb", "postgresql", "redis", "memcached", "smtp-sink"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class ServiceKind(Struct, frozen=True, kw_only=True):
    """Describes one kind of service.

    `title` is its name in a sentence, `table` what its table in an app.toml is called where we
    propose one, `also` what drivers and schemes of URLs call it. An app finds it at `port` unless
    it is told another; by custom it listens at `other_ports` too, and at unix sockets whose file
    names match `sockets` (a regular expression, '' for none). `has_databases`: databases with
    names. `takes_dump`: it can be filled. `one_port`: it listens on one port, whatever the number
    of its addresses. `knows_users`: it wants to know the names of its users; others take any.
    """

    title: str
    table: str
    also: tuple[str, ...]
    port: int
    other_ports: tuple[int, ...] = ()
    sockets: str = ""
    has_databases: bool = False
    takes_dump: bool = False
    one_port: bool = False
    knows_users: bool = False


SERVICE_KINDS: dict[Kind, ServiceKind] = {
    "mariadb": ServiceKind(
        title="MariaDB",
        table="db",
        also=("mysql", "mysqli", "mysql2", "pdo-mysql", "pdo_mysql"),
        port=3306,
        sockets=r"(mysqld?|mariadb)\.sock",
        has_databases=True,
        takes_dump=True,
        one_port=True,
    ),
    "postgresql": ServiceKind(
        title="PostgreSQL",
        table="db",
        also=("pgsql", "postgres", "postgre", "pdo-pgsql", "pdo_pgsql"),
        port=5432,
        sockets=r"\.s\.PGSQL\.5432",
        has_databases=True,
        takes_dump=True,
        one_port=True,
        knows_users=True,
    ),
    "redis": ServiceKind(
        title="Redis",
        table="cache",
        also=("rediss", "valkey", "keydb"),
        port=6379,
        sockets=r"redis[^/]*\.sock",
        takes_dump=True,
        one_port=True,
        knows_users=True,
    ),
    "memcached": ServiceKind(title="memcached", table="memcached", also=("memcache",), port=11211, sockets=r"memcached?[^/]*\.sock"),
    "smtp-sink": ServiceKind(title="mail sink", table="mail", also=("smtp", "smtps"), port=25, other_ports=(465, 587, 1025)),
}
KINDS_BY_NAME: dict[str, Kind] = {name: kind for kind in KINDS for name in (kind, *SERVICE_KINDS[kind].also)}
"""Maps each name that a kind goes by to that kind."""
