"""Sweeps made up for unit tests: no server was asked."""

from collections.abc import Sequence

import numpy as np

from phpdyno._native import Histogram
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.runs.sweep import Point, SweepPlan, TargetTimes, Visit, VisitCpu
from phpdyno.model.workload import Target, Workload

MS = 1_000_000
FIVE = Point(5)


def arm(name: str = "control", settings: dict[str, str] | None = None) -> Arm:
    return Arm(name, PhpBuild("/usr/sbin/php-fpm8.2", "8.2.0"), settings or {"pool.pm.max_children": "5"})


def plan_of(arms: Sequence[Arm] = (), points: Sequence[Point] = (Point(1), Point(5)), *, budget_s: float = 60.0) -> SweepPlan:
    return SweepPlan("hello", "1", Workload((Target("/"),)), tuple(arms) or (arm(),), points=tuple(points), budget_s=budget_s)


def times_of(values_ns: Sequence[int], target: int = 0) -> TargetTimes:
    histogram = Histogram()
    histogram.record(np.array(values_ns, dtype=np.uint64))
    times, counts = histogram.counts()
    return TargetTimes(target, tuple(times.tolist()), tuple(counts.tolist()))


def visit(
    number: int = 1,
    *,
    name: str = "control",
    point: Point = FIVE,
    valid: int = 1000,
    failed: int = 0,
    drive_ns: int = 1_000_000_000,
    php_ns: int = 300_000_000,
    cpu: VisitCpu | None = None,
    times: Sequence[TargetTimes] = (),
    excluded: str = "",
) -> Visit:
    return Visit(
        arm=name,
        point=point,
        round=number,
        requests=valid + failed,
        valid=valid,
        drive_ns=drive_ns,
        cpu=cpu or VisitCpu(php_ns=php_ns, generator_ns=20_000_000),
        times=tuple(times),
        kinds={"closed_early": failed} if failed else {},
        excluded=excluded,
    )
