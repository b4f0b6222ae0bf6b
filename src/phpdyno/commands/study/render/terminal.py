"""A study as tables on the terminal. Nothing is printed here."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from phpdyno.commands.study.view.cells import (
    aa_words,
    against_control,
    busy,
    carry_over_lines,
    components,
    contrast_cells,
    failed,
    heading,
    per_s,
    reference_per_s,
    warning_lines,
)
from phpdyno.commands.study.view.shape import ComparisonFigures, StudyView
from phpdyno.commands.study.view.sweeps import loads_table, pool_table, sweep_heading, sweep_lines
from phpdyno.report.terminal_parts import headed, inert


def study_summary(view: StudyView) -> Group:
    """Every comparison and sweep, the contrasts beside the reference's, what is missing."""
    parts: list[RenderableType] = [*headed(view.title, view.warnings), Text()]
    for each in view.comparisons:
        if each.arms:
            parts += [inert(heading(each), "bold"), _comparison(view, each), *_beside(each), Text()]
    for sweep in view.sweeps:
        if sweep.arms:
            parts.append(inert(sweep_heading(sweep), "bold"))
            for head, rows, _ in (loads_table(sweep), pool_table(sweep)):
                parts += [_table(head, rows), Text()]
            parts += [*map(inert, sweep_lines(sweep)), Text()]
    if view.contrasts:
        parts += [_table(*contrast_cells(view)), Text()]
    for found in view.syscalls:
        totals = ", ".join(f"{arm} {total:,.0f}" for arm, total in zip(found.arms, found.totals, strict=True))
        parts.append(inert(f"{found.app}: syscalls per 1,000 requests: {totals}"))
    for part in view.missing:
        said = f": {part.detail}" if part.detail else ""
        parts.append(inert(f"! {part.name} {'not measured' if part.state == 'open' else part.state}{said}", "yellow"))
    return Group(*parts)


def _comparison(view: StudyView, comparison: ComparisonFigures) -> Table:
    if comparison.metric == "throughput":
        head = ("arm", "requests per s", "against the control", "502", "time-outs", "host busy", "reference")
        rows = [
            (each.arm, per_s(each), against_control(each), *failed(each.cost)[1:3], busy(each.host_busy), reference_per_s(view, each.arm))
            for each in comparison.arms
        ]
        return _table(head, rows)
    names = ("arm", "control / arm", "php-fpm ms", "nginx ms", "database ms", "host ms")
    return _table(names, [(each.arm, against_control(each), *components(each.cost)) for each in comparison.arms])


def _beside(comparison: ComparisonFigures) -> list[RenderableType]:
    """The control against itself, effects by slot length, warnings."""
    quiet = [aa_words(comparison), *(f"Carry-over, {arm}: {said}" for arm, said in carry_over_lines(comparison))]
    loud = [f"! {arm}: {warning}" for arm, warning in warning_lines(comparison)]
    return [*(inert(said, "dim") for said in quiet if said), *(inert(said, "yellow") for said in loud)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    made = Table(box=None, pad_edge=False, header_style="dim")
    for position, name in enumerate(head):
        made.add_column(inert(name), justify="right" if position else "left", overflow="fold")
    for row in rows:
        made.add_row(*map(inert, row))
    return made
