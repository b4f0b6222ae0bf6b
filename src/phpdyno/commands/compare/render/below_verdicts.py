"""The parts of the terminal report below the verdicts: costs, calibration, carry-over, notes,
scope."""

import statistics
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from phpdyno.commands.compare.view.calibrations import forecast
from phpdyno.commands.compare.view.measuring import AllanRow, CalibrationRow
from phpdyno.commands.compare.view.shape import ArmCost, Row, RunView
from phpdyno.commands.compare.view.words import aa_finding, carried, failures, label, margin_of, whole_stack_change, whole_stack_words
from phpdyno.model.notices import rest_of
from phpdyno.model.plan import Unit
from phpdyno.report.terminal_parts import inert, labelled
from phpdyno.report.words import FEW_ANSWERS, NOTHING, PER_SECOND, count, metric_words, milliseconds, rate, service_words, visible

_MOST_EXCLUSIONS = 6
"""Lines of excluded blocks; the page lists all of them."""


def cost_table(rows: Sequence[Row], php: str) -> RenderableType:
    """What a request or operation cost in either arm, per part, for the rows of one metric: totals
    that describe, without an interval.

    `php` is what PHP's processes are called.
    """
    measured = [(row, row.control, row.treated) for row in rows if row.control is not None and row.treated is not None]
    if not measured:
        return Text("No block was finished, so there are no costs to show.", style="dim")
    loaded = rows[0].metric == "throughput"
    unit = rows[0].unit
    names = (PER_SECOND[unit], "failed", php, "nginx", "database", "host") if loaded else (php, "nginx", "database", "host", "p50", "p99")
    said = (
        f"Valid {unit}s per second, failed {unit}s, and CPU milliseconds per valid {unit}:"
        if loaded
        else f"Milliseconds per {unit}: CPU of each part, service time (median over blocks):"
    )
    lines = [Text(said, style="bold"), Text(f"  {'':<12}" + "".join(f"{name:>9}" for name in names), style="dim")]
    for row, control, treated in measured:
        lines.append(name_of(row))
        for arm, cost in (("control", control), ("treatment", treated)):
            lines.append(Text.assemble((f"  {arm:<12}", "dim"), "".join(f"{each:>9}" for each in _costs(cost, loaded=loaded))))
        for name, ms in control.services_cpu_ms_per_request.items():
            own = milliseconds(treated.services_cpu_ms_per_request.get(name, 0.0))
            lines.append(inert(f"  {service_words(name)}: control {milliseconds(ms)}, treatment {own}"))
        if loaded and (control.failed or treated.failed):
            lines.append(Text(visible(f"  failed: control {failures(control)}; treatment {failures(treated)}"), style="yellow"))
        if row.whole_stack is not None:
            stack = row.whole_stack
            lines.append(Text(f"  {whole_stack_words(php, row)}: {whole_stack_change(stack, row.confidence)}", style="dim"))
    if not loaded and any(None in (cost.service_p50_ms, cost.service_p99_ms) for _, *arms in measured for cost in arms):
        lines.append(Text(f"  {NOTHING}: {FEW_ANSWERS}", style="dim"))
    return Group(*lines)


def calibration(view: RunView) -> RenderableType | None:
    """What the A/A calibration said, per metric; None where the journal holds none (schema 1)."""
    measured = [each for each in view.calibrations if each.sigma_block is not None]
    if not measured:
        return None
    parts: list[RenderableType] = []
    for each in measured:
        parts.append(Text(f"Calibration for {metric_words(each.metric, view.unit)}, the control against itself (A/A):", style="bold"))
        parts.append(labelled((f"  {name}", Text(visible(said), overflow="fold")) for name, said in _calibration(view, each) if said))
    return Group(*parts)


def carry_over(view: RunView) -> RenderableType | None:
    """Effects by slot length, or why none was measured at another one; None where none is to be
    looked at."""
    if not view.carry_over:
        return Text(f"Carry-over: {view.carry_over_missing}", style="dim", overflow="fold") if view.carry_over_missing else None
    lines = [Text("Carry-over: the effect in shorter and longer slots:", style="bold")]
    for check in view.carry_over:
        lines.append(Text(visible(check.treatment), style="bold", overflow="fold"))
        for effect in check.effects:
            slot = f"  {count(effect.slot_requests, view.unit)}{' (the verdict)' if effect.main else ''}"
            lines.append(Text.assemble((f"{slot:<30}", "dim"), carried(effect, check.metric)))
        # A difference is among the warnings, in all its words.
        lines.append(
            Text("  they differ: see the warning below" if check.differs else f"  {check.said}", style="yellow" if check.differs else "dim")
        )
    return Group(*lines)


def notes(view: RunView) -> RenderableType:
    """Warnings, incidents, differing answers and what was left out; says so when there is
    nothing."""
    lines = [("host", warning) for warning in rest_of(view.preflight_warnings)]
    lines += [(metric_words(each.metric, view.unit), each.slot_warning) for each in view.calibrations if each.slot_warning]
    lines += [(label(row), warning) for row in view.rows for warning in row.warnings]
    lines += [(each.arm, f"answers differ: {each.detail}") for each in view.answers if not each.equal]
    for incident in view.incidents:
        place = ", ".join(part for part in (incident.arm, f"block {incident.block + 1}" if incident.block >= 0 else "") if part)
        lines.append((incident.kind, f"{place}: {incident.detail}" if place else incident.detail))
    parts: list[RenderableType] = []
    if lines:
        parts.append(labelled(("!", Text.assemble((visible(about), "yellow"), ": ", visible(said))) for about, said in lines))
    parts += _exclusions(view)
    by_status = [target.path for target in view.targets if target.compared == "status"]
    if by_status:
        parts.append(Text(visible(f"Answers compared by status only, as declared: {', '.join(by_status)}")))
    return Group(*parts) if parts else Text("No warnings, no incidents, nothing excluded.", style="dim")


def scope(view: RunView) -> RenderableType:
    """What the verdicts hold for, and how to repeat them."""
    told = any(each.sigma_block is not None for each in view.calibrations)
    facts = (
        ("scope", view.scope),
        ("host", view.host),
        ("noise", _noise(view)),
        ("slots", "" if told else view.calibration),
        ("repeat", view.repeat),
    )
    return labelled((name, Text(visible(said), overflow="fold")) for name, said in facts if said)


def _costs(cost: ArmCost, *, loaded: bool) -> tuple[str, ...]:
    cpu = (
        cost.php_cpu_ms_per_request,
        cost.nginx_cpu_ms_per_request,
        cost.database_cpu_ms_per_request,
        cost.host_cpu_ms_per_request,
    )
    if loaded:
        return rate(cost.requests_per_s), str(cost.failed), *map(milliseconds, cpu)
    return (*map(milliseconds, cpu), milliseconds(cost.service_p50_ms), milliseconds(cost.service_p99_ms))


def _calibration(view: RunView, each: CalibrationRow) -> list[tuple[str, str]]:
    sigmas = ""
    if each.sigma_pair is not None and each.sigma_start is not None and each.sigma_block is not None:
        pair, start, block = (f"{100 * sigma:.2g} %" for sigma in (each.sigma_pair, each.sigma_start, each.sigma_block))
        sigmas = f"one pair {pair}, a start {start}, so a block about {block} (one standard deviation)"
    return [
        ("slots", f"{count(each.slot_requests, view.unit)}: {each.slot_reason}"),
        ("Allan", _allan(each.allan, view.unit)),
        ("noise", sigmas),
        ("A/A", aa_finding(each.aa) if each.aa is not None else ""),
        ("forecast", forecast(each, margin_of(view, each.metric), view.budget_s)),
        ("instances", each.crews),
    ]


def _allan(points: Sequence[AllanRow], unit: Unit) -> str:
    if len(points) < 2:
        return ""
    curve = ", ".join(f"{point.slot_requests}: {1e3 * point.cost_s:.3g}{' (chosen)' if point.chosen else ''}" for point in points)
    return f"variance × time in ms by {unit}s per slot: {curve}"


def _exclusions(view: RunView) -> list[RenderableType]:
    if not view.exclusions:
        return []
    blocks: dict[tuple[int, str], int] = {}
    for each in view.exclusions:
        blocks[each.block, each.reason] = blocks.get((each.block, each.reason), 0) + 1
    said = f"{count(len(view.exclusions), 'observation')} discarded by a rule fixed in advance, none for being slow:"
    shown = [f"  block {block + 1}: {reason} ({count(number, 'treatment')})" for (block, reason), number in blocks.items()]
    if len(shown) > _MOST_EXCLUSIONS:
        shown = [*shown[: _MOST_EXCLUSIONS - 1], f"  and {len(shown) - _MOST_EXCLUSIONS + 1} more, listed on the page"]
    return [Text(said), *(Text(visible(line), style="dim", overflow="fold") for line in shown)]


def _noise(view: RunView) -> str:
    """Steal and lag of the blocks in one line."""
    if not view.noise:
        return ""
    steal = [point.steal_fraction for point in view.noise]
    lag = [point.lag_fraction for point in view.noise if point.lag_fraction is not None]
    late = f"; the generator late for at most {100 * max(lag):.2g} %" if lag else ""
    return f"steal per block: median {100 * statistics.median(steal):.2g} %, at most {100 * max(steal):.2g} %{late}"


def name_of(row: Row) -> Text:
    """A treatment's name; an A/A arm's leans."""
    return Text(visible(label(row)), style="italic" if row.is_aa else "bold", overflow="fold")
