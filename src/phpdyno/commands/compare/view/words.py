"""The rows of a comparison in words: verdicts, findings, what an A/A arm shows."""

import math
from collections.abc import Iterable
from typing import get_args

from phpdyno.commands.compare.view.measuring import AaRow, CarriedEffect
from phpdyno.commands.compare.view.shape import ArmCost, ProofRow, Ratio, Row, RunView
from phpdyno.model.plan import Metric, Unit
from phpdyno.model.runs.matrix import Cell
from phpdyno.model.verdict import VerdictKind
from phpdyno.report.words import count, metric_words, percent
from phpdyno.stats.change import Percent, apart, change_of, one, said

Spanned = Row | AaRow | CarriedEffect
"""Whatever has a ratio with an interval."""
MOST_DROPPED = 3
"""Dropped blocks whose reasons are said beside a verdict."""


def sentence(row: Row) -> str:
    """The verdict on one treatment: `NAME: 7.4 % less CPU per request (95 % CI 2.6 to 12.0 %, 21
    blocks): improved, relevant`."""
    return f"{label(row)}: {finding(row)}: {verdict(row)}"


def finding(row: Row) -> str:
    """The middle of the sentence, between the name and the verdict."""
    seen = change(row)
    if row.kind == "invalid":
        return f"no number ({row.reason})" if row.reason else "no number"
    if seen is None:
        return waiting(row)
    told = said(seen, *less_more(row.metric, row.unit), percent(row.confidence), _evidence(row))
    match row.kind:
        case "improved" | "regressed":
            return told
        case "equivalent":
            return f"no effect beyond ±{percent(row.margin)}: {told}"
        case _:
            return f"undecided: {told}"


def change(row: Row) -> Percent | None:
    """The change that the treatment brought; None without an interval."""
    return None if row.kind == "invalid" else change_in(row, row.metric)


def change_in(span: Spanned, metric: Metric) -> Percent | None:
    """The change of a metric that a ratio with an interval says; None without one."""
    if span.ratio is None or span.low is None or span.high is None:
        return None
    return change_of(span.ratio, span.low, span.high, less_is_better=metric == "cpu")


def less_more(metric: Metric, unit: Unit) -> tuple[str, str]:
    """`less CPU per request` and `more CPU per request`; of throughput `fewer requests per
    second`."""
    words = metric_words(metric, unit)
    return ("less " if metric == "cpu" else "fewer ") + words, f"more {words}"


def _evidence(row: Row) -> str:
    """`, 21 blocks; this host, these 5 min, these builds`; over several treatments the confidence
    is the simultaneous one (see `phpdyno.report.words`)."""
    together = f", simultaneous over {row.simultaneous_over} treatments" if row.simultaneous_over > 1 else ""
    within = f"; {row.scope}" if row.scope else ""
    return f"{together}, {count(row.blocks, 'block')}{within}"


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
    seen = change_in(aa, aa.metric)
    if seen is not None:
        value, ends = apart(seen)
        return f"{value} ({percent(aa.confidence)} CI {ends}, {count(aa.blocks, 'block')})"
    found = sorted(block_change(value, aa.metric) for value in aa.log_ratios)
    within = f"single blocks from {one(found[0])} to {one(found[-1])}; " if found else ""
    return f"{within}{waiting(aa)}"


def changed(ratio: float, metric: Metric) -> str:
    """`−7.4 %`: the change that a ratio says, without its interval."""
    return one(block_change(math.log(ratio), metric))


def block_change(log_ratio: float, metric: Metric) -> float:
    """The change of a metric in one block, as a fraction."""
    return math.expm1(-log_ratio if metric == "cpu" else log_ratio)


def carried(effect: CarriedEffect, metric: Metric) -> str:
    """`−6.8 % (−7.7 to −5.9, 21 blocks)`, or why there is no interval."""
    seen = change_in(effect, metric)
    if seen is None:
        return waiting(effect)
    value, ends = apart(seen)
    return f"{value} ({ends}, {count(effect.blocks, 'block')})"


def failures(cost: ArmCost) -> str:
    """`none`, or `12 of 1200 (10 timed_out, 2 wrong_status (502))`."""
    if not cost.failed:
        return "none"
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(cost.failures.items(), key=lambda each: (-each[1], each[0])))
    return f"{cost.failed} of {cost.requests}" + (f" ({kinds})" if kinds else "")


def whole_stack_words(php: str, row: Row) -> str:
    """`php-fpm + nginx + database`, and the services where the app has any."""
    return f"{php} + nginx + database" + (" + services" if row.control is not None and row.control.services_cpu_ms_per_request else "")


def whole_stack_change(stack: Ratio, confidence: float) -> str:
    """The change of the CPU of the whole stack: `−4.8 % (95 % CI −6.0 to −3.5)`."""
    value, ends = apart(change_of(stack.ratio, stack.low, stack.high, less_is_better=True))
    return f"{value} ({percent(confidence)} CI {ends})"


def services_of(rows: Iterable[Row]) -> list[str]:
    """Names of the services that these rows have figures of."""
    costs = (cost for row in rows for cost in (row.control, row.treated) if cost is not None)
    return list(dict.fromkeys(name for cost in costs for name in cost.services_cpu_ms_per_request))
