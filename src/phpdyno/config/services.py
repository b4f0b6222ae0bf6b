"""The `[service.NAME]` tables of an app.toml: what stands at production's addresses while the app
is measured."""

import ipaddress
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import msgspec
from msgspec import Struct

from phpdyno.config.nearest import suggestion
from phpdyno.config.requests import VARIABLE
from phpdyno.config.toml_faults import toml_fault
from phpdyno.config.values import absolute
from phpdyno.errors import UsageError
from phpdyno.model.services.kinds import KINDS, KINDS_BY_NAME, SERVICE_KINDS, Kind
from phpdyno.model.services.service import Address, Service, Tcp, UnixSocket

DATABASE = re.compile(r"[A-Za-z0-9_-]{1,64}")
MOST_SOCKET_BYTES = 107
LOOPBACK_NAMES = {"localhost": "127.0.0.1"}
MARIADB_SOCKET = UnixSocket(Path("/run/mysqld/mysqld.sock"))
"""Where MySQL's clients, PHP's among them, go when they are told `localhost`."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*")
_BRACKETED = re.compile(r"\[([^\]]*)\](?::(.*))?")
_USER = re.compile(r"[!-~]{1,63}")
_PG_SOCKET = re.compile(r"\.s\.PGSQL\.([0-9]{1,5})")
_HINTS = {
    "kind": "write one of " + ", ".join(KINDS),
    "at": 'write the address that the app has: at = "db.internal:3306", a socket\'s path, or a list of them',
    "users": 'write a list of names: users = ["shop"]',
}


class _Raw(Struct, frozen=True, forbid_unknown_fields=True):
    kind: str
    at: str | tuple[str, ...]
    dump: str | None = None
    database: str | None = None
    users: tuple[str, ...] = ()
    password: str | None = None


def parse_services(tables: Mapping[str, object], path: Path) -> tuple[Service, ...]:
    """The services that the tables of the file `path` describe, in the file's order. Whether a dump
    is there is not looked at.

    Raises UsageError naming the file and the key.
    """
    services = tuple(_service(name, table, path) for name, table in tables.items())
    taken: dict[str, str] = {}
    for service in services:
        for address in service.at:
            first = taken.setdefault(place_of(address), service.name)
            if first != service.name:
                what = f"service.{first} stands at {address} as well"
                raise UsageError(what, where=f"{path}: service.{service.name}.at", next_step="keep one of the two")
    return services


def check_dumps(services: tuple[Service, ...], path: Path) -> None:
    """Raise UsageError unless every dump that the file names is there."""
    for service in services:
        if service.dump is not None and not service.dump.is_file():
            where = f"{path}: service.{service.name}.dump {service.dump}"
            raise UsageError("there is no such dump", where=where, next_step="write it relative to the file")


def refuse_root_variables(services: tuple[Service, ...], author: int, path: Path) -> None:
    """Raise UsageError where a file on the word of another account (`author`, else 0) wants
    variables of root's environment."""
    for service in services:
        if author and (names := VARIABLE.findall(service.password or "")):
            what = f"{{env.{names[0]}}} is a variable of root's, and this file is another account's word"
            where = f"{path}: service.{service.name}.password"
            raise UsageError(what, where=where, next_step="write the value out, or give the file to root")


def _service(name: str, table: object, path: Path) -> Service:
    where = f"{path}: service.{name}"
    if not _NAME.fullmatch(name):
        what = f"{name!r} cannot name a service"
        raise UsageError(what, where=where, next_step="begin with a letter; use letters, digits, '_' and '-', at most 32")
    try:
        raw = msgspec.convert(table, _Raw)
    except msgspec.ValidationError as error:
        within = f"service.{name}"
        raise toml_fault(error, path, keys={within: _Raw.__struct_fields__}, hints=_HINTS, within=within) from error
    kind = _kind(raw.kind, where=f"{where}.kind")
    _check_keys(raw, kind, where=where)
    texts = (raw.at,) if isinstance(raw.at, str) else raw.at
    if not texts:
        raise UsageError("there is no address", where=f"{where}.at", next_step=_HINTS["at"])
    keys = [f"{where}.at" if isinstance(raw.at, str) else f"{where}.at[{number}]" for number in range(len(texts))]
    addresses = [_address(text, kind, where=key) for text, key in zip(texts, keys, strict=True)]
    return Service(
        name=name,
        kind=kind,
        at=_fitting(tuple(dict.fromkeys(addresses)), kind, where=f"{where}.at"),
        dump=absolute(path.parent, raw.dump, where=f"{where}.dump") if raw.dump is not None else None,
        database=raw.database,
        users=tuple(dict.fromkeys(raw.users)),
        password=raw.password,
    )


def _kind(text: str, *, where: str) -> Kind:
    meant = KINDS_BY_NAME.get(text.lower())
    if meant and meant == text:
        return meant
    raise UsageError(f"there is no kind {text!r}", where=where, next_step=f"write {meant}" if meant else suggestion(text, KINDS))


def _check_keys(raw: _Raw, kind: Kind, *, where: str) -> None:
    """Refuse keys that say nothing of this kind of service, and values that cannot be."""

    def refuse(key: str, what: str, next_step: str = "leave it out") -> NoReturn:
        raise UsageError(what, where=f"{where}.{key}", next_step=next_step)

    if raw.dump is not None and not SERVICE_KINDS[kind].takes_dump:
        refuse("dump", f"{kind} keeps nothing that a dump could fill")
    if raw.database is not None and not SERVICE_KINDS[kind].has_databases:
        refuse("database", f"{kind} has no databases with names")
    if raw.database is not None and not DATABASE.fullmatch(raw.database):
        refuse("database", f"{raw.database!r} is no plain database name", "use letters, digits, '_' and '-'")
    if raw.users and not SERVICE_KINDS[kind].knows_users:
        refuse("users", f"{kind} takes any user and password as it is")
    for user in raw.users:
        if not _USER.fullmatch(user):
            refuse("users", f"{user!r} is no user's name", "use up to 63 visible characters")
    if raw.password is not None and kind != "redis":
        refuse("password", f"{kind} takes any password as it is")
    if raw.password is not None and (not raw.password or not raw.password.isprintable()):
        refuse("password", "the password is empty or holds a control character")


def _address(text: str, kind: Kind, *, where: str) -> Address:
    if "://" in text:
        raise UsageError(f"{text!r} is a URL", where=where, next_step='write host and port alone: "db.internal:3306"')
    if "/" in text:
        return UnixSocket(_socket(text, where=where))
    host, port = split_address(text)
    return Tcp(checked_host(host, where=where), checked_port(port, where=where) if port is not None else SERVICE_KINDS[kind].port)


def _socket(text: str, *, where: str) -> Path:
    path = Path(text)
    if not path.is_absolute():
        raise UsageError(f"the socket's path {text!r} does not start with '/'", where=where, next_step="write it as the app has it")
    if ".." in path.parts or path == Path("/") or not text.isprintable():
        raise UsageError(f"{text!r} is no path of a socket", where=where, next_step="write it without '..'")
    if len(text.encode()) > MOST_SOCKET_BYTES:
        raise UsageError(f"a socket's path holds {MOST_SOCKET_BYTES} bytes, and this one is longer", where=where)
    # The same directory in Debian: /var/run is a link.
    return Path("/run") / path.relative_to("/var/run") if path.is_relative_to("/var/run") else path


def split_address(text: str) -> tuple[str, str | None]:
    """Host and port as they are written; None for no port. An IPv6 address without brackets has
    none."""
    if bracketed := _BRACKETED.fullmatch(text):
        return bracketed[1], bracketed[2]
    if text.count(":") > 1:
        return text, None
    host, colon, port = text.partition(":")
    return host, port if colon else None


def checked_host(text: str, *, where: str) -> str:
    """A name in small letters, or an IP address in its shortest form."""
    host = text.lower().removesuffix(".")
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        if not _HOST.fullmatch(host) or re.fullmatch(r"[0-9.]+", host):
            raise UsageError(f"{text!r} is no host", where=where, next_step="write a name or an IP address, as the app has it") from None
        return host
    if number.is_unspecified or number.is_multicast:
        what = f"{text} is no address that an app connects to"
        raise UsageError(what, where=where, next_step="write the one that the app has, e.g. 127.0.0.1")
    if "%" in host:
        raise UsageError(f"{text} names a network interface", where=where, next_step="write the address alone")
    return str(number)


def checked_port(text: str, *, where: str) -> int:
    """A port's number. Raises UsageError."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise UsageError(f"{text!r} is no port", where=where, next_step="use 1 to 65535")
    return int(text)


def _fitting(addresses: tuple[Address, ...], kind: Kind, *, where: str) -> tuple[Address, ...]:
    """The addresses, sockets of PostgreSQL named in full, with the one that `localhost` means to
    MySQL's clients.

    Raises UsageError where one server of this kind cannot listen on all of them.
    """
    usual, sockets = SERVICE_KINDS[kind].port, [each for each in addresses if isinstance(each, UnixSocket)]
    if kind == "mariadb" and Tcp("localhost", usual) in addresses and not sockets:
        addresses = (*addresses, MARIADB_SOCKET)
    ports = {address.port for address in addresses if isinstance(address, Tcp)}
    if kind == "postgresql":
        usual = next(iter(ports), usual)
        addresses = tuple(_pg_socket(each, usual) if isinstance(each, UnixSocket) else each for each in addresses)
        ports |= {int(match[1]) for each in addresses if isinstance(each, UnixSocket) and (match := _PG_SOCKET.fullmatch(each.path.name))}
    if SERVICE_KINDS[kind].one_port and len(ports) > 1:
        what = f"one {kind} listens on one port, and these are {', '.join(map(str, sorted(ports)))}"
        raise UsageError(what, where=where, next_step="write a service for each port")
    if kind == "memcached" and sockets and len(sockets) != len(addresses):
        raise UsageError("one memcached listens on TCP or on a socket", where=where, next_step="write a service for each")
    return addresses


def _pg_socket(socket: UnixSocket, port: int) -> UnixSocket:
    """libpq takes a directory and adds the socket's name; an app may hold either."""
    return socket if _PG_SOCKET.fullmatch(socket.path.name) else UnixSocket(socket.path / f".s.PGSQL.{port}")


def place_of(address: Address) -> str:
    """What two addresses have in common that mean the same place."""
    if isinstance(address, UnixSocket):
        return str(address.path)
    return str(Tcp(LOOPBACK_NAMES.get(address.host, address.host), address.port))
