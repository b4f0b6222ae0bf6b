"""Section `connectors`: clients of Tarantool by their engines, every figure a ratio from pairs in
one run.

The environment variable PHPDYNO_TARANTOOL_PHP names the PHP file that loads tarantool-php/client,
PHPDYNO_TARANTOOL_PECL the C extension; without one its figures are left out.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.fakes.fake_study import FakeProgress

from phpdyno.commands.connectors.clients import OWN, PECL, TARANTOOL_PHP, Here
from phpdyno.commands.connectors.found import OperationFound, RowFound, lab_found
from phpdyno.commands.connectors.request import LabRequest, divided, paths_of, rows_of
from phpdyno.commands.connectors.run import OWN_CONNECTOR, measure_connectors
from phpdyno.model.runs.connector import ConnectorRow
from phpdyno.servers.programs.php import default_cli
from tools.bench.figures import Figure, Target, ratio_figure
from tools.bench.results import Room, Sizes

LOADER, MODULE = "PHPDYNO_TARANTOOL_PHP", "PHPDYNO_TARANTOOL_PECL"
OF_OWN = {"fibers@128": 30.0, "fibers@512": 45.0, "batch@512": 60.0}
OF_THEIRS = {"fibers@25": 8.0, "fibers@128": 12.0, "fibers@512": 16.0}
LEAST_OF_CEILING = 0.55
LEAST_OF_PECL = 0.77
FASTER_CODEC = 5.0
CODEC = Path(__file__).parent / "codec.php"
JIT = ("-d", "opcache.enable_cli=1", "-d", "opcache.jit=tracing", "-d", "opcache.jit_buffer_size=64M")
WAYS = ("unix", "tcp")


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section."""
    figures = []
    loader = os.environ.get(LOADER, "")
    for way in WAYS:
        room.say(f"our own client over {way}")
        part = _part((OWN,), "fibers,batch", "128,512", way=way, budget_s=sizes.connectors_s, room=room)
        figures += [_speed(part, f"{OWN} {name} {way}", f"own {name} / own sync, {way}", least) for name, least in OF_OWN.items()]
        figures.append(_share(part, f"{OWN} batch@512 {way}", f"own batch@512 of the server's ceiling, {way}"))
        if loader:
            room.say(f"tarantool-php/client over {way}")
            part = _part(
                (TARANTOOL_PHP, OWN),
                "sync,fibers",
                "25,128,512",
                way=way,
                budget_s=sizes.connectors_s,
                room=room,
                given=f"{TARANTOOL_PHP}={loader}",
            )
            figures.append(_speed(part, f"{OWN} sync {way}", f"own sync / tarantool-php sync, {way}", 1.0))
            figures += [
                _speed(part, f"{TARANTOOL_PHP} {name} {way}", f"tarantool-php {name}, unmodified / its own sync, {way}", least)
                for name, least in OF_THEIRS.items()
            ]
    if loader:
        room.say("our codec beside rybakit/msgpack")
        figures.append(_codec(loader))
    else:
        room.skipped.append(f"tarantool-php/client, which is not here ({LOADER} names the file that loads it)")
    module = os.environ.get(MODULE, "")
    if module:
        room.say("our own client beside the C extension")
        part = _part((PECL, OWN), "sync", "1", way="tcp", budget_s=sizes.connectors_s, room=room, given=f"{PECL}={module}")
        figures.append(_speed(part, f"{OWN} sync tcp", "own sync / PECL's extension sync, tcp", LEAST_OF_PECL))
    else:
        room.skipped.append(f"PECL's extension tarantool, which is not here ({MODULE} names its .so file)")
    return figures


def _codec(loader: str) -> Figure:
    """Packing a select and decoding its answer: rybakit's time over ours, block by block in one
    process."""
    with tempfile.TemporaryDirectory() as cache:
        answer = subprocess.run(
            [default_cli(), *JIT, str(CODEC), loader, str(OWN_CONNECTOR), cache], capture_output=True, text=True, timeout=300, check=True
        )
    blocks: list[list[float]] = json.loads(answer.stdout)
    theirs, _, ours = (statistics.median(column) for column in zip(*blocks, strict=True))
    return ratio_figure(
        "codec: rybakit/msgpack / ours, a select packed and its tuple decoded",
        [math.log(block[0] / block[2]) for block in blocks],
        alpha=0.05,
        target=Target(f"≥ {FASTER_CODEC:g}×", at_least=FASTER_CODEC),
        detail=f"{theirs:,.0f} and {ours:,.0f} ns",
    )


def _part(
    clients: Sequence[str], engines: str, in_flight: str, *, way: str, budget_s: float, room: Room, given: str = ""
) -> OperationFound:
    wanted = rows_of(connectors=",".join(clients), engines=engines, in_flight=in_flight, over=way)
    rows, _ = divided(_of_interest(wanted, clients), Here(paths_of([given]) if given else {}))
    asked = LabRequest(("select",), rows, default_cli(), budget_s=budget_s)
    run = measure_connectors(asked, runs=Path(room.logs), argv=sys.argv, progress=FakeProgress())
    (part,) = lab_found(run).parts
    return part


def _of_interest(rows: Sequence[ConnectorRow], clients: Sequence[str]) -> tuple[ConnectorRow, ...]:
    """The rows that figures are of: fewer rows have more blocks in the same time."""
    own = {"sync", *OF_OWN} if clients[0] == OWN else {"sync"}
    return tuple(row for row in rows if row.connector != OWN or f"{row.engine}@{row.in_flight}" in own or row.engine in own)


def _found(part: OperationFound, name: str) -> RowFound:
    return next(row for row in part.rows if row.row == name)


def _speed(part: OperationFound, row: str, name: str, least: float) -> Figure:
    found = _found(part, row)
    return _figure(name, "×", (found.ratio, found.low, found.high), found, Target(f"≥ {least:g}×", at_least=least))


def _share(part: OperationFound, row: str, name: str) -> Figure:
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
