"""What the calibration found, per metric, as the reports show it. Journals of schema 1 recorded
less: what is missing stays None."""

from typing import get_args

from phpdyno.commands.compare.view.costs import ratio_of
from phpdyno.commands.compare.view.gather import GatheredRecords
from phpdyno.commands.compare.view.measuring import AaRow, AllanRow, CalibrationRow
from phpdyno.journal.records import Calibrated
from phpdyno.model.observation import Observation
from phpdyno.model.plan import REQUESTS_PER_FLIGHT, UNIT, Metric, Plan
from phpdyno.report.words import count, draining, duration, metric_words, percent
from phpdyno.stats.comparison.allocation import MIXTURES
from phpdyno.stats.comparison.sequence import least_blocks

_NS_PER_MS = 1e6

AA_MIXTURE = MIXTURES[-1]
"""g of the interval of the calibration's A/A blocks: the largest, with which four of them are
enough at 95 %. Fixed beforehand: the g of the comparison was chosen by these very blocks, so that
an interval with it would hold less often than it says."""


def calibrations(gathered: GatheredRecords) -> tuple[CalibrationRow, ...]:
    """One entry per metric that was calibrated, CPU first."""
    held = gathered.calibrations
    return tuple(_row(gathered.plan, held[metric]) for metric in get_args(Metric) if metric in held)


def in_words(gathered: GatheredRecords) -> str:
    """Slot length and block size in one line; '' before calibration."""
    several = len(gathered.calibrations) > 1
    unit = UNIT[gathered.plan.transport]
    lines = {found.metric: _line(found) for found in gathered.calibrations.values()}
    return "; ".join(f"{metric_words(metric, unit)}: {line}" if several else line for metric, line in lines.items())


def _line(found: Calibrated) -> str:
    return "; ".join(each for each in (found.note, f"{pairs_of(found.pairs)} per treatment and block") if each)


def _row(plan: Plan, found: Calibrated) -> CalibrationRow:
    measured = found.sigma_block > 0
    return CalibrationRow(
        metric=found.metric,
        slot_requests=found.slot_requests,
        slot_reason=_slot_reason(plan, found),
        slot_warning=_slot_warning(plan, found),
        request_wall_ms=found.request_wall_ns / _NS_PER_MS,
        request_cpu_ms=found.request_cpu_ns / _NS_PER_MS,
        pairs=found.pairs,
        block_s=found.block_s,
        overhead_s=found.overhead_s,
        took_s=found.took_s or None,
        sigma_pair=found.sigma_pair if measured else None,
        sigma_start=found.sigma_start if measured else None,
        sigma_block=found.sigma_block if measured else None,
        mixture=found.mixture,
        blocks=found.blocks if measured else None,
        decidable=found.decidable,
        eta_s=found.eta_s,
        alive=found.alive,
        crews=_instance_sets(found),
        note=found.note,
        allan=tuple(
            AllanRow(each.slot_requests, each.slot_s, each.deviation, each.cost_s, chosen=each.slot_requests == found.slot_requests)
            for each in found.allan
        ),
        aa=aa_row(plan, found),
    )


def _slot_reason(plan: Plan, found: Calibrated) -> str:
    in_flight, asked = _in_flight(plan, found.metric), plan.slot_requests
    if asked == found.slot_requests:
        return "as asked for"
    if asked is not None and in_flight == found.slot_requests:
        return f"one for each of the {in_flight} in flight, the fewest that keep the load; {asked} asked for"
    if in_flight > 1:
        each = f"{found.slot_requests / in_flight:.3g} for each of the {in_flight} in flight"
        return each if _drains(found.slot_requests, in_flight) else f"{each}, so that filling and draining weigh little"
    if found.allan:
        return f"the shortest of {count(len(found.allan), 'length')} tried whose variance × time is about the least"
    return f"from what one {UNIT[plan.transport]} of the control takes"


def _slot_warning(plan: Plan, found: Calibrated) -> str:
    in_flight = _in_flight(plan, found.metric)
    if not _drains(found.slot_requests, in_flight):
        return ""
    held = f"slots of {count(found.slot_requests, UNIT[plan.transport])} with {in_flight} in flight"
    better = f"leave --slot out, or give {REQUESTS_PER_FLIGHT * in_flight} or more"
    return f"{held}: {draining(in_flight, found.slot_requests)}, which can move the ratio; {better}"


def _drains(slot_requests: int, in_flight: int) -> bool:
    """Whether filling and draining weigh much: with several in flight, in a slot of fewer than 20
    for each."""
    return in_flight > 1 and slot_requests < REQUESTS_PER_FLIGHT * in_flight


def _in_flight(plan: Plan, metric: Metric) -> int:
    return next((panel.concurrency for panel in plan.panels() if panel.metric == metric), 1)


def _instance_sets(found: Calibrated) -> str:
    start = f"starting and warming up takes {found.overhead_s:.1f} s of a block"
    if found.sigma_start > 0:
        start += f", and moves an instance by {_two_digits(found.sigma_start)} (one standard deviation)"
    if found.alive > 1:
        return f"{found.alive} sets of instances at a time, each for one block, because starting them together is cheaper; {start}"
    return f"started anew for every block; {start}"


def aa_row(plan: Plan, found: Calibrated) -> AaRow | None:
    """The calibration's A/A blocks as one comparison; None without any that counts."""
    counted = [each for each in found.aa if not each.excluded]
    if not counted:
        return None
    # One comparison of its own: it shares no error probability with the treatments.
    alpha = 1.0 - plan.confidence
    ratio = ratio_of([each.log_ratio for each in counted], alpha, AA_MIXTURE)
    return AaRow(
        metric=found.metric,
        ratio=ratio.ratio if ratio else None,
        low=ratio.low if ratio else None,
        high=ratio.high if ratio else None,
        log_ratios=tuple(each.log_ratio for each in counted),
        blocks=len(counted),
        blocks_needed=least_blocks(alpha, AA_MIXTURE),
        confidence=plan.confidence,
        margin=_margin(plan, found.metric, counted),
    )


def _margin(plan: Plan, metric: Metric, counted: list[Observation]) -> float:
    names = [arm.name for arm in plan.treatments if plan.metric_of(arm.name) == metric]
    return plan.margin_of(names[0] if names else counted[0].treatment)


def pairs_of(pairs: dict[str, int]) -> str:
    """`30 pairs`, `6 to 30 pairs`."""
    fewest, most = min(pairs.values(), default=0), max(pairs.values(), default=0)
    return f"{fewest} to {most} pairs" if fewest < most else count(most, "pair")


def forecast(row: CalibrationRow, margin: float, budget_s: float) -> str:
    """What was promised before the first block: the smallest decidable effect, and when one of the
    margin is decided. '' when nothing."""
    if row.blocks is None:
        return ""
    fitting = f"{count(row.blocks, 'block')} fit in the budget of {duration(budget_s)}"
    smallest = "no effect can be decided in it" if row.decidable is None else f"an effect of {_two_digits(row.decidable)} is decided in it"
    when = "" if row.eta_s is None else f"; one of the margin (±{percent(margin)}) after about {duration(row.eta_s)}"
    return f"{fitting}: {smallest}{when} (9 times in 10)"


def _two_digits(fraction: float) -> str:
    """A forecast knows no more than that."""
    return percent(float(f"{fraction:.2g}"))
