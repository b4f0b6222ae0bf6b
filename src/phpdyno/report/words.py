"""Verdicts, numbers and scopes in words. A ratio is never said without its interval.

"95 % CI, simultaneous over 4 treatments" means: with a probability of at least 95 % all four intervals hold their true values, at every
block at which anyone looks (an anytime-valid sequence for each, at alpha = 5 % / 4). With one treatment the addition falls away.
"""

import math
from collections.abc import Iterable
from typing import get_args

from phpdyno.model.matrix import Cell
from phpdyno.model.plan import Metric, Transport, Unit
from phpdyno.model.verdict import VerdictKind
from phpdyno.report.shape import ArmCost, ProofRow, Row, RunView
from phpdyno.report.shape_measured import AaRow, CarriedEffect

"""What the workload consists of."""

NOTHING = "–"
"""A cell without a figure."""

FEW_ANSWERS = "fewer than 100 valid answers a block: p99 would be the greatest of them"
"""Why a percentile of the service time has no figure."""

PER_SECOND: dict[Unit, str] = {"request": "req/s", "operation": "op/s"}
"""Heads of a column."""

QUOTIENT: dict[Metric, str] = {"cpu": "control / treatment", "throughput": "treatment / control"}
"""The two figures whose quotient is the ratio; above 1 the treatment is better, whichever the metric."""

PHP_NAME: dict[Transport, str] = {"http": "php-fpm", "fastcgi": "php-fpm", "script": "php"}
"""What the arm's PHP processes are called."""

Spanned = Row | AaRow | CarriedEffect
"""Whatever has a ratio with an interval."""

_MORE: dict[Metric, tuple[str, str]] = {"cpu": ("less", "more"), "throughput": ("more", "fewer")}
"""What improved and what regressed is said to be."""

_MOST_DECIMALS = 6


def sentence(row: Row) -> str:
    """The verdict on one treatment: `NAME: 1.073× less CPU per request (95 % CI 1.062 to 1.084, 21 blocks): improved, relevant`."""
    return f"{label(row)}: {finding(row)}: {verdict(row)}"


def metric_words(metric: Metric, unit: Unit) -> str:
    """A metric as it is said: `CPU per request`, `operations per second`."""
    return f"CPU per {unit}" if metric == "cpu" else f"{unit}s per second"


def finding(row: Row) -> str:
    """The middle of the sentence, between the name and the verdict."""
    metric = metric_words(row.metric, row.unit)
    match row.kind:
        case "invalid":
            return f"no number ({row.reason})" if row.reason else "no number"
        case _ if row.ratio is None:
            return waiting(row)
        case "improved" | "regressed":
            return f"{change(row)} {metric} ({evidence(row)})"
        case "equivalent":
            return f"no effect beyond ±{percent(row.margin)} of {metric} ({QUOTIENT[row.metric]} {middle(row)}, {evidence(row)})"
        case _:
            return f"undecided, {QUOTIENT[row.metric]} {middle(row)} ({evidence(row)})"


def sentences(view: RunView) -> tuple[str, ...]:
    """One sentence per treatment, A/A arms first: the last line is a finding."""
    return tuple(row.sentence for row in ordered(view.rows))


def ordered(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows with A/A arms first."""
    return tuple(sorted(rows, key=lambda row: not row.is_aa))


def by_metric(rows: Iterable[Row]) -> dict[Metric, tuple[Row, ...]]:
    """The rows of each metric that has any, A/A arms first: one scale, one control, one load each."""
    held = ordered(rows)
    groups: dict[Metric, tuple[Row, ...]] = {metric: tuple(row for row in held if row.metric == metric) for metric in get_args(Metric)}
    return {metric: group for metric, group in groups.items() if group}


def verdict(row: Row) -> str:
    """`improved, relevant`, with the reason in brackets where there is one and it was not said already."""
    words = f"{row.kind}, {row.relevance}" if row.relevance else row.kind
    return f"{words} ({row.reason})" if row.reason and row.kind != "invalid" else words


def tone(row: Row | Cell) -> VerdictKind:
    """The verdict whose colour it has: what is gained in PHP and lost in the whole is no good news."""
    return "regressed" if row.relevance == "spent elsewhere" else row.kind


def reason(row: Row) -> str:
    """The reason, unless a failed proof, which is shown with its own detail, already says it."""
    return "" if row.kind == "invalid" and any(proof.detail in row.reason for proof in failed_proofs(row)) else row.reason


def failed_proofs(row: Row) -> tuple[ProofRow, ...]:
    """Settings that are not at work. One that is at work in the control as well has not failed."""
    return tuple(proof for proof in row.proofs if not proof.proved and not proof.same_as_control)


def proof_word(proof: ProofRow) -> str:
    """`proved`, `same as the control` or `not proved`."""
    return "proved" if proof.proved else "same as the control" if proof.same_as_control else "not proved"


def label(row: Row) -> str:
    """The treatment's name, marked when it is an A/A arm."""
    return f"{row.name} (A/A)" if row.is_aa and "A/A" not in row.name else row.name


def change(row: Row) -> str:
    """`1.073× less`, `4.71× more`; for throughput `1.05× more`, `1.20× fewer`. A regression is turned over, so that the factor is above 1.

    '' without a direction.
    """
    numbers = _outward(row)
    if numbers is None or row.kind not in {"improved", "regressed"}:
        return ""
    ratio, low, high = numbers
    return f"{ratio:.{digits_for(low, high)}f}× {_MORE[row.metric][row.kind == 'regressed']}"


def middle(row: Spanned) -> str:
    """The ratio as a number, for what has no direction. '' without an interval."""
    numbers = _outward(row)
    return f"{numbers[0]:.{digits_for(numbers[1], numbers[2])}f}" if numbers else ""


def interval(row: Spanned) -> str:
    """`1.062 to 1.084`, on the scale of `change` or `middle`. '' while infinite."""
    numbers = _outward(row)
    if numbers is None:
        return ""
    _, low, high = numbers
    decimals = digits_for(low, high)
    return f"{low:.{decimals}f} to {high:.{decimals}f}"


def evidence(row: Row) -> str:
    """`95 % CI 1.062 to 1.084, 21 blocks`; over several treatments the confidence is the simultaneous one (see the module)."""
    together = f", simultaneous over {row.simultaneous_over} treatments" if row.simultaneous_over > 1 else ""
    return f"{percent(row.confidence)} CI {interval(row)}{together}, {count(row.blocks, 'block')}"


def waiting(row: Spanned) -> str:
    """Why there is no interval yet."""
    if row.blocks >= row.blocks_needed:
        return f"interval too wide to be written ({count(row.blocks, 'block')})"
    return f"interval still infinite: {row.blocks} of at least {row.blocks_needed} blocks"


def aa_of(view: RunView, metric: Metric) -> AaRow | None:
    """The calibration's A/A blocks, unless the plan has an A/A arm, which says it better."""
    if any(row.is_aa and row.kind != "invalid" for row in view.rows if row.metric == metric):
        return None
    return next((each.aa for each in view.calibrations if each.metric == metric), None)


def margin_of(view: RunView, metric: Metric) -> float:
    """The relevance margin of a metric."""
    return next((row.margin for row in view.rows if row.metric == metric), view.margin)


def aa_finding(aa: AaRow) -> str:
    """What the calibration's A/A blocks say of the control against itself: where they lie, while there is no interval."""
    if aa.ratio is None:
        ratios = [math.exp(value) for value in aa.log_ratios]
        return f"single blocks from {min(ratios):.3f} to {max(ratios):.3f}; {waiting(aa)}"
    return f"control / control {middle(aa)} ({percent(aa.confidence)} CI {interval(aa)}, {count(aa.blocks, 'block')})"


def carried(effect: CarriedEffect) -> str:
    """`1.073 (1.062 to 1.084, 21 blocks)`, or why there is no interval."""
    return waiting(effect) if effect.ratio is None else f"{middle(effect)} ({interval(effect)}, {count(effect.blocks, 'block')})"


def failures(cost: ArmCost) -> str:
    """`none`, or `12 of 1200 (10 timed_out, 2 wrong_status (502))`."""
    if not cost.failed:
        return "none"
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(cost.failures.items(), key=lambda each: (-each[1], each[0])))
    return f"{cost.failed} of {cost.requests}" + (f" ({kinds})" if kinds else "")


def whole_stack_words(php: str, row: Row) -> str:
    """`php-fpm + nginx + database`, and the services where the app has any."""
    return f"{php} + nginx + database" + (" + services" if row.control is not None and row.control.services_cpu_ms_per_request else "")


def services_of(rows: Iterable[Row]) -> list[str]:
    """Names of the services that these rows have figures of."""
    costs = (cost for row in rows for cost in (row.control, row.treated) if cost is not None)
    return list(dict.fromkeys(name for cost in costs for name in cost.services_cpu_ms_per_request))


def service_words(name: str) -> str:
    """What the part of a service is called."""
    return f"service {name}"


def drained(in_flight: int, slot: int) -> str:
    """`5 %`: how many of a slot's requests are still under way when its last one is sent."""
    return percent(round(in_flight / slot, 3))


def draining(in_flight: int, slot: int) -> str:
    """The same as the end of a sentence about a slot."""
    return f"{drained(in_flight, slot)} of them end while the slot drains"


def visible(text: str) -> str:
    """Control characters (a hostile server's escape sequences, marks that turn the writing round) are shown instead of being obeyed."""
    return "".join(each if each.isprintable() else " " if each in "\t\r\n" else "�" for each in text)


def shortened(text: str, most: int) -> str:
    """The text, its middle left out when it is longer than `most` characters."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def count(number: int, thing: str) -> str:
    """`1 block`, `2 blocks`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def percent(fraction: float) -> str:
    """`0.05` as `5 %`, with as many digits as it takes and no more."""
    return f"{100 * fraction:.4g} %"


def milliseconds(value: float | None) -> str:
    """Three decimals or more below 10, fewer above: `109.3`, `21.11`, `1.400`, `0.0912`; `–` for none."""
    if value is None:
        return NOTHING
    return f"{value:.{1 if value >= 100 else 2 if value >= 10 else 3 if value >= 0.1 or value == 0 else 4}f}"


def rate(value: float | None) -> str:
    """Requests or operations per second, four digits or the whole number: `0.912`, `31.42`, `982.1`, `12041`; `-` when not recorded."""
    if value is None:
        return "-"
    return f"{value:.{0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 10 else 3}f}"


def duration(seconds: float) -> str:
    """`45 s`, `3 min 20 s`, `1 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def _outward(row: Spanned) -> tuple[float, float, float] | None:
    """Ratio, low, high; inverted for a regression."""
    if row.ratio is None or row.low is None or row.high is None:
        return None
    if isinstance(row, Row) and row.kind == "regressed":
        return 1 / row.ratio, 1 / row.high, 1 / row.low
    return row.ratio, row.low, row.high


def digits_for(low: float, high: float) -> int:
    """Enough to tell the ends apart by two digits, and an end apart from 1; at least what the size of the number deserves."""
    decimals = 3 if high < 2 else 2 if high < 10 else 1 if high < 100 else 0
    if high > low:
        decimals = max(decimals, math.ceil(-math.log10(high - low)) + 1)
    while decimals < _MOST_DECIMALS and any(end != 1 and float(f"{end:.{decimals}f}") == 1 for end in (low, high)):
        decimals += 1
    return min(decimals, _MOST_DECIMALS)
