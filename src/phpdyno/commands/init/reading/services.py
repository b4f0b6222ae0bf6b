"""Services as an app's configuration names them: by a URL, or by host, port and name."""

import re
import shlex
import shutil
from urllib.parse import parse_qs, unquote, urlsplit

from phpdyno.commands.init.found import ServiceFound
from phpdyno.config.services import DATABASE
from phpdyno.model.services.kinds import KINDS_BY_NAME, SERVICE_KINDS, Kind

_PDO = re.compile(r"(mysql|pgsql):(.*)", re.DOTALL)
_HOST = re.compile(r"[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]")
USER = re.compile(r"[A-Za-z0-9_.@-]{1,63}")


def service_at(
    kind: Kind, host: str, port: str, *, said_in: str, database: str = "", user: str = "", socket: str = ""
) -> ServiceFound | None:
    """A service by its place; None where that is no address that an app.toml could hold."""
    host = host.strip().removeprefix("p:").removeprefix("tls://").removeprefix("tcp://")
    if "/" in host:  # WordPress: localhost:/run/mysqld/mysqld.sock
        host, _, behind = host.partition(":") if not host.startswith("/") else ("", "", host)
        socket = socket or behind
    elif host.count(":") == 1 or "]:" in host:
        host, _, port = host.rpartition(":")
    elif host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"
    if socket.startswith("/") and host in {"", "localhost"}:
        return _service(kind, (socket,), said_in, database=database, user=user)
    host = host or "localhost"
    if not _HOST.fullmatch(host) or (port and not (port.isdecimal() and 0 < int(port) < 65536)):
        return None
    plain = not port or int(port) == SERVICE_KINDS[kind].port
    return _service(kind, (host if plain else f"{host}:{port}",), said_in, database=database, user=user)


def service_by_url(url: str, *, said_in: str) -> ServiceFound | None:
    """A service by a URL (`mysql://user:secret@db:3306/shop`) or a PDO name
    (`mysql:host=db;dbname=shop`); None for what is neither, or not told."""
    pdo = _PDO.fullmatch(url)
    if pdo and "://" not in url:
        parts = dict(part.strip().partition("=")[::2] for part in pdo[2].split(";") if "=" in part)
        named = {"database": parts.get("dbname", ""), "user": parts.get("user", ""), "socket": parts.get("unix_socket", "")}
        return service_at(KINDS_BY_NAME[pdo[1]], parts.get("host", ""), parts.get("port", ""), said_in=said_in, **named)
    try:
        parts_of = urlsplit(url)
        port = "" if parts_of.port is None else str(parts_of.port)
    except ValueError:
        return None
    kind = KINDS_BY_NAME.get(parts_of.scheme.lower())
    host = parts_of.hostname or ""
    if kind is None or "%" in host:
        return None
    sql = SERVICE_KINDS[kind].has_databases
    given = parse_qs(parts_of.query)
    socket = next((given[key][0] for key in ("unix_socket", "socket") if key in given), "")
    if not host and kind == "redis":
        socket = parts_of.path
    return service_at(
        kind,
        host,
        port,
        said_in=said_in,
        database=unquote(parts_of.path.strip("/")) if sql else "",
        user=unquote(parts_of.username or "") if sql else "",
        socket=socket,
    )


def _service(kind: Kind, at: tuple[str, ...], said_in: str, *, database: str, user: str) -> ServiceFound:
    return ServiceFound(
        name=SERVICE_KINDS[kind].table,
        kind=kind,
        at=at,
        said_in=said_in,
        database=database if DATABASE.fullmatch(database) else "",
        user=user if USER.fullmatch(user) else "",
    )


def dump_command(service: ServiceFound, file: str) -> str:
    """The command for a shell that writes what is in a service to a file; it asks for the
    password."""
    place = service.at[0]
    host, _, port = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "")
    out = shlex.quote(file)
    if service.kind == "redis":
        where = ["-s", place] if place.startswith("/") else ["-h", host, *(["-p", port] if port else [])]
        return shlex.join(["redis-cli", *where, "--rdb", file])
    options = [] if place.startswith("/") else [f"--host={host.strip('[]')}", *([f"--port={port}"] if port else [])]
    user = [f"--user={service.user}"] if service.user else []
    if service.kind == "mariadb":
        program = "mariadb-dump" if shutil.which("mariadb-dump") or not shutil.which("mysqldump") else "mysqldump"
        options = [f"--socket={place}"] if place.startswith("/") else options
        told = [program, "--single-transaction", "--quick", "--no-tablespaces", *options, *user, "--password", service.database]
    else:
        folder = [f"--host={place.rpartition('/.s.PGSQL')[0] or place}"] if place.startswith("/") else options
        told = ["pg_dump", *folder, *(each.replace("--user=", "--username=") for each in user), service.database]
    return f"{shlex.join(each for each in told if each)} | gzip > {out}"
