"""The rows of a comparison in words: verdicts, findings, what an A/A arm shows."""

import math
from collections.abc import Iterable
from typing import get_args

from phpdyno.commands.compare.view.measuring import AaRow, CarriedEffect
from phpdyno.commands.compare.view.shape import ArmCost, ProofRow, Row, RunView
from phpdyno.model.plan import Metric
from phpdyno.model.runs.matrix import Cell
from phpdyno.model.verdict import VerdictKind
from phpdyno.report.words import QUOTIENT, count, digits_for, metric_words, percent

Spanned = Row | AaRow | CarriedEffect
"""Whatever has a ratio with an interval."""
MOST_DROPPED = 3
"""Dropped blocks whose reasons are said beside a verdict."""
_MORE: dict[Metric, tuple[str, str]] = {"cpu": ("less", "more"), "throughput": ("more", "fewer")}
"""What improved and what regressed is said to be."""


def sentence(row: Row) -> str:
    """The verdict on one treatment: `NAME: 1.073× less CPU per request (95 % CI 1.062 to 1.084, 21
    blocks): improved, relevant`."""
    return f"{label(row)}: {finding(row)}: {verdict(row)}"


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
    """The rows of each metric that has any, A/A arms first: one scale, one control, one load
    each."""
    held = ordered(rows)
    groups: dict[Metric, tuple[Row, ...]] = {metric: tuple(row for row in held if row.metric == metric) for metric in get_args(Metric)}
    return {metric: group for metric, group in groups.items() if group}


def verdict(row: Row) -> str:
    """`improved, relevant`, with the reason in brackets where there is one and it was not said
    already, and with what was not judged."""
    words = f"{row.kind}, {row.relevance}" if row.relevance else row.kind
    reasons = [each for each in dict.fromkeys((row.reason, row.not_judged)) if each] if row.kind != "invalid" else []
    return f"{words} ({'; '.join(reasons)})" if reasons else words


def tone(row: Row | Cell) -> VerdictKind:
    """The verdict whose colour it has: what is gained in PHP and lost in the whole is no good
    news."""
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
    """`1.073× less`, `4.71× more`; for throughput `1.05× more`, `1.20× fewer`. A regression is
    turned over, so that the factor is above 1.

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
    """`95 % CI 1.062 to 1.084, 21 blocks; this host, these 5 min, these builds`; over several
    treatments the confidence is the simultaneous one (see the module)."""
    together = f", simultaneous over {row.simultaneous_over} treatments" if row.simultaneous_over > 1 else ""
    within = f"; {row.scope}" if row.scope else ""
    return f"{percent(row.confidence)} CI {interval(row)}{together}, {count(row.blocks, 'block')}{within}"


def blocks_words(row: Row) -> str:
    """`14 blocks begun, 12 count, 1 excluded, 1 dropped (block 3: ...)`; '' where all count."""
    if row.blocks_begun is None or row.blocks_begun == row.blocks:
        return ""
    excluded = f", {row.blocks_excluded} excluded" if row.blocks_excluded else ""
    shown = "; ".join(row.blocks_dropped[:MOST_DROPPED]) + ("; …" if len(row.blocks_dropped) > MOST_DROPPED else "")
    lost = f", {len(row.blocks_dropped)} dropped ({shown})" if row.blocks_dropped else ""
    return f"{count(row.blocks_begun, 'block')} begun, {row.blocks} count{excluded}{lost}"


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
    """What the calibration's A/A blocks say of the control against itself: where they lie, while
    there is no interval."""
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


def _outward(row: Spanned) -> tuple[float, float, float] | None:
    """Ratio, low, high; inverted for a regression."""
    if row.ratio is None or row.low is None or row.high is None:
        return None
    if isinstance(row, Row) and row.kind == "regressed":
        return 1 / row.ratio, 1 / row.high, 1 / row.low
    return row.ratio, row.low, row.high
