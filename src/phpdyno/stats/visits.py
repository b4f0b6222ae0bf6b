"""Figures of a sweep: each over the rounds of one arm at one point, with an interval from what the
rounds differ by.

A round is an independent draw (fresh instances, its own order of visits), so rounds, never
requests, are what an interval is over: Student's t on the logarithms of the rounds' values
(Student, The Probable Error of a Mean, Biometrika 1908; for ratios and rates by logarithms: Fleming
and Wallace, How not to lie with statistics, CACM 1986), fixed number of rounds, each figure by
itself.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct

from phpdyno._native import Histogram
from phpdyno.model.runs.bottleneck import Load
from phpdyno.model.runs.sweep import Point, TargetTimes, Visit
from phpdyno.stats.service_time import has_beyond
from phpdyno.stats.student import quantile

LEAST_ROUNDS = 3
"""Of two rounds the interval is 12.7 standard errors wide either way at 95 %: it says nothing. Of
three it is 4.3."""
PERCENTS = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
"""What the reports show; which of them a point has answers enough for is `times_at`'s to say."""

_FIGURE = re.compile(r"(?: for)? [\d.]+ ?%")
_LARGEST_LOG = 700.0
"""exp() of more does not fit a float."""

CpuPart = Literal["php", "web", "database", "services", "generator", "network"]
"""Whose CPU: php-fpm, nginx, the database, the load generator, or the kernel in (soft) interrupts
(part of the others' unless apart)."""


class VisitFigure(Struct, frozen=True):
    """A value over `rounds` rounds and its interval; None without one: fewer than 3 rounds, or a
    round whose value was 0."""

    value: float
    low: float | None
    high: float | None
    rounds: int


class Times(NamedTuple):
    """Times of one arm at one point: of all rounds together, and of each one that has any."""

    pooled: Histogram
    rounds: tuple[Histogram, ...]


class VisitTally(Struct, frozen=True):
    """What became of all visits of one arm at one point: `counted` of them count. Requests and
    failures are those of the visits that count; `excluded` says how many others there are, by
    reason, and `failed_apart` how many failed requests are in those."""

    visits: int
    counted: int
    requests: int
    valid: int
    kinds: dict[str, int]
    excluded: dict[str, int]
    failed_apart: int

    @property
    def failed(self) -> int:
        """Requests without a valid answer, in the visits that count."""
        return self.requests - self.valid


# ---- which visits -------------------------------------------------------------------------------


def visits_of(visits: Iterable[Visit], arm: str, point: Point) -> tuple[Visit, ...]:
    """All visits of one arm at one point, excluded ones too, by round: what every function below is
    given."""
    return tuple(sorted((visit for visit in visits if visit.arm == arm and visit.point == point), key=lambda visit: visit.round))


def counting(visits: Sequence[Visit]) -> tuple[Visit, ...]:
    """Those that no covariate declared beforehand excludes."""
    return tuple(visit for visit in visits if not visit.excluded)


def tally(visits: Sequence[Visit]) -> VisitTally:
    """Requests, failures by kind and exclusions of one arm at one point. Reasons lose their figure:
    `steal 12.0%` is a `steal`."""
    counted = counting(visits)
    apart = [visit for visit in visits if visit.excluded]
    kinds: Counter[str] = Counter()
    for visit in counted:
        kinds.update(visit.kinds)
    reasons = Counter(_FIGURE.split(visit.excluded)[0] for visit in apart)
    return VisitTally(
        visits=len(visits),
        counted=len(counted),
        requests=sum(visit.requests for visit in counted),
        valid=sum(visit.valid for visit in counted),
        kinds=dict(kinds),
        excluded=dict(reasons),
        failed_apart=sum(visit.requests - visit.valid for visit in apart),
    )


# ---- figures over the rounds --------------------------------------------------------------------


def figure_of(values: Sequence[float], confidence: float) -> VisitFigure | None:
    """One value per round: their geometric mean and its interval. Values are 0 or more; None
    without any.

    A 0 has no logarithm: with one among them the value is the plain mean, and there is no interval.
    Raises ValueError: a value that is negative or not finite, confidence outside (0, 1).
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence lies between 0 and 1, not at {confidence}")
    if any(not (math.isfinite(value) and value >= 0.0) for value in values):
        raise ValueError("a round's value is a finite number of at least 0")
    n = len(values)
    if not n:
        return None
    if min(values) == 0.0:
        return VisitFigure(math.fsum(values) / n, None, None, n)
    logs = [math.log(value) for value in values]
    mean = math.fsum(logs) / n
    if n < LEAST_ROUNDS:
        return VisitFigure(math.exp(mean), None, None, n)
    sd = math.sqrt(math.fsum((each - mean) ** 2 for each in logs) / (n - 1))
    half = quantile((1.0 + confidence) / 2.0, n - 1) * sd / math.sqrt(n)
    return VisitFigure(math.exp(mean), math.exp(mean - half), _exp(mean + half), n)


def throughput(visits: Sequence[Visit], confidence: float) -> VisitFigure | None:
    """Valid completions per second; failed requests took their part of the time and are not
    completions."""
    return figure_of([throughput_of(visit) for visit in counting(visits)], confidence)


def throughput_of(visit: Visit) -> float:
    """Valid completions per second of one visit; 0 where nothing was driven."""
    return visit.valid * 1e9 / visit.drive_ns if visit.drive_ns > 0 else 0.0


def clean(visits: Sequence[Visit]) -> tuple[Visit, ...]:
    """Those that count and had no failed request: a failed one costs something else."""
    return tuple(visit for visit in counting(visits) if visit.valid and visit.valid == visit.requests)


def cpu_per_request(visits: Sequence[Visit], part: CpuPart, confidence: float) -> VisitFigure | None:
    """CPU nanoseconds per valid request of one component; None where it could not be read or is not
    there.

    Over the clean visits, so a point that always fails some has none.
    """
    values = [(cpu_ns(visit, part), visit.valid) for visit in clean(visits)]
    known = [ns / valid for ns, valid in values if ns is not None]
    return figure_of(known, confidence) if len(known) == len(values) else None


def cpu_ns(visit: Visit, part: CpuPart) -> int | None:
    """One component's CPU over one visit in nanoseconds."""
    cpu = visit.cpu
    parts = {
        "php": cpu.php_ns,
        "web": cpu.web_ns,
        "database": cpu.database_ns,
        "services": sum(cpu.services_ns.values()) if cpu.services_ns else None,
        "generator": cpu.generator_ns,
        "network": cpu.network_ns,
    }
    return parts[part]


def pooled_times(visits: Sequence[Visit], target: int | None = None) -> Histogram:
    """The times of all visits that count in one histogram, of one target or of all."""
    return histogram_of(times for visit in counting(visits) for times in visit.times if target is None or times.target == target)


def times_by_target(visits: Sequence[Visit]) -> dict[int, list[TargetTimes]]:
    """The times of all visits that count, by target: read once, however many targets there are."""
    found: dict[int, list[TargetTimes]] = {}
    for visit in counting(visits):
        for times in visit.times:
            found.setdefault(times.target, []).append(times)
    return found


def histogram_of(times: Iterable[TargetTimes]) -> Histogram:
    """All of these in one histogram."""
    held = list(times)
    if not held:
        return Histogram()
    values = np.concatenate([np.array(each.times_ns, dtype=np.uint64) for each in held])
    return Histogram.from_counts(values, np.concatenate([np.array(each.counts, dtype=np.uint64) for each in held]))


def times_over(visits: Sequence[Visit], target: int | None = None) -> Times:
    """The times of all visits that count, of one target or of all, made into histograms once for
    all percentiles."""
    rounds = (pooled_times((visit,), target) for visit in counting(visits))
    return Times(pooled_times(visits, target), tuple(each for each in rounds if each.count))


def times_at(visits: Sequence[Visit], percent: float, confidence: float, target: int | None = None) -> VisitFigure | None:
    """A percentile in nanoseconds, of one target or of all; see `figure_at`."""
    return figure_at(times_over(visits, target), percent, confidence)


def figure_at(times: Times, percent: float, confidence: float) -> VisitFigure | None:
    """A percentile in nanoseconds: pooled over the rounds, with the interval of the rounds' own
    percentiles.

    None where no answer lies beyond it (100 answers are needed for the 99th): it would be the
    greatest time. Without an interval where a single round is too short in that sense. An interval
    that the pooled value is outside of is widened to hold it. Valid answers only: how many requests
    failed belongs beside it.
    """
    if not has_beyond(times.pooled.count, percent):
        return None
    value = float(times.pooled.percentile(percent))
    if not all(has_beyond(each.count, percent) for each in times.rounds):
        return VisitFigure(value, None, None, len(times.rounds))
    own = figure_of([float(each.percentile(percent)) for each in times.rounds], confidence)
    if own is None or own.low is None or own.high is None:
        return VisitFigure(value, None, None, len(times.rounds))
    return VisitFigure(value, min(own.low, value), max(own.high, value), own.rounds)


def queue_share(visits: Sequence[Visit]) -> float | None:
    """Share of the samples of the listen queue with somebody waiting, over all visits that count;
    None without a sample."""
    seen = [visit.queue for visit in counting(visits) if visit.queue and visit.queue.samples and visit.queue.share is not None]
    samples = sum(each.samples for each in seen)
    return sum((each.share or 0.0) * each.samples for each in seen) / samples if samples else None


def busy_workers(visits: Sequence[Visit]) -> float | None:
    """Mean number of workers at work over the visits that count and that asked for it; None when
    none did."""
    seen = [visit.busy_workers for visit in counting(visits) if visit.busy_workers is not None]
    return math.fsum(seen) / len(seen) if seen else None


def load_over(
    visits: Sequence[Visit], *, workers: int, php_cores: tuple[int, ...], helper_cores: tuple[int, ...], web_beside_php: bool = False
) -> Load | None:
    """The readings of one arm at one closed point over all rounds that count, for
    `find_bottleneck`; None when none does.

    `workers` is how many the pool may have. None for an open loop, too: its generator spins while
    it waits for what is due next, so its core looks full whatever it does. `web_beside_php`: nginx
    ran on PHP's cores, so its time is counted with PHP's.
    """
    counted = [visit for visit in counting(visits) if visit.drive_ns > 0 and not visit.point.open_share]
    if not counted:
        return None
    cpus = [visit.cpu for visit in counted]
    return Load(
        duration_ns=sum(visit.cpu.wall_ns or visit.drive_ns for visit in counted),
        concurrency=counted[0].point.concurrency,
        workers=workers,
        php_cores=php_cores,
        helper_cores=helper_cores,
        php_ns=sum(cpu.php_ns + (cpu.web_ns or 0) * web_beside_php for cpu in cpus),
        generator_ns=sum(cpu.generator_ns for cpu in cpus),
        web_ns=None if web_beside_php else _sum(cpu.web_ns for cpu in cpus),
        database_ns=_sum(cpu.database_ns for cpu in cpus),
        services_ns=sum(ns for cpu in cpus for ns in cpu.services_ns.values()) or None,
        php_cores_ns=_sum(cpu.php_cores_ns for cpu in cpus),
        helper_cores_ns=_sum(cpu.helper_cores_ns for cpu in cpus),
        stolen_ns=_sum(cpu.stolen_ns for cpu in cpus),
        busy_workers=busy_workers(counted),
        queue_share=queue_share(counted),
        network_ns=_sum(cpu.network_ns for cpu in cpus),
        generator_threads=max(visit.threads for visit in counted),
    )


def _sum(values: Iterable[int | None]) -> int | None:
    """None when one of them could not be read."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None


def _exp(power: float) -> float | None:
    """None where it does not fit a float: the interval then says nothing."""
    return math.exp(power) if power < _LARGEST_LOG else None
