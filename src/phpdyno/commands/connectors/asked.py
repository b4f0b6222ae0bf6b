"""The operations and the rows (connector, engine, operations in flight, transport) that a run of the lab is asked for. Pure."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar, get_args

from msgspec import Struct, structs

from phpdyno.config.nearest import suggestion
from phpdyno.errors import UsageError
from phpdyno.model.connector import CEILING, Engine, Row, Through

_Name = TypeVar("_Name", bound=str)

OPERATIONS = ("ping", "call", "eval", "select", "insert", "replace", "update", "upsert", "delete")
"""Of the reference, in its order."""
OF_SQL = ("sql-select", "sql-insert", "sql-update", "sql-delete")
PREPARED = "-prepared"
KNOWN = (*OPERATIONS, *OF_SQL, *(f"{name}{PREPARED}" for name in OF_SQL))
ALL = "all"
OWN = "own"
TARANTOOL_PHP = "tarantool-php"
CONNECTORS = (OWN, TARANTOOL_PHP)
OURS = (OWN, CEILING)
ENGINES_OF: dict[str, tuple[Engine, ...]] = {TARANTOOL_PHP: ("sync", "fibers")}
"""Of a client that cannot be driven by all of them."""
ENGINES: tuple[Engine, ...] = get_args(Engine)
THROUGH: tuple[Through, ...] = get_args(Through)
SWEEP = (1, 2, 5, 10, 25, 50, 100, 128, 250, 512)
MOST_IN_FLIGHT = 512
"""A server of today carries out at most 768 at once (net_msg_max)."""
MOST_SOCKETS = 128


class Asked(Struct, frozen=True):
    """One run of the lab. The first of `rows` is the control, beside which all others are measured. `budget_s` is for all operations
    together; `server` is the path of a binary, '' for Debian's, `php` that of a command-line PHP. `skipped` are rows that cannot be
    measured, by name, and why."""

    operations: tuple[str, ...]
    rows: tuple[Row, ...]
    php: str
    budget_s: float = 300.0
    seed: int = 1
    confidence: float = 0.95
    server: str = ""
    skipped: dict[str, str] = {}


def operations_of(text: str) -> tuple[str, ...]:
    """The operations that `--ops` names: a list with commas, or `all`. Raises UsageError."""
    names = _listed(text)
    if names == (ALL,):
        return OPERATIONS
    return _each_known(names, KNOWN, option="--ops", what="operation")


def paths_of(texts: Sequence[str]) -> dict[str, Path]:
    """The PHP file that defines each client of somebody else's, of `NAME=PATH`. Raises UsageError."""
    found = {}
    for text in texts:
        name, given, path = text.partition("=")
        where = f"--with {text}"
        if not given or not path:
            raise UsageError("this is not NAME=PATH", where=where, next_step=f"write for instance {TARANTOOL_PHP}=vendor/autoload.php")
        _each_known((name,), tuple(each for each in CONNECTORS if each not in OURS), option=where, what="connector that is given by a path")
        place = Path(path).expanduser().absolute()
        if not place.is_file():
            raise UsageError("there is no such file", where=where, next_step="name the PHP file that loads the client")
        found[name] = place
    return found


def divided(rows: Sequence[Row], paths: Mapping[str, Path]) -> tuple[tuple[Row, ...], dict[str, str]]:
    """The rows that can be measured, those of clients of somebody else's with their files, and the names of the others with the reason."""
    kept, skipped = [], {}
    for row in rows:
        if row.connector in OURS:
            kept.append(row)
        elif row.connector in paths:
            kept.append(structs.replace(row, autoload=(str(paths[row.connector]),)))
        else:
            skipped[row.name] = f"it is not here: give it with --with {row.connector}=PATH"
    return tuple(kept), skipped


def rows_of(*, connectors: str, engines: str, in_flight: str, over: str, sweep: bool = False) -> tuple[Row, ...]:
    """All rows that these lists span, the control first: one request at a time over the first transport. The last are the server's
    ceiling over each transport. Raises UsageError."""
    clients = _each_known(_listed(connectors), CONNECTORS, option="--connectors", what="connector")
    kinds = _each_known(_listed(engines), ENGINES, option="--engines", what="engine")
    ways = _each_known(_listed(over), THROUGH, option="--over", what="transport")
    flights = SWEEP if sweep else tuple(_number(word) for word in _listed(in_flight))
    made = [Row(clients[0], "sync", 1, ways[0])]
    for way in ways:
        for client in clients:
            for kind in kinds:
                if kind not in ENGINES_OF.get(client, ENGINES):
                    continue
                made += [Row(client, kind, flight, way) for flight in ((1,) if kind == "sync" else flights) if _fits(kind, flight)]
    made += [Row(CEILING, "window", MOST_IN_FLIGHT, way) for way in ways]
    return tuple(dict.fromkeys(made))


def rows_in(operation: str, rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows that an operation has: a prepared statement's number is known to its connection only, so it cannot be built beforehand."""
    return tuple(row for row in rows if row.connector != CEILING or not operation.endswith(PREPARED))


def _fits(engine: Engine, in_flight: int) -> bool:
    return engine != "fibers-sockets" or in_flight <= MOST_SOCKETS


def _listed(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _each_known(names: Sequence[str], known: Sequence[_Name], *, option: str, what: str) -> tuple[_Name, ...]:
    by_name = {str(name): name for name in known}
    for name in names:
        if name not in by_name:
            hint = suggestion(name, list(by_name)) or f"known: {', '.join(by_name)}"
            raise UsageError(f"there is no {what} {name!r}", where=option, next_step=hint)
    if not names:
        raise UsageError(f"this names no {what}", where=option, next_step=f"known: {', '.join(by_name)}")
    return tuple(by_name[name] for name in names)


def _number(word: str) -> int:
    if not word.isascii() or not word.isdecimal() or not 1 <= int(word) <= MOST_IN_FLIGHT:
        what = f"{word!r} is no number of operations from 1 to {MOST_IN_FLIGHT}"
        raise UsageError(what, where="--in-flight", next_step="write for example 25,128,512")
    return int(word)
