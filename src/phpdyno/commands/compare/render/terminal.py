"""The report as rich renderables, for 80 columns and more, with or without colour. Nothing is
printed here.

Strings from outside reach rich only as `Text`, so that markup in them stays text.
"""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from phpdyno.commands.compare.render.bar import bar, scale
from phpdyno.commands.compare.render.below_verdicts import calibration, carry_over, cost_table, name_of, notes, scope
from phpdyno.commands.compare.view.measuring import AaRow
from phpdyno.commands.compare.view.shape import Row, RunView
from phpdyno.commands.compare.view.words import (
    aa_of,
    blocks_words,
    by_metric,
    change,
    change_in,
    failed_proofs,
    reason,
    sentences,
    tone,
)
from phpdyno.commands.explain.render.terminal import looked_into
from phpdyno.model.plan import Metric
from phpdyno.report.scale import reach
from phpdyno.report.terminal_parts import STYLE, headed, labelled, reached
from phpdyno.report.words import PHP_NAME, duration, metric_words, percent, visible
from phpdyno.stats.change import Percent, apart

_BESIDE_BAR = 65
"""Columns of a verdict's line besides its bar, with room for the longest verdict."""


def summary(view: RunView) -> Group:
    """The whole report; its last lines are the verdicts in words."""
    parts: list[RenderableType] = [head(view), Text()]
    groups = by_metric(view.rows)
    for metric in groups:
        parts += [VerdictTable(view, metric), Text()]
    for held in groups.values():
        parts += [cost_table(held, PHP_NAME[view.transport]), Text()]
    for section in (calibration(view), carry_over(view), reached(view.reached)):
        parts += [section, Text()] if section is not None else []
    for row in view.explained or ():
        parts += [*looked_into(row.treatment, row.found, row.unexplained), Text()]
    parts += [notes(view), Text(), scope(view), Text(), words(view)]
    return Group(*parts)


def head(view: RunView) -> Group:
    """Title, workload, control and how the run ended."""
    outcome = f"{view.outcome} after {duration(view.elapsed_s)}" + (f": {view.outcome_detail}" if view.outcome_detail else "")
    ended = Text(visible(f"{view.run}, {outcome}"), style="" if view.outcome == "finished" else "yellow")
    facts = [("workload", Text(visible(view.workload))), ("control", Text(visible(view.control))), ("run", ended)]
    return Group(*headed(view.title, view.preflight_warnings), labelled(facts))


class VerdictTable:
    """Two lines or more per treatment of one metric, A/A first: name, then effect, interval, place
    on the common scale, blocks, verdict.

    Adapts to the width it is given, from 80 columns on.
    """

    def __init__(self, view: RunView, metric: Metric) -> None:
        self._rows = by_metric(view.rows)[metric]
        self._metric = metric
        self._aa = aa_of(view, metric)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = self._rows
        width = min(45, max(15, options.max_width - _BESIDE_BAR)) // 2 * 2 + 1
        aa: list[Row | AaRow] = [*(row for row in rows if row.is_aa), *([self._aa] if self._aa is not None else [])]
        effects = [row for row in rows if not row.is_aa]
        limit = reach([(row.low, row.high, row.margin) for row in effects], [(each.low, each.high, each.margin) for each in aa])
        over = rows[0].simultaneous_over
        together = f", simultaneous over {over} treatments" if over > 1 else ""
        level = f"{percent(rows[0].confidence)} CI"
        within = f"; {rows[0].scope}" if rows[0].scope else ""
        metric = metric_words(self._metric, rows[0].unit)
        yield Text(f"{metric[0].upper()}{metric[1:]} against the control ({level}{together}{within}):", style="bold")
        yield Text(
            f"  {'change':<10} {level:<18} {scale(limit, width, self._metric)} blocks verdict", style="dim", no_wrap=True, overflow="crop"
        )
        if self._aa is not None:
            yield Text("the control against itself (A/A)", style="italic")
            yield _aa_line(self._aa, limit, width)
        for row in rows:
            yield name_of(row)
            yield _line(row, limit, width)
            yield from _below(row)


def words(view: RunView) -> Group:
    """The sentences, one per treatment; the last line is a finding."""
    return Group(*(Text(visible(said), overflow="fold") for said in sentences(view)))


def _aa_line(aa: AaRow, limit: float, width: int) -> Text:
    seen = change_in(aa, aa.metric)
    left = Text(f"  {f'no interval below {aa.blocks_needed} blocks':<29} ", style="dim") if seen is None else _effect(seen)
    return Text.assemble(left, bar(aa, limit, width), f" {aa.blocks:>6} ", ("calibration", "dim"))


def _line(row: Row, limit: float, width: int) -> Text:
    said = f"{row.kind}, {row.relevance}" if row.relevance else row.kind
    seen = change(row)
    missing = "no number" if row.kind == "invalid" else f"no interval below {row.blocks_needed} blocks"
    left = Text(f"  {missing:<29} ", style="dim") if seen is None else _effect(seen)
    return Text.assemble(left, bar(row, limit, width), f" {row.blocks:>6} ", (said, STYLE[tone(row)]))


def _effect(seen: Percent) -> Text:
    value, ends = apart(seen)
    return Text(f"  {value:<10} {ends:<18} ")


def _below(row: Row) -> Iterable[Text]:
    """Reason and proofs, where there is something to say."""
    if said := reason(row):
        yield Text(visible(f"  {said}"), style="dim", overflow="fold")
    failed = failed_proofs(row)
    for proof in failed:
        yield Text(visible(f"  not proved: {proof.knob}={proof.value}: {proof.detail}"), style="magenta", overflow="fold")
    if any(proof.proved for proof in row.proofs) and not failed:
        yield Text("  effect proved in the running worker", style="dim")
    if told := blocks_words(row):
        yield Text(visible(f"  {told}"), style="dim", overflow="fold")
    if row.answers is not None and row.kind != "invalid":
        yield Text(f"  {row.answers.said}", style="yellow" if row.answers.wrong else "dim", overflow="fold")
