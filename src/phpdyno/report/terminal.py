"""The report as rich renderables, for 80 columns and more, with or without colour. Nothing is printed here.

Strings from outside reach rich only as `Text`, so that markup in them stays text.
"""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from phpdyno.report.bar import bar, scale
from phpdyno.report.forest import reach
from phpdyno.report.shape import ArmCost, Row, RunView
from phpdyno.report.words import change, count, duration, failed_proofs, interval, label, middle, milliseconds, percent, reason, sentences

STYLE = {"improved": "green", "regressed": "red", "equivalent": "cyan", "inconclusive": "yellow", "invalid": "magenta"}

_BESIDE_BAR = 65
"""Columns of a verdict's line besides its bar, with room for the longest verdict."""


def summary(view: RunView) -> Group:
    """The whole report; its last lines are the verdicts in words."""
    parts: list[RenderableType] = [head(view), Text()]
    if view.rows:
        parts += [VerdictTable(view), Text(), cost_table(view), Text()]
    parts += [notes(view), Text(), scope(view), Text(), words(view)]
    return Group(*parts)


def head(view: RunView) -> Group:
    """Title, workload, control and how the run ended."""
    outcome = f"{view.outcome} after {duration(view.elapsed_s)}" + (f": {view.outcome_detail}" if view.outcome_detail else "")
    ended = Text(_clean(f"{view.run}, {outcome}"), style="" if view.outcome == "finished" else "yellow")
    facts = [("workload", Text(_clean(view.workload))), ("control", Text(_clean(view.control))), ("run", ended)]
    return Group(Text(_clean(view.title), style="bold"), _labelled(facts))


class VerdictTable:
    """Two lines or more per treatment, A/A arms first: its name, then effect, interval, place on the common scale, blocks and verdict.

    Adapts to the width it is given, from 80 columns on.
    """

    def __init__(self, view: RunView) -> None:
        self._view = view

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        view = self._view
        width = min(45, max(15, options.max_width - _BESIDE_BAR)) // 2 * 2 + 1
        limit = reach(view.rows)
        together = f", simultaneous over {len(view.rows)} treatments" if len(view.rows) > 1 else ""
        level = f"{percent(view.rows[0].confidence)} CI" if view.rows else "CI"
        yield Text(f"{view.metric} against the control ({level}{together}):", style="bold")
        yield Text(f"  {'effect':<12} {level:<16} {scale(limit, width)} blocks verdict", style="dim", no_wrap=True, overflow="crop")
        for row in _ordered(view):
            yield _name(row)
            yield _line(row, limit, width)
            yield from _below(row)


def cost_table(view: RunView) -> RenderableType:
    """What a request cost in either arm, per component, in milliseconds: totals that describe, without an interval."""
    measured = [(row, row.control, row.treated) for row in _ordered(view) if row.control is not None and row.treated is not None]
    if not measured:
        return Text("No block was finished, so there are no costs to show.", style="dim")
    names = ("php-fpm", "nginx", "database", "host", "p50", "p99")
    lines = [
        Text("Milliseconds per request: CPU of each part, and service time (p50, p99):", style="bold"),
        Text(f"  {'':<12}" + "".join(f"{name:>9}" for name in names), style="dim"),
    ]
    for row, control, treated in measured:
        lines.append(_name(row))
        lines.append(Text.assemble((f"  {'control':<12}", "dim"), _costs(control)))
        lines.append(Text.assemble((f"  {'treatment':<12}", "dim"), _costs(treated)))
        if row.whole_stack is not None:
            stack = row.whole_stack
            level = percent(row.confidence)
            said = f"control / treatment {stack.ratio:.3f} ({level} CI {stack.low:.3f} to {stack.high:.3f})"
            lines.append(Text(f"  php-fpm + nginx + database: {said}", style="dim"))
    return Group(*lines)


def notes(view: RunView) -> RenderableType:
    """Warnings, incidents, differing answers and what was left out; says so when there is nothing."""
    lines = [("host", warning) for warning in view.preflight_warnings]
    lines += [(label(row), warning) for row in view.rows for warning in row.warnings]
    lines += [(each.arm, f"answers differ: {each.detail}") for each in view.answers if not each.equal]
    for incident in view.incidents:
        place = ", ".join(part for part in (incident.arm, f"block {incident.block + 1}" if incident.block >= 0 else "") if part)
        lines.append((incident.kind, f"{place}: {incident.detail}" if place else incident.detail))
    parts: list[RenderableType] = []
    if lines:
        parts.append(_labelled(("!", Text.assemble((_clean(about), "yellow"), ": ", _clean(said))) for about, said in lines))
    if view.blocks_excluded:
        left_out = count(view.blocks_excluded, "observation")
        parts.append(Text(f"{left_out} excluded for a covariate declared beforehand, none for being slow."))
    by_status = [target.path for target in view.targets if target.compared == "status"]
    if by_status:
        parts.append(Text(_clean(f"Answers compared by status only, as declared: {', '.join(by_status)}")))
    return Group(*parts) if parts else Text("No warnings, no incidents, nothing excluded.", style="dim")


def scope(view: RunView) -> RenderableType:
    """What the verdicts hold for, and how to repeat them."""
    facts = (("scope", view.scope), ("host", view.host), ("slots", view.calibration), ("repeat", view.repeat))
    return _labelled((name, Text(_clean(said), overflow="fold")) for name, said in facts if said)


def words(view: RunView) -> Group:
    """The sentences, one per treatment; the last line is a finding."""
    return Group(*(Text(_clean(said), overflow="fold") for said in sentences(view)))


def _ordered(view: RunView) -> list[Row]:
    return sorted(view.rows, key=lambda row: not row.is_aa)


def _name(row: Row) -> Text:
    return Text(_clean(label(row)), style="italic" if row.is_aa else "bold", overflow="fold")


def _line(row: Row, limit: float, width: int) -> Text:
    said = f"{row.kind}, {row.relevance}" if row.relevance else row.kind
    if row.ratio is None:
        missing = "no number" if row.kind == "invalid" else f"no interval below {row.blocks_needed} blocks"
        left = Text(f"  {missing:<29} ", style="dim")
    else:
        effect = change(row) or f"{middle(row)}×"
        left = Text(f"  {effect:<12} {interval(row):<16} ")
    return Text.assemble(left, bar(row, limit, width), f" {row.blocks:>6} ", (said, STYLE[row.kind]))


def _below(row: Row) -> Iterable[Text]:
    """Reason and proofs, where there is something to say."""
    if said := reason(row):
        yield Text(_clean(f"  {said}"), style="dim", overflow="fold")
    failed = failed_proofs(row)
    for proof in failed:
        yield Text(_clean(f"  not proved: {proof.knob}={proof.value}: {proof.detail}"), style="magenta", overflow="fold")
    if any(proof.proved for proof in row.proofs) and not failed:
        yield Text("  effect proved in the running worker", style="dim")


def _costs(cost: ArmCost) -> str:
    values = (
        cost.php_cpu_ms_per_request,
        cost.nginx_cpu_ms_per_request,
        cost.database_cpu_ms_per_request,
        cost.host_cpu_ms_per_request,
        cost.service_p50_ms,
        cost.service_p99_ms,
    )
    return "".join(f"{milliseconds(value):>9}" for value in values)


def _labelled(lines: Iterable[tuple[str, Text]]) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, said in lines:
        grid.add_row(Text(name), said)
    return grid


def _clean(text: str) -> str:
    """Control characters (escape sequences of a hostile server) become visible instead of being obeyed."""
    return "".join(each if each.isprintable() else " " if each in "\t\r\n" else "�" for each in text)
