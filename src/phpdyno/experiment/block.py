"""One block: the scheduled pairs on one set of live instances, reduced to one observation per treatment."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from phpdyno.experiment.schedule import Pair
from phpdyno.experiment.slot import Lane, SharedMeters, SlotReading, measure_slot, service_ns
from phpdyno.host.clock import read_host_cpu, steal_fraction
from phpdyno.model.observation import Cost, Observation
from phpdyno.stats.block import estimate_block
from phpdyno.stats.percentile import percentile


class PairReading(Struct, frozen=True):
    """Both slots of one pair."""

    pair: Pair
    control: SlotReading
    treated: SlotReading


class BlockReading(Struct, frozen=True):
    """All pairs of a block that were completed, and which arm failed how (`failed`: arm name to words)."""

    pairs: tuple[PairReading, ...]
    failed: Mapping[str, str]
    steal_fraction: float


def measure_block(
    schedule: Sequence[Pair], *, control: Lane, treatments: Mapping[str, Lane], shared: SharedMeters, tick: Callable[[float], None]
) -> BlockReading:
    """Measure the pairs in order; `tick` is told the fraction done. An arm whose request fails is driven no further in this block."""
    for lane in (control, *treatments.values()):
        lane.begin()
    before = read_host_cpu()
    done: list[PairReading] = []
    failed: dict[str, str] = {}
    for position, pair in enumerate(schedule):
        if pair.treatment in failed:
            continue
        lanes = (control, treatments[pair.treatment]) if pair.control_first else (treatments[pair.treatment], control)
        if pair.opens:
            for lane in lanes:
                # Discarded: one request per worker warms what an idle spell cooled; a failure shows again in the pair itself.
                measure_slot(lane, shared, pair.sequence[: lane.driver.concurrency])
        first, second = (measure_slot(lane, shared, pair.sequence) for lane in lanes)
        reading = PairReading(pair, first, second) if pair.control_first else PairReading(pair, second, first)
        if reading.control.failure:
            failed[control.instance.arm.name] = reading.control.failure
            break
        if reading.treated.failure:
            failed[pair.treatment] = reading.treated.failure
        else:
            done.append(reading)
        tick((position + 1) / len(schedule))
    return BlockReading(tuple(done), failed, steal_fraction(before, read_host_cpu()))


def observe(block: int, treatment: str, reading: BlockReading, *, max_steal: float, failure: str) -> Observation | None:
    """The observation of one treatment, excluded where a covariate declared beforehand says so; None without a completed pair."""
    pairs = [entry for entry in reading.pairs if entry.pair.treatment == treatment]
    if not pairs:
        return None
    estimate = estimate_block([entry.control.php_ns for entry in pairs], [entry.treated.php_ns for entry in pairs])
    excluded = f"failed requests: {failure}" if failure else ""
    if not excluded and reading.steal_fraction > max_steal:
        excluded = f"steal {reading.steal_fraction:.1%}"
    return Observation(
        treatment=treatment,
        block=block,
        log_ratio=estimate.log_ratio,
        clipped_log_ratio=estimate.clipped_log_ratio,
        pair_sigma=estimate.pair_sigma,
        pairs=estimate.pairs,
        control=_cost([entry.control for entry in pairs]),
        treated=_cost([entry.treated for entry in pairs]),
        steal_fraction=reading.steal_fraction,
        excluded=excluded,
    )


def _cost(readings: Sequence[SlotReading]) -> Cost:
    service = np.concatenate([service_ns(reading.samples) for reading in readings])
    return Cost(
        requests=int(service.size),
        php_cpu_ns=sum(reading.php_ns for reading in readings),
        web_cpu_ns=sum(reading.web_ns for reading in readings),
        database_cpu_ns=sum(reading.database_ns for reading in readings),
        host_cpu_ns=sum(reading.host_ns for reading in readings),
        wall_ns=sum(reading.wall_ns for reading in readings),
        service_p50_ns=percentile(service, 50.0),
        service_p99_ns=percentile(service, 99.0),
    )
