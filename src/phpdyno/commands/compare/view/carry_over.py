"""The carry-over check: the same effect at other slot lengths, because switching between arms
refills what one of them may save."""

import math
from collections.abc import Sequence
from itertools import combinations

from msgspec.structs import replace

from phpdyno.commands.compare.view.costs import ratio_of
from phpdyno.commands.compare.view.gather import GatheredRecords
from phpdyno.commands.compare.view.measuring import CarriedEffect, CarryOverRow
from phpdyno.commands.compare.view.shape import Row
from phpdyno.commands.compare.view.words import carried
from phpdyno.model.plan import CARRY_OVER_LENGTHS, UNIT, Metric, Unit
from phpdyno.report.words import count, percent
from phpdyno.stats.comparison.sequence import least_blocks


def checked(gathered: GatheredRecords, row: Row) -> tuple[Row, CarryOverRow | None]:
    """A row with its carry-over check, and with a warning where the lengths differ."""
    check = _carry_over(gathered, row)
    if check is None or not check.differs:
        return row, check
    return replace(row, warnings=(*row.warnings, check.said)), check


def not_looked_at(gathered: GatheredRecords, rows: Sequence[Row], checks: Sequence[CarryOverRow]) -> str:
    """Why no effect on CPU was measured at another slot length; '' where one was, or none is to be
    looked at."""
    plan = gathered.plan
    if checks or plan.fixed or plan.trial or not any(row.metric == "cpu" and row.blocks and row.kind != "invalid" for row in rows):
        return ""
    if plan.concurrency > 1:
        return "not looked at: with several requests in flight a slot of one request is none"
    short = ", or an operation is too short for it" if plan.transport == "script" else ""
    slots = f"slots of {' and '.join(map(str, CARRY_OVER_LENGTHS))} {UNIT[plan.transport]}s"
    return f"not looked at: a tenth of the time goes to {slots}, and measuring ended before it was earned{short}"


def _carry_over(gathered: GatheredRecords, row: Row) -> CarryOverRow | None:
    """One treatment's effects by slot length, the verdict's own among them; None when invalid or
    never measured at another length."""
    mine = [record for record in gathered.carried if record.treatment == row.name]
    if row.kind == "invalid" or not mine:
        return None
    observed = [seen.observation for seen in gathered.seen if seen.observation.treatment == row.name]
    excluded = {each.block for each in observed if each.excluded}
    lengths: dict[int, list[float]] = {}
    for record in mine:
        if record.block not in excluded:
            lengths.setdefault(record.slot_requests, []).append(record.log_ratio)
    calibrated = gathered.calibrations.get(row.metric)
    main = calibrated.slot_requests if calibrated is not None else None
    if main is not None:
        # The verdict's own blocks say more about this length than a sample of it would.
        lengths[main] = [each.log_ratio for each in observed if not each.excluded]
    effects = tuple(_effect(gathered, row, slot, values, main=slot == main) for slot, values in sorted(lengths.items()))
    apart = _apart(effects)
    return CarryOverRow(
        treatment=row.name,
        metric=row.metric,
        confidence=1 - gathered.plan.alpha,
        margin=row.margin,
        effects=effects,
        differs=apart is not None,
        said=_said(effects, apart, row.metric, row.unit),
    )


def _effect(gathered: GatheredRecords, row: Row, slot: int, values: list[float], *, main: bool) -> CarriedEffect:
    alpha, mixture = gathered.plan.alpha, gathered.mixture(row.metric)
    found = ratio_of(values, alpha, mixture)
    return CarriedEffect(
        slot_requests=slot,
        main=main,
        ratio=found.ratio if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        log_ratios=tuple(values),
        blocks=len(values),
        blocks_needed=least_blocks(alpha, mixture),
    )


def _apart(effects: tuple[CarriedEffect, ...]) -> tuple[CarriedEffect, CarriedEffect] | None:
    """The two lengths furthest from each other whose intervals do not overlap."""
    pairs = sorted(combinations(effects, 2), key=lambda pair: pair[0].slot_requests / pair[1].slot_requests)
    for first, second in pairs:
        if first.low is None or first.high is None or second.low is None or second.high is None:
            continue
        if first.high < second.low or second.high < first.low:
            return first, second
    return None


def _said(effects: tuple[CarriedEffect, ...], apart: tuple[CarriedEffect, CarriedEffect] | None, metric: Metric, unit: Unit) -> str:
    if apart is not None:
        first, second = apart
        return (
            f"the effect depends on the slot length: {carried(first, metric)} with {count(first.slot_requests, unit)} per slot, "
            f"{carried(second, metric)} with {second.slot_requests}; a site does not switch between arms, so the longer slots are nearer "
            "to it"
        )
    seen = _would_have_shown(effects)
    if seen is None:
        few = min(effects, key=lambda each: each.blocks)
        return (
            f"not looked at: too few blocks ({few.blocks} of at least {few.blocks_needed} with {count(few.slot_requests, unit)} per slot)"
        )
    return f"no sign that the effect depends on the slot length; a difference of {percent(seen)} or more would have shown"


def _would_have_shown(effects: tuple[CarriedEffect, ...]) -> float | None:
    """The least difference of effects, as a fraction, that would have kept the intervals of two
    slot lengths apart; None where no two lengths have an interval."""
    halves = sorted(math.log(each.high / each.low) / 2 for each in effects if each.low is not None and each.high is not None)
    return math.expm1(halves[0] + halves[1]) if len(halves) > 1 else None
