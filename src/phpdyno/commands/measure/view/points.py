"""The figures of one arm at one point, from its visits. Pure."""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from phpdyno.commands.measure.view.shape import CpuSplit, Estimate, MemoryRow, PercentileRow, PointRow, QueueRow, TargetPercentiles
from phpdyno.experiment.sweep.limits import web_beside_php
from phpdyno.experiment.sweep.plan import largest
from phpdyno.experiment.sweep.visiting import LATE_OPEN
from phpdyno.model.arm import Arm
from phpdyno.model.facts import HostFacts
from phpdyno.model.runs.bottleneck import Bottleneck
from phpdyno.model.runs.readings import PoolMemory, PoolStatus, QueueLevels
from phpdyno.model.runs.sweep import Point, SweepPlan, TargetTimes, Visit
from phpdyno.report.bottleneck import bottleneck_sentence
from phpdyno.server_files.apache import is_apache
from phpdyno.stats.visits import (
    PERCENTS,
    CpuPart,
    VisitFigure,
    busy_workers,
    clean,
    counting,
    cpu_ns,
    cpu_per_request,
    figure_at,
    figure_of,
    histogram_of,
    tally,
    throughput,
    times_by_target,
    times_over,
)

LEAST_BEYOND = 10
"""Requests beyond a percentile below which it is not shown: the next few would move it."""

_NS_PER_MS = 1e6
_Reading = TypeVar("_Reading")


def point_row(
    plan: SweepPlan,
    arm: Arm,
    point: Point,
    visits: Sequence[Visit],
    *,
    host: HostFacts | None,
    limit: Bottleneck | None,
    reached: int | None = None,
) -> PointRow:
    """All that is shown of one arm at one point; `visits` are its own, excluded ones too. `limit`
    is what limits it there; `reached`: how often it wanted more workers."""
    counted, seen, opened = counting(visits), tally(visits), point.open_share > 0
    names = [target.label for target in plan.workload.targets]
    return PointRow(
        arm=arm.name,
        loop="open" if opened else "closed",
        concurrency=point.concurrency,
        open_share=point.open_share,
        visits=seen.counted,
        excluded=seen.visits - seen.counted,
        requests=seen.requests,
        valid=seen.valid,
        failures=seen.kinds,
        per_s=estimate(throughput(visits, plan.confidence)),
        offered_per_s=statistics.fmean(visit.rate_per_s for visit in counted) if opened and counted else None,
        times="response" if opened else "service",
        percentiles=percentiles(visits, plan.confidence),
        targets=_targets(visits, names) if len(names) > 1 else (),
        cpu=cpu_split(visits, plan.confidence),
        workers_busy=busy_workers(visits),
        max_active=most_active(counted) if point == largest(plan.points) else None,
        children_reached=reached,
        queue=queue_row(_known(counted, lambda visit: visit.queue)),
        memory=memory_row(_known(counted, lambda visit: visit.memory)),
        lag_fraction=max((visit.lag_fraction for visit in counted), default=0.0),
        lag_p99_ms=max(visit.lag_p99_ns for visit in counted) / _NS_PER_MS if opened and counted else None,
        queued=sum(visit.queued for visit in counted),
        late=any(visit.excluded == LATE_OPEN for visit in visits) if opened and visits else None,
        bottleneck=limit.kind if limit else None,
        sentence=_limit_words(plan, arm, limit, host) if limit and host else "",
    )


def _limit_words(plan: SweepPlan, arm: Arm, limit: Bottleneck, host: HostFacts) -> str:
    """What limits throughput, in words: `php` is what runs on PHP's cores."""
    php = "Apache" if is_apache(arm) else "php-fpm with nginx" if web_beside_php(plan, host) else "php-fpm"
    return bottleneck_sentence(limit, php=php)


def estimate(figure: VisitFigure | None, unit: float = 1.0) -> Estimate | None:
    """A figure in another unit: `unit` of its own are one of ours."""
    if figure is None:
        return None
    low, high = (None if end is None else end / unit for end in (figure.low, figure.high))
    # An end that does not fit a float leaves no interval.
    return Estimate(figure.value / unit, low if high is not None else None, high if low is not None else None, figure.rounds)


def percentiles(visits: Sequence[Visit], confidence: float) -> tuple[PercentileRow, ...]:
    """Those that enough requests lie beyond, of all targets together."""
    times = times_over(visits)
    made = []
    for percent in PERCENTS:
        beyond = requests_beyond(times.pooled.count, percent)
        figure = figure_at(times, percent, confidence) if beyond >= LEAST_BEYOND else None
        if (ms := estimate(figure, _NS_PER_MS)) is not None:
            made.append(PercentileRow(percent, ms, beyond))
    return tuple(made)


def requests_beyond(count: int, percent: float) -> int:
    """Requests that lie beyond a percentile of `count`; a hair's breadth for what 99.99 is in
    binary."""
    return math.floor(count * (100.0 - percent) / 100.0 + 1e-6)


def cpu_split(visits: Sequence[Visit], confidence: float) -> CpuSplit | None:
    """CPU per valid request by component; None where php-fpm's is not known."""

    def part(name: CpuPart) -> Estimate | None:
        return estimate(cpu_per_request(visits, name, confidence), _NS_PER_MS)

    php, generator, whole = part("php"), part("generator"), _total(visits, confidence)
    if php is None or generator is None or whole is None:
        return None
    apart = _known(counting(visits), lambda visit: visit.cpu.network_apart)
    return CpuSplit(
        php=php,
        nginx=part("web"),
        database=part("database"),
        services=part("services"),
        generator=generator,
        network=part("network"),
        network_apart=apart[-1] if apart else None,
        total=whole,
    )


def _total(visits: Sequence[Visit], confidence: float) -> Estimate | None:
    """php-fpm, nginx, database, services, and the kernel's network where it is not contained in
    theirs."""
    served: tuple[CpuPart, ...] = ("php", "web", "database", "services")
    values = []
    for visit in clean(visits):
        names: tuple[CpuPart, ...] = (*served, "network") if visit.cpu.network_apart else served
        values.append(sum(cpu_ns(visit, name) or 0 for name in names) / visit.valid)
    return estimate(figure_of(values, confidence), _NS_PER_MS)


def queue_row(seen: Sequence[QueueLevels]) -> QueueRow | None:
    """The samples of all visits as one reading."""
    sampled = [each for each in seen if each.samples]
    samples = sum(each.samples for each in sampled)
    if not samples:
        return None

    def mean(of: Callable[[QueueLevels], float | None]) -> float | None:
        known = [(of(each), each.samples) for each in sampled]
        return sum((value or 0.0) * number for value, number in known) / samples if all(value is not None for value, _ in known) else None

    limits = [each.limit for each in sampled if each.limit is not None]
    return QueueRow(
        samples=samples,
        mean=mean(lambda each: each.mean),
        most=max((each.most for each in sampled if each.most is not None), default=None),
        share=mean(lambda each: each.share),
        full=mean(lambda each: each.full),
        limit=limits[-1] if limits else None,
    )


def memory_row(seen: Sequence[PoolMemory]) -> MemoryRow | None:
    """Medians over the visits."""
    if not seen:
        return None
    return MemoryRow(
        workers=max(each.workers for each in seen),
        pss_worker_kib=_median(each.pss_median_kib for each in seen),
        private_worker_kib=_median(each.private_median_kib for each in seen),
        pss_pool_kib=statistics.median(each.pss_kib for each in seen),
        shared_kib=_median(each.pss_shmem_kib for each in seen),
        master_kib=_median(each.master_kib for each in seen),
        unread=max(each.unread for each in seen),
    )


def children_reached(visits: Sequence[Visit]) -> dict[Point, int]:
    """How much `max children reached` grew in each point's visits, of one arm's visits in the order
    of time.

    php-fpm counts since its start, and every round has a fresh instance, which every other round
    does not ask before its memory was read. What grew in several visits before an answer is none of
    them's; a round's first visit has its warm-up's count as well.
    """
    grown: dict[Point, int] = {}
    before: dict[int, int | None] = {}
    for visit in visits:
        now = visit.status.max_children_reached if visit.status is not None else None
        last = before.get(visit.round, 0)
        if now is not None and last is not None:
            grown[visit.point] = grown.get(visit.point, 0) + max(0, now - last)
        before[visit.round] = now
    return grown


def all_reached(visits: Iterable[Visit]) -> int | None:
    """`max children reached` of all instances together, each as it was when it was asked last; None
    when none was."""
    most: dict[int, int] = {}
    for visit in visits:
        if visit.status is not None:
            most[visit.round] = max(most.get(visit.round, 0), visit.status.max_children_reached)
    return sum(most.values()) if most else None


def most_active(visits: Iterable[Visit]) -> int | None:
    """The most workers that were ever busy at once, as php-fpm counts it since its start."""
    seen: list[PoolStatus] = _known(visits, lambda visit: visit.status)
    return max((status.max_active for status in seen), default=None)


def _targets(visits: Sequence[Visit], names: Sequence[str]) -> tuple[TargetPercentiles, ...]:
    held, rounds = times_by_target(visits), len(counting(visits))
    return tuple(_target(held.get(number, []), name, rounds) for number, name in enumerate(names))


def _target(times: Sequence[TargetTimes], name: str, rounds: int) -> TargetPercentiles:
    pooled = histogram_of(times)
    backed = {percent: requests_beyond(pooled.count, percent) for percent in PERCENTS}
    rows = tuple(
        PercentileRow(percent, Estimate(pooled.percentile(percent) / _NS_PER_MS, None, None, rounds), beyond)
        for percent, beyond in backed.items()
        if beyond >= LEAST_BEYOND
    )
    return TargetPercentiles(name, pooled.count, rows)


def _known(visits: Iterable[Visit], of: Callable[[Visit], _Reading | None]) -> list[_Reading]:
    return [value for value in map(of, visits) if value is not None]


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
