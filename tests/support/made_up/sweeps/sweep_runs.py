"""Whole sweeps made up for tests of reports: plausible numbers that nobody measured, from a
seed."""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import structs

from phpdyno.journal.sweep import SWEEP_SCHEMA, CrossChecked, Limited, Sweep, SweepEnded, SweepHeader, SweepHost, SweepRecord, Visited
from phpdyno.model.arm import Arm
from phpdyno.model.runs.readings import PoolMemory, PoolStatus, QueueLevels
from phpdyno.model.runs.sweep import Point, SweepPlan, Visit, VisitCpu, points_of
from phpdyno.model.workload import Target, Workload
from tests.support.made_up.journals import preflight
from tests.support.made_up.sweeps.sweeps import arm, plan_of, times_of

LOADS = (1, 3, 5, 10, 20, 30, 40, 50)
STATIC = "pool.pm=static;pool.pm.max_children=10"
TWO_TARGETS = Workload((Target("/", 3.0), Target("/feed/", 1.0)), "synthetic.test")
ARGV = ("phpdyno", "measure", "hello", "--budget", "2m")
TOP_PER_S = 1800.0


def pools() -> tuple[Arm, ...]:
    """The distribution's pool and a static one."""
    return arm("default", {"pool.pm": "dynamic", "pool.pm.max_children": "5"}), arm(
        STATIC, {"pool.pm": "static", "pool.pm.max_children": "10"}
    )


def sweep_plan(arms: Sequence[Arm] = (), points: Sequence[Point] = (), *, workload: Workload = TWO_TARGETS) -> SweepPlan:
    """A plan of two pools over the references' loads and an open loop."""
    made = plan_of(tuple(arms) or pools(), tuple(points) or points_of(LOADS, 0.7), budget_s=120.0)
    return structs.replace(made, workload=workload)


def made_visit(plan: SweepPlan, of: Arm, point: Point, number: int, *, reached: int = 0, failed: int = 0, excluded: str = "") -> Visit:
    """One visit: throughput saturates at two in flight, times follow from it, a queue builds up
    beyond the workers."""
    index = plan.points.index(point)
    rng = np.random.default_rng([11, number, index, plan.arms.index(of)])
    opened = point.open_share > 0
    workers = int(of.settings.get("pool.pm.max_children", "1"))
    flight = 1.4 if opened else float(point.concurrency)
    rate = (0.7 * TOP_PER_S if opened else TOP_PER_S * (1.0 - math.exp(-flight / 0.6))) * math.exp(rng.normal(0.0, 0.01))
    requests = max(20 * point.concurrency, int(rate))
    valid = requests - failed
    drive_ns = int(requests / rate * 1e9)
    mean_ns = flight / rate * 1e9
    times = rng.gamma(4.0, mean_ns / 4.0, valid).astype(np.int64) + 50_000
    split = valid * 3 // 4
    waiting = max(0.0, flight - workers)
    return Visit(
        arm=of.name,
        point=point,
        round=number,
        requests=requests,
        valid=valid,
        drive_ns=drive_ns,
        cpu=VisitCpu(
            php_ns=int(0.55e6 * requests * math.exp(rng.normal(0.0, 0.005))),
            generator_ns=int(0.05e6 * requests),
            web_ns=int(0.08e6 * requests),
            php_cores_ns=int(min(0.99, 0.56e6 * rate / 1e9) * drive_ns),
            helper_cores_ns=int(0.4 * drive_ns),
            stolen_ns=1_000_000,
            network_ns=20_000_000,
            network_apart=False,
            wall_ns=drive_ns,
        ),
        times=(times_of(times[:split].tolist()), times_of(times[split:].tolist(), 1))
        if len(plan.workload.targets) > 1
        else (times_of(times.tolist()),),
        rate_per_s=0.7 * TOP_PER_S if opened else 0.0,
        kinds={"timed_out": failed // 3, "wrong_status (502)": failed - failed // 3} if failed else {},
        status=PoolStatus(requests, 0, 0, 0, 0, workers, workers, min(workers, max(1, int(flight))), reached, 0),
        queue=QueueLevels(10, 0, int(waiting), waiting, 0.9 if waiting else 0.0, 0.0, 511),
        memory=memory_of(workers) if point.concurrency == max(LOADS) and not opened else None,
        busy_workers=min(float(workers), flight),
        lag_fraction=0.01,
        lag_p99_ns=20_000 if opened else 0,
        queued=3 if opened else 0,
        excluded=excluded,
    )


def memory_of(workers: int) -> PoolMemory:
    """So many workers with 3 MiB of their own each and 20 MiB in shared memory."""
    return PoolMemory(workers, 20480 + 3072 * workers, 3072 + 20480 / workers, 3072.0, 20480, 8000)


def visits(plan: SweepPlan, rounds: int, *, failing: int = 0, stolen: bool = False) -> tuple[Visit, ...]:
    """Whole rounds; `failing` requests fail in each visit of the largest closed load, and one visit
    of round 2 was `stolen` from."""
    made = []
    for number in range(1, rounds + 1):
        for of in plan.arms:
            reached = 0
            for point in plan.points:
                crowded = not point.open_share and point.concurrency > 5
                reached += crowded
                failed = failing if point.concurrency == max(LOADS) and not point.open_share else 0
                excluded = "steal 12.0%" if stolen and number == 2 and point.concurrency == 3 else ""
                made.append(made_visit(plan, of, point, number, reached=reached, failed=failed, excluded=excluded))
    return tuple(made)


def sweep_of(plan: SweepPlan, held: Sequence[Visit], *, warnings: tuple[str, ...] = (), ends: Sequence[SweepEnded] = ()) -> Sweep:
    """A sweep as its record would be read."""
    return Sweep(
        header=header(plan),
        hosts=(SweepHost(preflight().host, warnings),),
        facts={},
        lengths=None,
        visits=tuple(held),
        unfinished=0,
        cross_checks=(),
        ends=tuple(ends),
        spent_s=96.0,
    )


def header(plan: SweepPlan) -> SweepHeader:
    """The first line of its record."""
    return SweepHeader(SWEEP_SCHEMA, "0.1.0", "2026-01-02T03:04:05+0000", ARGV, plan)


def full_sweep() -> Sweep:
    """Five rounds of two pools: an open loop, failures, an excluded visit, both rivals, a
    warning."""
    plan = sweep_plan()
    held = sweep_of(plan, visits(plan, 5, failing=3, stolen=True), warnings=("load average 1.4: something else is running",), ends=(ENDED,))
    checks = (
        CrossChecked("wrk", "default", 10, (0.98, 0.99, 1.01, 1.0, 0.97, 1.02)),
        CrossChecked("ab", "default", 10, (), detail="it reports 12 failed requests"),
    )
    return structs.replace(held, cross_checks=checks)


def short_sweep() -> Sweep:
    """Two rounds of one pool without an open loop, interrupted: no interval anywhere."""
    plan = sweep_plan((pools()[0],), points_of((1, 5, 50)), workload=Workload((Target("/"),)))
    return sweep_of(plan, visits(plan, 2), ends=(SweepEnded("interrupted", "SIGINT", 31.0),))


def empty_sweep() -> Sweep:
    """Begun, and no round finished."""
    return sweep_of(sweep_plan(), ())


def records_of(sweep: Sweep) -> list[SweepRecord]:
    """The lines that a sweep would be read from."""
    lines: list[SweepRecord] = [sweep.header, *sweep.hosts]
    lines += [Visited(visit, float(number)) for number, visit in enumerate(sweep.visits, 1)]
    lines += [Limited(arm, point, found) for (arm, point), found in sweep.limits.items()]
    return [*lines, *sweep.cross_checks, *sweep.ends]


ENDED = SweepEnded("finished", "", 96.0)
