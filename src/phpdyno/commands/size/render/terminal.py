"""A run of `size` as a report for a terminal of 80 columns or more. Nothing is printed here."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from phpdyno.commands.measure.view.shape import Estimate
from phpdyno.commands.size.found import PoolRow, SizeFound
from phpdyno.commands.size.words import manager_cells, mib, part, rate
from phpdyno.model.notices import rest_of
from phpdyno.report.terminal_parts import headed, inert, labelled, reached
from phpdyno.report.words import NOTHING, duration, visible


def size_summary(found: SizeFound) -> Group:
    """The whole report but for its answer."""
    parts: list[RenderableType] = [_head(found), Text()]
    parts += [Text("Fresh static pools, saturated (search, one visit each):"), _pools(found), Text()]
    if any(row.per_s is not None for row in found.confirmed):
        parts += [Text(f"Confirmed on fresh pools in random order ({part(found.confidence)} CI):"), _confirmed(found), Text()]
    if found.managers:
        parts += [Text("Through idle, burst and idle:"), _managers(found), Text()]
    parts += [Text("Other people's formulas:"), _formulas(found), Text()]
    if (told := reached(found.reached)) is not None:
        parts += [told, Text()]
    parts += [inert(f"warning: {each}", "yellow") for each in rest_of(found.warnings)]
    parts += [inert(each) for each in found.sentences]
    return Group(*parts)


def _head(found: SizeFound) -> Group:
    detail = f": {found.outcome_detail}" if found.outcome_detail else ""
    cores = "1 core" if found.cores == 1 else f"{found.cores} cores"
    facts = [
        ("php-fpm has", Text(cores)),
        (
            "run",
            Text(
                visible(f"{found.run}, {found.outcome} after {duration(found.elapsed_s)}{detail}"),
                style="" if found.outcome == "finished" else "yellow",
            ),
        ),
    ]
    return Group(*headed(found.title, found.warnings), labelled(facts))


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, name in enumerate(heads):
        table.add_column(name, justify="left" if number < left or name in {"", "what"} else "right", overflow="fold")
    for row in rows:
        table.add_row(*(inert(each) for each in row))
    return table


def _pools(found: SizeFound) -> Table:
    best = max((row.per_s for row in found.pools), default=1.0)
    heads = ["workers", "requests/s", "of the best", "CPU ms", "PSS of one", "pool"]
    rows = [[str(row.workers), rate(row.per_s), part(row.per_s / best), f"{row.cpu_ms:.2f}", *_memory(row)] for row in found.pools]
    return _table(heads, rows)


def _memory(row: PoolRow) -> tuple[str, str]:
    memory = row.memory
    if memory is None or memory.pss_worker_kib is None:
        return NOTHING, NOTHING
    return f"{memory.pss_worker_kib / 1024:.1f} MiB", mib(memory.pss_pool_kib + (memory.master_kib or 0.0))


def _confirmed(found: SizeFound) -> Table:
    rows = [
        [str(row.workers), row.what, spanned(row.per_s), NOTHING if row.memory_kib is None else mib(row.memory_kib), row.words]
        for row in found.confirmed
    ]
    return _table(["workers", "what", "requests/s", "memory", ""], rows)


def _managers(found: SizeFound) -> Table:
    rows = map(manager_cells, found.managers)
    return _table(["pm", "first", "p50", "p99", "failed", "forks", "a second", "idle"], rows)


def _formulas(found: SizeFound) -> Table:
    rows = [[row.name, NOTHING if row.workers is None else f"{row.workers:,}", row.words] for row in found.formulas]
    return _table(["", "workers", ""], rows)


def spanned(figure: Estimate | None) -> str:
    """`4,510 (4,400 to 4,620)`; a dash without a figure."""
    if figure is None:
        return NOTHING
    if figure.low is None or figure.high is None:
        return rate(figure.value)
    return f"{rate(figure.value)} ({rate(figure.low)} to {rate(figure.high)})"
