"""One block: the scheduled pairs on one set of live instances, reduced to one observation per
treatment."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from msgspec import Struct, structs

from phpdyno.drive.driver import GIVEN_UP, in_words
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters, SlotReading, measure_slot, service_ns
from phpdyno.experiment.comparison.schedule import Pair
from phpdyno.host.clock import read_each, stolen_over
from phpdyno.model.observation import Cost, Observation
from phpdyno.model.plan import ExclusionLimits, Metric, Plan
from phpdyno.stats.comparison.block import BlockEstimate, estimate_block
from phpdyno.stats.exact import share_interval
from phpdyno.stats.percentile import percentile

CONTROL = ""
"""The control's key among the treatments' names."""
NOTHING: Mapping[str, int] = MappingProxyType({})
FAILS_MORE = 0.01
"""A block in which a treatment is certain to fail more often than twice the control's share and
this is a failed block of it."""
CERTAIN = 0.001
"""Error probability of that. Failures come in bursts, so they are no independent trials; it takes
several such blocks to matter."""


class PairReading(Struct, frozen=True):
    """Both slots of one pair."""

    pair: Pair
    control: SlotReading
    treated: SlotReading


class BlockReading(Struct, frozen=True):
    """All pairs of a block that were completed, and which arm failed how (`failed`: arm name to
    words).

    `clock_step_s` is by how much the clock of the day moved against the one that we measure with;
    `worker_kib` what one worker held for itself at the end, by treatment, the control's under
    CONTROL.
    """

    pairs: tuple[PairReading, ...]
    failed: Mapping[str, str]
    steal_fraction: float
    clock_step_s: float = 0.0
    worker_kib: Mapping[str, int] = NOTHING

    def of(self, treatment: str) -> list[PairReading]:
        """The pairs of one treatment."""
        return [entry for entry in self.pairs if entry.pair.treatment == treatment]


def measure_block(
    schedule: Sequence[Pair],
    *,
    control: DrivenInstance,
    treatments: Mapping[str, DrivenInstance],
    shared: SharedMeters,
    metric: Metric = "cpu",
    cores: Sequence[int] = (),
    tick: Callable[[], None],
) -> BlockReading:
    """Measure the pairs in order; steal is that of those `cores` that have work.

    An arm that fails (a request, for CPU; all requests of a slot, or a server that hangs, for
    throughput) is driven no further. For throughput a treatment that fails far more often than the
    control has failed too: it answers another mix, the cheap part of it.
    """
    for driven in (control, *treatments.values()):
        driven.begin()
    before, offset_ns = read_each(cores=cores), _clock_offset_ns()
    done: list[PairReading] = []
    failed: dict[str, str] = {}
    for pair in schedule:
        if pair.treatment in failed:
            continue
        driven_instances = (control, treatments[pair.treatment]) if pair.control_first else (treatments[pair.treatment], control)
        for turn in pair.opening:
            for driven in driven_instances:
                # Warms what an idle spell cooled; a failure shows again in the pair itself.
                measure_slot(driven, shared, turn)
        first, second = (measure_slot(driven, shared, pair.sequence) for driven in driven_instances)
        reading = PairReading(pair, first, second) if pair.control_first else PairReading(pair, second, first)
        if slot_failed(reading.control, metric):
            failed[control.instance.arm.name] = in_words(reading.control.failures)
            break
        if slot_failed(reading.treated, metric):
            failed[pair.treatment] = in_words(reading.treated.failures)
        else:
            done.append(reading)
        tick()
    if metric == "throughput" and control.instance.arm.name not in failed:
        told = {name: fails_more([entry for entry in done if entry.pair.treatment == name]) for name in treatments if name not in failed}
        failed |= {name: words for name, words in told.items() if words}
    step_s = (_clock_offset_ns() - offset_ns) / 1e9
    steal = stolen_over(before, read_each(cores=cores))
    # Half a millisecond for each worker, after the last slot.
    held = {name: driven.instance.worker_kib() for name, driven in {CONTROL: control, **treatments}.items()}
    return BlockReading(tuple(done), failed, steal, step_s, {name: kib for name, kib in held.items() if kib is not None})


def slot_failed(reading: SlotReading, metric: Metric) -> bool:
    """Whether a slot ends its arm's part: by one failure where CPU is measured; under load by no
    valid answer at all, or by requests that were given up."""
    return reading.failures.total() > 0 if metric == "cpu" else reading.valid == 0 or GIVEN_UP in reading.failures


def fails_more(pairs: Sequence[PairReading]) -> str:
    """How many requests of a treatment got no valid answer, where that is certain to be more than
    the control can explain; else ''."""
    sides = ([entry.control for entry in pairs], [entry.treated for entry in pairs])
    (before, of_before), (failed, of) = ((_failures(side), _requests(side)) for side in sides)
    if not failed:
        return ""
    least, _ = share_interval(failed.total(), of, CERTAIN)
    _, most_before = share_interval(before.total(), of_before, CERTAIN)
    if least <= 2 * most_before + FAILS_MORE:
        return ""
    return f"{failed.total()} of {of} ({in_words(failed)}), and of the control's {before.total()} of {of_before}"


def _failures(slots: Sequence[SlotReading]) -> Counter[str]:
    return sum((slot.failures for slot in slots), Counter())


def _requests(slots: Sequence[SlotReading]) -> int:
    return sum(int(slot.samples.outcome.size) for slot in slots)


def _clock_offset_ns() -> int:
    return time.time_ns() - time.monotonic_ns()


def estimate_pairs(pairs: Sequence[PairReading], metric: Metric) -> BlockEstimate:
    """The estimate over some pairs of one treatment by its metric. Raises ValueError as
    `estimate_block` does.

    Throughput is valid completions over time, both in total; the mean over slots, where a slot with
    few valid answers would weigh as if it had been long, serves for the spread and for what
    clipping would change.
    """
    found = estimate_block([entry.control.cost_ns(metric) for entry in pairs], [entry.treated.cost_ns(metric) for entry in pairs])
    if metric == "cpu":
        return found
    sides = ([entry.control for entry in pairs], [entry.treated for entry in pairs])
    control, treated = (sum(slot.drive_ns for slot in side) / sum(slot.valid for slot in side) for side in sides)
    log_ratio = math.log(control / treated)
    return structs.replace(found, log_ratio=log_ratio, clipped_log_ratio=log_ratio + found.clipped_log_ratio - found.log_ratio)


def is_measurable(pairs: Sequence[PairReading], metric: Metric) -> bool:
    """Whether there is anything to compare: a cost on either side. A mix may hold static files,
    which cost PHP nothing. A slot never costs less than nothing, unless a thread ended in it whose
    CPU no control group has kept."""
    sides = [e.control.cost_ns(metric) for e in pairs], [e.treated.cost_ns(metric) for e in pairs]
    return all(sum(slots) > 0.0 and min(slots) >= 0.0 for slots in sides)


def observe(block: int, treatment: str, reading: BlockReading, *, plan: Plan, metric: Metric, failure: str = "") -> Observation | None:
    """The observation of one treatment, excluded where a covariate declared beforehand says so;
    None where nothing can be compared."""
    pairs = reading.of(treatment)
    if not is_measurable(pairs, metric):
        return None
    estimate = estimate_pairs(pairs, metric)
    lag = lag_fraction(pairs)
    return Observation(
        treatment=treatment,
        block=block,
        log_ratio=estimate.log_ratio,
        clipped_log_ratio=estimate.clipped_log_ratio,
        pair_sigma=estimate.pair_sigma,
        pairs=estimate.pairs,
        control=_cost([entry.control for entry in pairs], reading.worker_kib.get(CONTROL)),
        treated=_cost([entry.treated for entry in pairs], reading.worker_kib.get(treatment)),
        steal_fraction=reading.steal_fraction,
        lag_fraction=lag,
        pair_spread=estimate.spread,
        excluded=excluded_for(plan.limits_of(metric), failure, reading.steal_fraction, lag),
    )


def lag_fraction(pairs: Sequence[PairReading]) -> float:
    """Share of the driving in which requests that should have been in flight were not: the
    generator kept the server waiting."""
    return unfilled_share(slot for entry in pairs for slot in (entry.control, entry.treated))


def unfilled_share(slots: Iterable[SlotReading]) -> float:
    """The same of some slots; one with failures, which have no end, says nothing."""
    whole = [slot for slot in slots if not slot.failures]
    unfilled = sum(slot.unfilled_ns for slot in whole)
    filled = sum(int(service_ns(slot.samples).sum()) for slot in whole)
    return unfilled / (unfilled + filled) if unfilled + filled else 0.0


def excluded_for(limits: ExclusionLimits, failure: str, steal: float, lag: float) -> str:
    """The covariate, declared beforehand, for which figures do not count; '' when they do."""
    if failure:
        return f"failed requests: {failure}"
    if steal > limits.steal:
        return f"steal {steal:.1%}"
    return late(lag) if lag > limits.lag else ""


def late(lag: float) -> str:
    """The generator's lag as a reason for exclusion."""
    return f"generator late for {lag:.1%}"


def _cost(readings: Sequence[SlotReading], worker_kib: int | None) -> Cost:
    valid = np.concatenate([service_ns(reading.samples)[reading.samples.outcome == 0] for reading in readings])
    kinds = _failures(readings)
    return Cost(
        requests=_requests(readings),
        php_cpu_ns=sum(reading.php_ns for reading in readings),
        web_cpu_ns=sum(reading.web_ns for reading in readings),
        database_cpu_ns=sum(reading.database_ns for reading in readings),
        host_cpu_ns=sum(reading.host_ns for reading in readings),
        wall_ns=sum(reading.wall_ns for reading in readings),
        service_p50_ns=percentile(valid, 50.0),
        service_p99_ns=percentile(valid, 99.0),
        failed=kinds.total(),
        drive_ns=sum(reading.drive_ns for reading in readings),
        kinds=dict(kinds),
        worker_kib=worker_kib,
        generator_ns=sum(reading.generator_ns for reading in readings),
        services_cpu_ns={name: sum(reading.services_ns[name] for reading in readings) for name in readings[0].services_ns},
    )
