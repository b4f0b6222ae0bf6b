"""The operations and the rows (connector, engine, operations in flight, transport) that a run of
the lab is asked for. Pure."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from phpdyno.commands.connectors.clients import BUILT_BEFORE, CLIENTS, ENGINES, NEEDED, PACKERS, THROUGH, Here, can, equipped
from phpdyno.commands.connectors.operations import KNOWN, MOST_IN_FLIGHT, MOST_PROCESSES, OPERATIONS, PREPARED
from phpdyno.commands.connectors.study import ConnectorStudy
from phpdyno.config.nearest import suggestion
from phpdyno.errors import UsageError
from phpdyno.model.runs.connector import CEILING, ConnectorRow

_Name = TypeVar("_Name", bound=str)

ALL = "all"
SWEEP = (1, 2, 5, 10, 25, 50, 100, 128, 250, 512)


class LabRequest(Struct, frozen=True):
    """One run of the lab. The first of `rows` is the control, beside which all others are measured.
    `budget_s` is for all operations together; `server` is the path of a binary, '' for Debian's,
    `php` that of a command-line PHP. `skipped` are rows that cannot be measured, by name, and why;
    `study` is what they are measured for, None where they were listed."""

    operations: tuple[str, ...]
    rows: tuple[ConnectorRow, ...]
    php: str
    budget_s: float = 300.0
    seed: int = 1
    confidence: float = 0.95
    server: str = ""
    skipped: dict[str, str] = {}
    study: ConnectorStudy | None = None


def operations_of(text: str) -> tuple[str, ...]:
    """The operations that `--ops` names: a list with commas, or `all`. Raises UsageError."""
    names = _listed(text)
    if names == (ALL,):
        return OPERATIONS
    return _each_known(names, KNOWN, option="--ops", what="operation")


def paths_of(texts: Sequence[str]) -> dict[str, Path]:
    """Read what is given by a path, each `NAME=PATH`. Raises UsageError."""
    found = {}
    for text in texts:
        name, given, path = text.partition("=")
        where = f"--with {text}"
        if not given or not path:
            raise UsageError("this is not NAME=PATH", where=where, next_step="write for instance tarantool-php=vendor/autoload.php")
        _each_known((name,), tuple(NEEDED), option=where, what="client, engine or PHP that is given by a path")
        place = Path(path).expanduser().absolute()
        if not place.is_file():
            kind, _ = NEEDED[name]
            what = {"PHP file": "the PHP file that loads it", "extension": "the extension's .so file", "PHP": "a command-line PHP"}[kind]
            raise UsageError("there is no such file", where=where, next_step=f"name {what}")
        found[name] = place
    return found


def divided(rows: Sequence[ConnectorRow], here: Here) -> tuple[tuple[ConnectorRow, ...], dict[str, str]]:
    """The rows that can be measured, with the files that they need, and the names of the others
    with the reason."""
    kept, skipped = [], {}
    for row in rows:
        made, why = equipped(row, here)
        if why:
            skipped[row.name] = why
        else:
            kept.append(made)
    return tuple(kept), skipped


def rows_of(
    *,
    connectors: str,
    engines: str,
    in_flight: str,
    over: str,
    sweep: bool = False,
    packers: str = "pure",
    processes: str = "1",
) -> tuple[ConnectorRow, ...]:
    """All rows that these lists span, the control first: one request at a time over the first
    transport. The last are the server's ceiling over each transport. Raises UsageError."""
    clients = _each_known(_listed(connectors), tuple(CLIENTS), option="--connectors", what="connector")
    kinds = _each_known(_listed(engines), ENGINES, option="--engines", what="engine")
    ways = _each_known(_listed(over), THROUGH, option="--over", what="transport")
    packed = _each_known(_listed(packers), PACKERS, option="--packers", what="packer")
    flights = SWEEP if sweep else _numbers(in_flight, option="--in-flight", what="operations", most=MOST_IN_FLIGHT)
    several = _numbers(processes, option="--processes", what="processes", most=MOST_PROCESSES)
    made = [ConnectorRow(clients[0], "sync", 1, ways[0])]
    for way in ways:
        for client in clients:
            rows = [
                ConnectorRow(client, kind, flight, way, packer, count)
                for packer in packed
                for kind in kinds
                for flight in ((1,) if kind == "sync" else flights)
                for count in several
            ]
            made += [row for row in rows if can(row)]
    made += [ConnectorRow(CEILING, "window", MOST_IN_FLIGHT, way) for way in ways]
    return tuple(dict.fromkeys(made))


def rows_in(operation: str, rows: Sequence[ConnectorRow]) -> tuple[ConnectorRow, ...]:
    """The rows that an operation has. Not every client knows SQL, and a prepared statement's number
    is known to its connection only, so it cannot be built beforehand: neither for the ceiling nor
    for what sends many at once."""
    return tuple(row for row in rows if _has(row, operation))


def check_operation(operation: str, rows: Sequence[ConnectorRow]) -> None:
    """Raises UsageError where the control, the first of all rows, has no such operation, or no
    other row has."""
    control, *others = rows
    where = f"--ops {operation}"
    if not _has(control, operation):
        raise UsageError(f"the control, {control.name}, cannot do it", where=where, next_step="name another connector first")
    if not rows_in(operation, others):
        raise UsageError("no row can do it beside the control", where=where, next_step="name more engines or connectors")


def _has(row: ConnectorRow, operation: str) -> bool:
    if operation.endswith(PREPARED) and (row.connector == CEILING or row.engine in BUILT_BEFORE):
        return False
    return row.connector == CEILING or not operation.startswith("sql-") or CLIENTS[row.connector].sql


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


def _numbers(text: str, *, option: str, what: str, most: int) -> tuple[int, ...]:
    words = _listed(text)
    for word in words or ("",):
        if not word.isascii() or not word.isdecimal() or not 1 <= int(word) <= most:
            raise UsageError(f"{word!r} is no number of {what} from 1 to {most}", where=option, next_step="write for example 1,2")
    return tuple(int(word) for word in words)
