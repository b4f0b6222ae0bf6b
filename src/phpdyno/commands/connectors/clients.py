"""The clients and engines that the lab knows: what goes with what, and what each needs that is not
ours. Pure."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct, structs

from phpdyno.model.runs.connector import CEILING, ConnectorRow, Engine, Packer, Through

OWN, TARANTOOL_PHP, PECL = "own", "tarantool-php", "pecl"
ENGINES: tuple[Engine, ...] = get_args(Engine)
PACKERS: tuple[Packer, ...] = get_args(Packer)
THROUGH: tuple[Through, ...] = get_args(Through)
MOST_SOCKETS = 128
MOST_THREADS = 64

Kind = Literal["PHP file", "extension", "PHP"]
THREADS = "php-zts"
NEEDED: dict[str, tuple[Kind, str]] = {
    TARANTOOL_PHP: ("PHP file", ""),
    "revolt": ("PHP file", ""),
    PECL: ("extension", "tarantool"),
    "msgpack": ("extension", "msgpack"),
    "swoole": ("extension", "swoole"),
    "parallel": ("extension", "parallel"),
    THREADS: ("PHP", ""),
}
"""Each name is of something that a row may need and that is given by a path: what the path is of,
and the name of an extension."""


class Client(Struct, frozen=True):
    """A client has engines that it is driven by, packers, transports and maybe SQL. `needs` names
    what must be here for it."""

    engines: tuple[Engine, ...]
    packers: tuple[Packer, ...] = ("pure",)
    through: tuple[Through, ...] = THROUGH
    sql: bool = True
    needs: tuple[str, ...] = ()


CLIENTS: dict[str, Client] = {
    OWN: Client(("sync", "fibers", "fibers-sockets", "batch", "window", "revolt", "threads"), ("pure", "msgpack")),
    TARANTOOL_PHP: Client(("sync", "fibers", "swoole", "threads"), PACKERS, needs=(TARANTOOL_PHP,)),
    PECL: Client(("sync", "swoole", "threads"), through=("tcp",), sql=False, needs=(PECL,)),
}
OF_ENGINE: dict[Engine, tuple[str, ...]] = {"revolt": ("revolt",), "swoole": ("swoole",), "threads": (THREADS, "parallel")}
BUILT_BEFORE: tuple[Engine, ...] = ("batch", "window")
"""Engines that are given requests which are made before they are sent."""
MOST_IN: dict[Engine, int] = {"fibers-sockets": MOST_SOCKETS, "swoole": MOST_SOCKETS, "threads": MOST_THREADS}
"""Each of these operations has a connection, or a thread, of its own."""


SAFE_IN_THREADS = {"ini.opcache.enable_cli": "0"}
"""For our classes. PHP 8.2 takes classes that opcache caches for others in the threads of parallel:
typed arguments are refused, or it crashes."""


class Here(Struct, frozen=True):
    """This holds what rows can use: paths that were given, by name; what the run's PHP and the one
    for threads have by themselves (names of extensions, and THREADS where it is one for threads);
    how an arm runs the one for threads (`zts`, empty where there is none)."""

    paths: Mapping[str, Path]
    built_in: frozenset[str] = frozenset()
    built_in_zts: frozenset[str] = frozenset()
    zts: Mapping[str, str] = {}


def can(row: ConnectorRow) -> bool:
    """Whether a client can be driven, and has a packer, like this."""
    client = CLIENTS[row.connector]
    alone = row.processes == 1 or row.engine != "threads"
    return (
        alone and row.engine in client.engines and row.packer in client.packers and row.in_flight <= MOST_IN.get(row.engine, row.in_flight)
    )


def equipped(row: ConnectorRow, here: Here) -> tuple[ConnectorRow, str]:
    """The row with the files and extensions that it needs, and why it cannot be measured, '' where
    it can."""
    client = CLIENTS.get(row.connector)
    if row.connector == CEILING or client is None:
        return row, ""
    if row.transport not in client.through:
        return row, f"this client speaks {' and '.join(client.through)} only: ask for --over {client.through[0]}"
    other = dict(here.zts) if row.engine == "threads" else {}
    has = here.built_in_zts if other else here.built_in
    autoload: list[str] = []
    settings = list(other.items())
    for name in (*client.needs, *OF_ENGINE.get(row.engine, ()), *(("msgpack",) if row.packer == "msgpack" else ())):
        kind, extension = NEEDED[name]
        path = here.paths.get(name)
        if (extension or name) in has:
            continue
        if path is None:
            return row, f"it is not here: give {'a PHP for threads' if name == THREADS else 'it'} with --with {name}=PATH"
        if kind == "PHP file":
            autoload.append(str(path))
        elif kind == "extension":
            settings.append((f"ext.{extension}", str(path)))
    is_ours = row.connector == OWN or row.packer == "codec"
    settings += SAFE_IN_THREADS.items() if is_ours and row.engine == "threads" else ()
    return structs.replace(row, autoload=tuple(autoload), settings=tuple(settings)), ""
