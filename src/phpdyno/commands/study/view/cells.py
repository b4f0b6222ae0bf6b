"""A study's numbers as text: what page and terminal put into their cells. A number without an
interval says so."""

import math
import re

from phpdyno.commands.compare.view.measuring import AaRow, CarriedEffect, CarryOverRow
from phpdyno.commands.compare.view.shape import ArmCost, Ratio
from phpdyno.commands.compare.view.words import waiting
from phpdyno.commands.study.view.shape import ArmFigures, ComparisonFigures, ContrastFigures, StudyView, SweepFigures
from phpdyno.report.words import NOTHING, count, digits_for, milliseconds, percent

METRIC = {"cpu": "CPU per request", "throughput": "throughput"}
_DIGEST = re.compile(r"[0-9a-f]{12,}")
_FORMS = {"502": ("(502)",), "time-out": ("timed_out", "(504)")}
"""What the names of failures hold that the reference tells apart; a 504 is nginx's word for a
time-out."""


def number(value: float) -> str:
    """Three digits that count, with thousands separated: `5,480`, `82.1`, `0.532`."""
    decimals = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{decimals}f}"


def factor(value: float) -> str:
    """A ratio: `10.5×`, `4.71×`, `1.003×`."""
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 2 else 3
    return f"{value:,.{decimals}f}×"


def ratio(found: Ratio | None) -> str:
    """`4.71× (4.62 to 4.80)`, or that there is no interval."""
    if found is None:
        return "no interval"
    decimals = _decimals(found)
    return f"{found.ratio:,.{decimals}f}× ({found.low:,.{decimals}f} to {found.high:,.{decimals}f})"


def _decimals(found: Ratio) -> int:
    """Enough to tell the ends apart by two digits, and at least what the size of the number
    deserves."""
    size = 3 if found.high < 2 else 2 if found.high < 10 else 1 if found.high < 100 else 0
    width = found.high - found.low
    return min(5, max(size, math.ceil(-math.log10(width)) + 1 if width > 0 else 0))


def per_s(arm: ArmFigures) -> str:
    """Valid completions per second with their interval over the blocks."""
    if arm.per_s is not None:
        decimals = 0 if arm.per_s.high >= 100 else 1 if arm.per_s.high >= 10 else 2
        return f"{arm.per_s.ratio:,.{decimals}f} ({arm.per_s.low:,.{decimals}f} to {arm.per_s.high:,.{decimals}f})"
    if arm.cost is None or arm.cost.requests_per_s is None:
        return NOTHING
    return f"{number(arm.cost.requests_per_s)} (no interval)"


def against_control(arm: ArmFigures) -> str:
    """The arm's ratio to the control, or why there is none."""
    if arm.verdict == "control":
        return "control"
    if arm.verdict == "invalid":
        return f"invalid: {arm.reason}"
    if arm.ratio is None:
        return f"no interval ({arm.blocks} of {arm.blocks_needed} blocks)"
    return ratio(arm.ratio)


def cpu_ratio(arm: ArmFigures) -> str:
    """CPU of PHP per request against the control, as throughput showed it."""
    return "control" if arm.verdict == "control" else NOTHING if arm.verdict == "invalid" else ratio(arm.cpu_ratio)


def busy(share: float | None) -> str:
    """`87 %` of all cores."""
    return NOTHING if share is None else f"{100 * share:.0f} %"


def components(cost: ArmCost | None) -> tuple[str, str, str, str]:
    """Milliseconds of CPU per valid request: php-fpm, nginx, database, whole host."""
    if cost is None:
        return (NOTHING,) * 4
    database = milliseconds(cost.database_cpu_ms_per_request) if cost.database_cpu_ms_per_request else "none"
    return (
        milliseconds(cost.php_cpu_ms_per_request),
        milliseconds(cost.nginx_cpu_ms_per_request),
        database,
        milliseconds(cost.host_cpu_ms_per_request),
    )


def failed(cost: ArmCost | None) -> tuple[str, str, str, str]:
    """Requests, and of those without a valid answer: 502s, time-outs, others."""
    if cost is None:
        return (NOTHING,) * 4
    counted = {
        form: sum(count for kind, count in cost.failures.items() if any(mark in kind for mark in marks)) for form, marks in _FORMS.items()
    }
    rest = cost.failed - sum(counted.values())
    return f"{cost.requests:,}", f"{counted['502']:,}", f"{counted['time-out']:,}", f"{rest:,}"


def load(comparison: ComparisonFigures) -> str:
    """Workers and requests in flight in words."""
    workers = "1 worker" if comparison.workers == 1 else f"{comparison.workers} static workers"
    if comparison.burst:
        return f"{workers}, bursts of {comparison.slot_requests:,} requests"
    flight = f"{workers}, {comparison.concurrency} request{'s' if comparison.concurrency > 1 else ''} in flight"
    return f"{flight}, {comparison.slot_requests:,} in a slot" if comparison.metric == "throughput" and comparison.slot_requests else flight


def heading(comparison: ComparisonFigures) -> str:
    """`symfony-hello 5.4.23: throughput, 100 static workers, 100 requests in flight, 500 in a
    slot`."""
    return f"{app_words(comparison)}: {METRIC[comparison.metric]}, {load(comparison)}"


def aa_words(comparison: ComparisonFigures) -> str:
    """What the control against itself showed before the first block; '' where it was not
    measured."""
    return f"The control against itself (A/A): {_aa(comparison.aa)}" if comparison.aa else ""


def _aa(aa: AaRow) -> str:
    """Where its blocks lie, while there is no interval."""
    if aa.ratio is None or aa.low is None or aa.high is None:
        ratios = [math.exp(value) for value in aa.log_ratios]
        return f"single blocks from {min(ratios):.3f} to {max(ratios):.3f}; {waiting(aa)}"
    value, ends = _plain(Ratio(aa.ratio, aa.low, aa.high))
    return f"control / control {value} ({percent(aa.confidence)} CI {ends}, {count(aa.blocks, 'block')})"


def _carried(effect: CarriedEffect) -> str:
    if effect.ratio is None or effect.low is None or effect.high is None:
        return waiting(effect)
    value, ends = _plain(Ratio(effect.ratio, effect.low, effect.high))
    return f"{value} ({ends}, {count(effect.blocks, 'block')})"


def _plain(found: Ratio) -> tuple[str, str]:
    """`1.073` and `1.062 to 1.084`."""
    decimals = digits_for(found.low, found.high)
    return f"{found.ratio:.{decimals}f}", f"{found.low:.{decimals}f} to {found.high:.{decimals}f}"


def carry_over_lines(comparison: ComparisonFigures) -> list[tuple[str, str]]:
    """Arms that were measured at several slot lengths, each with its effects and what follows."""
    return [(arm.arm, _by_length(arm.carry_over)) for arm in comparison.arms if arm.carry_over is not None]


def _by_length(check: CarryOverRow) -> str:
    lengths = (f"{count(each.slot_requests, 'request')}{' (the verdict)' if each.main else ''} {_carried(each)}" for each in check.effects)
    # A difference is among the warnings, in all its words.
    return f"{'; '.join(lengths)}: {'they differ, see the warning' if check.differs else check.said}"


def warning_lines(comparison: ComparisonFigures) -> list[tuple[str, str]]:
    """What casts doubt on an effect, with its arm."""
    return [(arm.arm, warning) for arm in comparison.arms for warning in arm.warnings]


def app_words(part: ComparisonFigures | SweepFigures) -> str:
    """The app with its version, which for files of one's own is a digest that says nothing to a
    reader."""
    version = "" if _DIGEST.fullmatch(part.app_version) else part.app_version
    return f"{part.app} {version}".strip()


def reference_per_s(view: StudyView, arm: str) -> str:
    """The reference's requests per second for an arm, with its remark."""
    if view.reference is None:
        return NOTHING
    said = [number(view.reference.throughput_per_s[arm])] if arm in view.reference.throughput_per_s else []
    said += [f"CPU {busy(view.reference.host_busy[arm])}"] if arm in view.reference.host_busy else []
    said += [view.reference.remarks[arm]] if arm in view.reference.remarks else []
    return "; ".join(said) or NOTHING


def contrast_cells(view: StudyView) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Head and rows of the contrasts: the reference's column first, where there is one, then one
    per app and metric."""
    columns = list(dict.fromkeys((each.app, each.metric) for each in view.contrasts))
    reference = ("reference, throughput",) if view.reference else ()
    head = ("how many times better", *reference, *(f"{app}, {METRIC[metric]}" for app, metric in columns))
    rows = []
    for title in dict.fromkeys(each.title for each in view.contrasts):
        mine = {(each.app, each.metric): each for each in view.contrasts if each.title == title}
        theirs = next((each.reference for each in mine.values() if each.reference is not None), None)
        beside = (NOTHING if theirs is None else factor(theirs),) if view.reference else ()
        rows.append((title, *beside, *(_ours(mine.get(column)) for column in columns)))
    return head, tuple(rows)


def _ours(contrast: ContrastFigures | None) -> str:
    return NOTHING if contrast is None else ratio(contrast.ours)


def share(value: float) -> str:
    """`12 %`."""
    return percent(round(value, 3))
