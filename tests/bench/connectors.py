"""Section `connectors`: clients of Tarantool by their engines, every figure a ratio from pairs in one run.

The environment variable PHPDYNO_TARANTOOL_PHP names the PHP file that loads tarantool-php/client; without it its figures are left out.
"""

import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from phpdyno.commands.connectors.asked import Asked, divided, paths_of, rows_of
from phpdyno.commands.connectors.clients import OWN, TARANTOOL_PHP, Here
from phpdyno.commands.connectors.doing import measure_connectors
from phpdyno.commands.connectors.found import PartFound, RowFound, lab_found
from phpdyno.model.connector import Row
from phpdyno.stack.php import default_cli
from tests.bench.figures import Figure, Target
from tests.bench.results import Room, Sizes
from tests.support.fake_study import FakeProgress

LOADER = "PHPDYNO_TARANTOOL_PHP"
OF_OWN = {"fibers@128": 30.0, "fibers@512": 45.0, "batch@512": 60.0}
OF_THEIRS = {"fibers@25": 8.0, "fibers@128": 12.0, "fibers@512": 16.0}
LEAST_OF_CEILING = 0.55
WAYS = ("unix", "tcp")


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section."""
    figures = []
    loader = os.environ.get(LOADER, "")
    for way in WAYS:
        room.say(f"our own client over {way}")
        part = _part((OWN,), "fibers,batch,window", "128,512", way=way, budget_s=sizes.connectors_s, room=room)
        figures += [_speed(part, f"{OWN} {name} {way}", f"own {name} / own sync, {way}", least) for name, least in OF_OWN.items()]
        figures.append(_share(part, f"{OWN} batch@512 {way}", f"own batch@512 of the server's ceiling, {way}"))
        if loader:
            room.say(f"tarantool-php/client over {way}")
            part = _part((TARANTOOL_PHP, OWN), "sync,fibers", "25,128,512", way=way, budget_s=sizes.connectors_s, room=room, loader=loader)
            figures.append(_speed(part, f"{OWN} sync {way}", f"own sync / tarantool-php sync, {way}", 1.0))
            figures += [
                _speed(part, f"{TARANTOOL_PHP} {name} {way}", f"tarantool-php {name}, unmodified / its own sync, {way}", least)
                for name, least in OF_THEIRS.items()
            ]
    if not loader:
        room.skipped.append(f"tarantool-php/client, which is not here ({LOADER} names the file that loads it)")
    return figures


def _part(clients: Sequence[str], engines: str, in_flight: str, *, way: str, budget_s: float, room: Room, loader: str = "") -> PartFound:
    wanted = rows_of(connectors=",".join(clients), engines=engines, in_flight=in_flight, over=way)
    rows, _ = divided(_without(wanted, clients), Here(paths_of([f"{TARANTOOL_PHP}={loader}"]) if loader else {}))
    asked = Asked(("select",), rows, default_cli(), budget_s=budget_s)
    run = measure_connectors(asked, runs=Path(room.logs), argv=sys.argv, progress=FakeProgress())
    (part,) = lab_found(run).parts
    return part


def _without(rows: Sequence[Row], clients: Sequence[str]) -> tuple[Row, ...]:
    """Beside somebody else's client only our sync one is of interest."""
    return tuple(row for row in rows if row.connector != OWN or row.engine == "sync" or clients[0] == OWN)


def _found(part: PartFound, name: str) -> RowFound:
    return next(row for row in part.rows if row.row == name)


def _speed(part: PartFound, row: str, name: str, least: float) -> Figure:
    found = _found(part, row)
    return _figure(name, "×", (found.ratio, found.low, found.high), found, Target(f"≥ {least:g}×", at_least=least))


def _share(part: PartFound, row: str, name: str) -> Figure:
    found = _found(part, row)
    bounds = (found.of_ceiling, found.of_ceiling_low, found.of_ceiling_high)
    return _figure(name, "%", bounds, found, Target(f"≥ {LEAST_OF_CEILING:.0%}", at_least=LEAST_OF_CEILING))


def _figure(name: str, unit: str, bounds: tuple[float | None, float | None, float | None], found: RowFound, target: Target) -> Figure:
    estimate, low, high = bounds
    per_s = "no figure" if found.operations_per_s is None else f"{found.operations_per_s:,.0f} selects/s"
    detail = found.problem or f"{per_s}, client {(found.client_ns or 0) / 1000:.2f} µs, server {(found.server_ns or 0) / 1000:.2f} µs"
    return Figure(
        name, "×" if unit == "×" else "%", math.nan if estimate is None else estimate, low, high, f"{found.blocks} blocks", target, detail
    )
