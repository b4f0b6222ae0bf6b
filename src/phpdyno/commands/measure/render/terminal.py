"""A sweep as a report for a terminal of 80 columns or more, in colour. Nothing is printed here.

Strings from outside reach rich only as `Text`, so that markup in them stays text.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from phpdyno.commands.measure.view.shape import ArmRow, PointRow, SweepView
from phpdyno.commands.measure.view.words import (
    cross_words,
    estimate_words,
    failures,
    load_words,
    mean_words,
    memory_words,
    open_words,
    percentile_name,
    percentile_of,
    share,
    value_words,
    whole,
)
from phpdyno.model.notices import rest_of
from phpdyno.report.terminal_parts import headed, inert, labelled, reached
from phpdyno.report.words import NOTHING, count, duration, percent, visible
from phpdyno.stats.visits import PERCENTS

_MOST_EXCLUSIONS = 6
"""Lines of excluded visits; the page lists all of them."""


def sweep_summary(view: SweepView) -> Group:
    """The whole report; its last lines are the findings in words."""
    parts: list[RenderableType] = [_head(view), Text()]
    for arm in view.arms:
        rows = [row for row in view.points if row.arm == arm.name]
        parts += [*_arm(view, arm, rows), Text()]
    if view.cross_checks:
        parts += [Text("Other load generators on the same instances:", style="bold")]
        parts += [inert(f"  {row.arm}: {cross_words(row, view.confidence)}") for row in view.cross_checks]
        parts.append(Text())
    if (told := reached(view.reached)) is not None:
        parts += [told, Text()]
    parts += [_notes(view), Text(), _scope(view), Text()]
    return Group(*parts, *map(inert, view.sentences))


def _head(view: SweepView) -> Group:
    detail = f": {view.outcome_detail}" if view.outcome_detail else ""
    ended = f"{view.run}, {view.outcome} after {duration(view.elapsed_s)}, {count(view.rounds, 'round')}{detail}"
    facts = [
        ("workload", inert(view.workload)),
        ("run", Text(visible(ended), style="" if view.outcome == "finished" else "yellow")),
    ]
    return Group(*headed(view.title, view.warnings), labelled(facts))


def _arm(view: SweepView, arm: ArmRow, rows: Sequence[PointRow]) -> list[RenderableType]:
    """One arm: throughput and times, CPU, workers and memory, what limits it."""
    measured = [row for row in rows if row.visits]
    closed = [row for row in measured if row.loop == "closed"]
    parts: list[RenderableType] = [Text(visible(arm.name), style="bold", overflow="fold"), Text(visible(arm.settings), style="dim")]
    if not measured:
        return [*parts, Text("No visit counts, so there is nothing to show.", style="dim")]
    level = percent(view.confidence)
    if closed:
        parts += [
            Text(f"Requests per second in a closed loop ({level} CI), and service times in ms:"),
            _table(["c", "requests per s", *map(percentile_name, PERCENTS)], (_times(arm, row) for row in closed), left=2),
        ]
    parts += [
        Text(f"CPU milliseconds per valid request ({level} CI of php-fpm's):"),
        _cpu_table(measured),
        inert(_network_words(measured), "dim"),
        Text("Workers of php-fpm, its listen queue, failed requests:"),
        _table(["c", "busy", "most", "wanted", "queue", "waiting", "full", "failed"], map(_pool, measured)),
        Text("most: busy at once; wanted: another one, but it had all (max children reached)", style="dim"),
        Text("waiting, full: share of the samples with a queue, with no room left in it", style="dim"),
        inert(f"Memory: {memory_words(arm.memory)}"),
    ]
    for row in measured:
        if row.loop == "open":
            parts += [Text(f"Open loop, {level} CI:"), labelled((f"  {name}", inert(said)) for name, said in open_words(row, view))]
    return [*parts, *_bottlenecks(closed)]


def _times(arm: ArmRow, row: PointRow) -> tuple[str, ...]:
    best = "*" if row.concurrency == arm.best else ""
    times = (value_words(percentile_of(row.percentiles, each)) for each in PERCENTS)
    return f"{row.concurrency}{best}", estimate_words(row.per_s), *times


def _cpu_table(rows: Sequence[PointRow]) -> Table:
    served = any(row.cpu is not None and row.cpu.services is not None for row in rows)
    names = ("nginx", "database", *(["services"] if served else []), "network", "all")
    return _table(["c", "php-fpm", *names], (_cpu(row, served=served) for row in rows), left=2)


def _cpu(row: PointRow, *, served: bool) -> tuple[str, ...]:
    cpu = row.cpu
    if cpu is None:
        return _short(row), "requests failed in every visit", *(NOTHING,) * (5 if served else 4)
    services = [cpu.services] if served else []
    return _short(row), estimate_words(cpu.php), *map(value_words, (cpu.nginx, cpu.database, *services, cpu.network, cpu.total))


def _pool(row: PointRow) -> tuple[str, ...]:
    queue = row.queue
    return (
        _short(row),
        mean_words(row.workers_busy),
        whole(row.max_active),
        whole(row.children_reached),
        mean_words(queue.mean if queue else None),
        share(queue.share if queue else None),
        share(queue.full if queue else None),
        whole(row.requests - row.valid),
    )


def _short(row: PointRow) -> str:
    return f"open {percent(row.open_share)}" if row.loop == "open" else str(row.concurrency)


def _network_words(rows: Sequence[PointRow]) -> str:
    known = [row.cpu.network_apart for row in rows if row.cpu is not None and row.cpu.network is not None]
    if not known:
        return "network: the kernel's time in interrupts could not be read"
    if known[-1] is None:
        return "network: the kernel's time in interrupts; whether it is contained in the others is not known, so it is not added"
    if known[-1]:
        return "network: the kernel's time in interrupts, accounted apart; all contains it"
    return "network: the kernel's time in interrupts, contained in the others and not added"


def _bottlenecks(rows: Sequence[PointRow]) -> list[RenderableType]:
    """What limits throughput; neighbouring loads with the same finding as one line, with the
    figures of the last."""
    lines: list[tuple[str, Text]] = []
    for _, held in groupby((row for row in rows if row.sentence), key=lambda row: row.bottleneck):
        group = list(held)
        loads = ", ".join(str(row.concurrency) for row in group)
        figures = f" (figures of {load_words(group[-1])})" if len(group) > 1 else ""
        lines.append((f"  c = {loads}", inert(f"{group[-1].sentence}{figures}")))
    if not lines:
        return []
    shown: list[RenderableType] = [Text("What limits throughput:")]
    for name, said in lines:
        shown += [Text(name, style="dim"), _indented(said)]
    return shown


def _indented(said: Text) -> RenderableType:
    grid = Table.grid(padding=0)
    grid.add_column(width=4)
    grid.add_column(overflow="fold")
    grid.add_row(Text(), said)
    return grid


def _notes(view: SweepView) -> RenderableType:
    """Warnings, failures, late generators, exclusions; says so when there is nothing."""
    lines = [("host", warning) for warning in rest_of(view.warnings)]
    for row in view.points:
        where = f"{row.arm}, {load_words(row)}"
        lines += [(where, f"failed: {failures(row)}")] if row.requests > row.valid else []
        lines += [(where, "the generator was late in some visits, which do not count")] if row.late else []
        lines += [(where, "no visit counts")] if row.excluded and not row.visits else []
    parts: list[RenderableType] = []
    if lines:
        parts.append(labelled(("!", Text.assemble((visible(about), "yellow"), ": ", visible(said))) for about, said in lines))
    parts += _exclusions(view)
    return Group(*parts) if parts else Text("No warnings, no failed requests, nothing excluded.", style="dim")


def _exclusions(view: SweepView) -> list[RenderableType]:
    left_out = [row for row in view.visits if row.excluded]
    if not left_out:
        return []
    said = f"{count(len(left_out), 'visit')} discarded by a rule fixed in advance, none for being slow:"
    shown = [
        f"  {row.arm}, {'open loop' if row.open_share else f'c = {row.concurrency}'}, round {row.round}: {row.excluded}" for row in left_out
    ]
    if len(shown) > _MOST_EXCLUSIONS:
        shown = [*shown[: _MOST_EXCLUSIONS - 1], f"  and {len(shown) - _MOST_EXCLUSIONS + 1} more, listed on the page"]
    return [Text(said), *(inert(line, "dim") for line in shown)]


def _scope(view: SweepView) -> RenderableType:
    facts = (("scope", view.scope), ("host", view.host), ("repeat", view.repeat))
    return labelled((name, inert(said)) for name, said in facts if said)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> Table:
    """Numbers to the right; the first `left` columns fold last."""
    made = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    for position, name in enumerate(head):
        made.add_column(name, justify="right" if position >= left else "left", overflow="fold", no_wrap=position == 0)
    for row in rows:
        made.add_row(*(Text(visible(cell)) for cell in row))
    return made
