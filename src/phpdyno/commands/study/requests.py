"""The parts of a study as the commands that measure them would be asked, at the study's share of
its budgets. Pure."""

import math
from collections.abc import Collection

from phpdyno.commands.compare.run import CompareRequest
from phpdyno.commands.measure.run import MeasureRequest
from phpdyno.model.plan import AppSource
from phpdyno.model.runs.study import Study, StudyComparison, StudyPass, StudySweep, spec_of
from phpdyno.model.runs.sweep import points_of

LEAST_PASS_REQUESTS = 20


def question_of(wanted: Study, comparison: StudyComparison, scale: float) -> CompareRequest:
    """A comparison as `phpdyno compare` asks it. A shorter study gets shorter slots, never below
    one request for each in flight."""
    loaded = comparison.metric == "throughput"
    flight = wanted.load.concurrency if loaded else 1
    slot = comparison.slot_requests
    if slot is not None and loaded and scale < 1:
        slot = min(slot, max(flight, round(slot * scale)))
    return CompareRequest(
        source=AppSource(reference=wanted.apps[comparison.app]),
        control=wanted.control_spec(comparison),
        treatments=tuple(wanted.treatment_spec(comparison, name) for name in comparison.treatments),
        metric=comparison.metric,
        margin=comparison.margin,
        confidence=wanted.confidence,
        budget_s=comparison.budget_s * scale,
        seed=wanted.seed,
        concurrency=flight,
        slot_requests=slot,
        settle=comparison.settle,
    )


def sweep_question(wanted: Study, sweep: StudySweep, scale: float) -> MeasureRequest:
    """A sweep as `phpdyno measure` asks it, with all its arms."""
    control, *others = (spec_of(wanted.arm(name).settings) for name in sweep.arms)
    return MeasureRequest(
        source=AppSource(reference=wanted.apps[sweep.app]),
        control=control,
        others=tuple(others),
        points=points_of(sweep.concurrency, sweep.open_share),
        budget_s=sweep.budget_s * scale,
        confidence=wanted.confidence,
        seed=wanted.seed,
    )


def pass_requests(wanted: StudyPass, scale: float) -> int:
    """Requests of a syscall pass; fewer in a shorter study, which changes no count per request that
    is the same at every request."""
    return wanted.requests if scale >= 1 else min(wanted.requests, max(LEAST_PASS_REQUESTS, round(wanted.requests * scale)))


def enough(study: Study, name: str, selected: Collection[str], scale: float, enough_s: float) -> str:
    """Which budget of a study of the `selected` parts gives this comparison or sweep `enough_s`
    seconds, and which of its own does.

    A longer study has longer slots as well, up to the file's.
    """
    sweep = next((each for each in study.sweeps if each.name == name), None)
    if sweep is not None:
        total_s = math.ceil(enough_s / sweep.budget_s * study.budget_of(selected))
        own = f"budget_s = {math.ceil(enough_s)} for this sweep"
        return f"start a study with --budget {total_s}s at least, or with {own}, or with fewer loads or arms"
    comparison = next(each for each in study.comparisons if each.name == name)
    slot, full = question_of(study, comparison, scale).slot_requests, comparison.slot_requests
    own_s = math.ceil(enough_s * full / slot if full and slot else enough_s)
    total_s = math.ceil(own_s / comparison.budget_s * study.budget_of(selected))
    return f"start a study with --budget {total_s}s at least, or with budget_s = {own_s} for this comparison, or with fewer treatments"
