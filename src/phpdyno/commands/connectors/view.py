"""A run of the lab in words."""

from collections.abc import Iterator, Sequence

from phpdyno.commands.connectors.found import LabFound, OperationFound, RowFound
from phpdyno.model.runs.connector import CEILING, ConnectorRow

HEADS = ("row", "operations/s", "speed over the control", "of the ceiling", "client CPU", "server CPU", "median", "99 %", "syscalls")
US = 1_000.0
TEN = 10.0
SEVERAL = 2


def title(part: OperationFound) -> str:
    """The line above the table of an operation."""
    return f"{part.operation}{'' if part.finished else ' (not finished)'}"


def cells(part: OperationFound) -> Iterator[tuple[str, ...]]:
    """The rows of its table."""
    for number, row in enumerate(part.rows):
        if row.problem:
            yield (row.row, "–", row.problem, "", "", "", "", "", "")
        else:
            times = map(us, (row.client_ns, row.server_ns, row.p50_ns, row.p99_ns))
            yield (row.row, rate(row), "control" if number == 0 else speed(row), share(row), *times, calls(row))


def table(part: OperationFound) -> Iterator[str]:
    """The same for a terminal of 80 columns: a line of name, rate and speed, and below it the
    rest."""
    rows = list(cells(part))
    name_width, rate_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    for found, (name, rate, faster, of_most, client, server, median, most, asked) in zip(part.rows, rows, strict=True):
        yield f"{name:<{name_width}}  {rate:>{rate_width}} per s  {faster}"
        if not found.problem:
            ceiling = f"{of_most} of the ceiling; " if found.of_ceiling is not None else ""
            counted = f"; {asked} syscalls" if found.syscalls is not None else ""
            yield f"  {ceiling}CPU {client} client, {server} server; median {median}, 99 % {most}{counted}"


def best(part: OperationFound) -> Iterator[str]:
    """What stands below an operation's table: of each kind the row that is fastest, and those that
    are not told apart from it."""
    for each in part.best:
        others = f"; not told apart from it: {', '.join(each.alike)}" if each.alike else "; no other is as fast"
        yield f"of {each.kind} the fastest is {each.row}{others}"


def fastest(found: LabFound, rows: Sequence[ConnectorRow]) -> dict[str, dict[str, float]]:
    """The most operations per second of each client and engine, by operation. The ceiling is no
    client."""
    by_name = {row.name: row for row in rows if row.connector != CEILING}
    most: dict[str, dict[str, float]] = {}
    for part in found.parts:
        for each in part.rows:
            row = by_name.get(each.row)
            if row is not None and each.operations_per_s is not None and not each.problem:
                speeds = most.setdefault(f"{row.connector} {row.engine}", {})
                speeds[part.operation] = max(speeds.get(part.operation, 0.0), each.operations_per_s)
    return most


def lines(found: LabFound) -> Iterator[str]:
    """What stands below the tables."""
    failed = sum(row.failed for part in found.parts for row in part.rows)
    if failed:
        yield f"{failed:,} operations had no right answer"
    for why in dict.fromkeys(part.no_syscalls for part in found.parts if part.no_syscalls):
        yield f"Syscalls were not counted: {why}"
    excluded = sum(part.excluded for part in found.parts)
    if excluded:
        yield f"{excluded} measurements discarded by a rule fixed in advance (CPU steal, a failed operation)"
    yield "The ceiling is what the server does when requests are built beforehand and answers are only counted (512 in flight)."
    yield f"Speeds are ratios from pairs in fresh processes, with a confidence interval of {found.confidence:.0%} for all of them together."
    if found.host is not None:
        host = found.host
        client, server = (", ".join(map(str, cores)) for cores in (host.measured_cores, host.helper_cores))
        yield f"This host only: {host.cpu_model}, the client on core {client}, the server on core {server}, Linux {host.kernel}."


def rate(row: RowFound) -> str:
    """Operations per second."""
    return "–" if row.operations_per_s is None else f"{row.operations_per_s:,.0f}"


def speed(row: RowFound) -> str:
    """The ratio to the control, with its interval where there is one."""
    if row.ratio is None:
        return "–"
    if row.low is None or row.high is None:
        seen = "" if row.blocks < SEVERAL or row.least is None or row.most is None else f": {row.least:.2f} to {row.most:.2f} in blocks"
        return f"{row.ratio:.2f}× (no interval yet{seen})"
    return f"{row.ratio:.2f}× ({row.low:.2f} to {row.high:.2f})"


def share(row: RowFound) -> str:
    """The share of the server's ceiling, with its interval where there is one."""
    if row.of_ceiling is None:
        return "–"
    bounds = (
        "" if row.of_ceiling_low is None or row.of_ceiling_high is None else f" ({row.of_ceiling_low:.1%} to {row.of_ceiling_high:.1%})"
    )
    return f"{row.of_ceiling:.1%}{bounds}"


def calls(row: RowFound) -> str:
    """Syscalls of the client per operation."""
    return "–" if row.syscalls is None else f"{row.syscalls:.2f}"


def us(nanoseconds: float | None) -> str:
    """Three digits: `0.81 µs`, `92.9 µs`, `5.35 ms`."""
    if nanoseconds is None:
        return "–"
    value, unit = (nanoseconds / US, "µs") if nanoseconds < US * US else (nanoseconds / US / US, "ms")
    return f"{value:.{2 if value < TEN else 1 if value < TEN * TEN else 0}f} {unit}"
