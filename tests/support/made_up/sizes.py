"""Runs of `size` made up for unit tests: no server was asked."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from phpdyno.commands.size.decision.decide import decide, response_curve
from phpdyno.commands.size.decision.search import next_pool
from phpdyno.commands.size.measuring.confirm import open_load
from phpdyno.commands.size.measuring.pools import PoolLoad, saturating
from phpdyno.commands.size.record import (
    SIZE_FILE,
    LimitsRead,
    ManagerMeasured,
    MemoryStep,
    PoolLimit,
    PoolMeasured,
    Recommended,
    SizeConcluded,
    SizeEnded,
    SizeHeader,
    SizeHost,
    SizeRecord,
    SizeRun,
    TargetMeasured,
)
from phpdyno.commands.size.request import GivenLimits, Objective, SizeRequest
from phpdyno.experiment.common.limits.bottleneck import shares_of
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.plan import AppSource
from phpdyno.model.runs.bottleneck import Bottleneck
from phpdyno.model.runs.bottleneck import Load as CpuLoad
from phpdyno.model.runs.readings import PoolMemory
from phpdyno.model.runs.sweep import Point, Visit, VisitCpu
from phpdyno.model.workload import Target, Workload
from phpdyno.stats.visits import throughput_of
from tests.support.made_up.facts import HOST
from tests.support.made_up.sweeps.sweeps import times_of

Rate = Callable[[int], float]
"""Requests per second with so many in service."""
SECOND = 1_000_000_000
SHARED_KIB, OWN_KIB = 16_000, 1_000


def cpu_bound(cores: int = 2, request_s: float = 0.01) -> Rate:
    """Full cores: more than `cores` in service bring nothing."""
    return lambda busy: min(busy, cores) / request_s


def sleeping(sleep_s: float = 0.02, cpu_s: float = 0.0004) -> Rate:
    """Requests that wait for most of their time, on one core."""
    return lambda busy: min(busy / (sleep_s + cpu_s), 1.0 / cpu_s)


def memory(workers: int, own_kib: int = OWN_KIB) -> PoolMemory:
    return PoolMemory(
        workers=workers,
        pss_kib=SHARED_KIB // 2 + own_kib * workers,
        pss_median_kib=float(own_kib + SHARED_KIB / 2 / workers),
        private_median_kib=float(own_kib),
        pss_shmem_kib=4_000,
        master_kib=SHARED_KIB // 2,
        rss_median_kib=float(own_kib + SHARED_KIB),
    )


def visit(rate: float, load: PoolLoad, *, workers: int, cpu_s: float, noise: float = 0.0, number: int = 1) -> Visit:
    """One visit whose service times scatter about their mean as an exponential does beyond a
    floor."""
    chance = np.random.default_rng(np.random.SeedSequence([number, workers, load.in_flight]))
    rate *= float(np.exp(noise * chance.standard_normal()))
    requests = max(load.requests, 200)
    mean_s = min(load.in_flight, workers) / rate
    times = 0.8 * mean_s + chance.exponential(0.2 * mean_s, requests)
    drive_ns = round(requests / (load.rate_per_s or rate) * SECOND)
    return Visit(
        arm=f"static {workers}",
        point=Point(load.in_flight, 1.0 if load.rate_per_s else 0.0),
        round=number,
        requests=requests,
        valid=requests,
        drive_ns=drive_ns,
        cpu=VisitCpu(php_ns=round(requests * cpu_s * SECOND), generator_ns=1_000_000, wall_ns=drive_ns),
        times=(times_of([max(1, round(each * SECOND)) for each in times]),),
        rate_per_s=load.rate_per_s,
        memory=memory(workers),
    )


def header(asked: SizeRequest | None = None, targets: Sequence[str] = ("/",)) -> SizeHeader:
    return SizeHeader(
        schema=1,
        phpdyno="0.1.0",
        started="2026-01-01T00:00:00+0000",
        argv=("size", "hello"),
        asked=asked or SizeRequest(AppSource("hello")),
        app="hello",
        app_version="1",
        workload=Workload(tuple(Target(each) for each in targets)),
        arm=Arm("static 1", PhpBuild("/usr/sbin/php-fpm8.2", "8.2.0")),
    )


def asked(
    *, p99_s: float | None = None, rate_per_s: float | None = None, most: int = 400, confidence: float = 0.95, **limits: int
) -> SizeRequest:
    return SizeRequest(
        AppSource("hello"),
        objective=Objective(p99_s, rate_per_s, "--rate" if rate_per_s else ""),
        limits=GivenLimits(**limits),
        most=most,
        confidence=confidence,
    )


def searched(
    rate: Rate, *, cpu_s: float = 0.0004, most: int = 400, noise: float = 0.0, idle: float = 0.0, seed: int = 0
) -> list[PoolMeasured]:
    """The pools that a search measures; `idle` is what a doubling of the pool costs at equal
    requests in service."""
    made: dict[int, PoolMeasured] = {}
    while (workers := next_pool({size: throughput_of(each.visits[0]) for size, each in made.items()}, most=most)) is not None:
        loads = [PoolLoad(saturating(workers, "http"), 400), PoolLoad(workers, 400)]
        loads += [PoolLoad(workers // 2, 400)] if workers > 1 else []
        visits = tuple(
            visit(
                rate(min(load.in_flight, workers)) / (1.0 + idle * np.log2(workers / min(load.in_flight, workers))),
                load,
                workers=workers,
                cpu_s=cpu_s,
                noise=noise,
                number=place + 10 * seed,
            )
            for place, load in enumerate(loads)
        )
        made[workers] = PoolMeasured("search", workers, 0, visits, float(len(made)))
    return list(made.values())


def confirmed(
    rate: Rate, decided: Recommended, *, rounds: int = 4, noise: float = 0.01, cpu_s: float = 0.0004, after: int = 0
) -> list[PoolMeasured]:
    made = []
    for number in range(after + 1, after + rounds + 1):
        for workers in (decided.workers, *decided.beside):
            loads = [PoolLoad(saturating(workers, "http"), 400)]
            loads += [open_load(workers, decided.rate_per_s, "http")] if workers == decided.workers else []
            visits = tuple(
                visit(rate(min(load.in_flight, workers)), load, workers=workers, cpu_s=cpu_s, noise=noise, number=number) for load in loads
            )
            made.append(PoolMeasured("confirm", workers, number, visits, 10.0 + number))
    return made


def target(label: str = "/", *, own_kib: int = OWN_KIB, leak_kib: float = 0.0, cpu_ms: float = 1.0, wall_ms: float = 2.0) -> TargetMeasured:
    """A target whose worker grows by `leak_kib` with each request."""
    steps = tuple(
        MemoryStep(100 * step, own_kib + round(100 * step * leak_kib), own_kib + 8_000 + round(100 * step * leak_kib))
        for step in range(1, 21)
    )
    return TargetMeasured(label, steps, round(cpu_ms * 1e6), round(wall_ms * 1e6), 131_072, 5.0)


def manager(kind: str, *, p99_ms: float, forks: int = 0, idle_kib: int = 20_000) -> ManagerMeasured:
    burst = visit(1000.0 / p99_ms, PoolLoad(100, 400, 50.0), workers=1, cpu_s=0.001)
    return ManagerMeasured(
        manager=kind,  # type: ignore[arg-type]
        settings={"pm": kind},
        first_ms=2.0,
        burst=burst,
        burst_s=8.0,
        workers=((0.0, 2), (1.0, 3), (2.0, 4), (8.0, 3), (9.0, 2)) if forks else ((0.0, 4),),
        forks=forks,
        idle_workers=2,
        idle_pss_kib=idle_kib,
        at_s=60.0,
    )


def limits(memory_kib: int = 8 << 20, *, connections: int | None = None, others: int = 0) -> LimitsRead:
    found = [PoolLimit("memory", memory_kib, "this host's memory (9102 MiB), less 10 %")]
    found += [PoolLimit("connections", connections, "max_connections of the database")] if connections is not None else []
    return LimitsRead(tuple(found), 16 << 20, {"named with --others": others} if others else {})


def begun(*records: SizeRecord, ask: SizeRequest | None = None) -> SizeRun:
    """A run with a header, a host and these records."""
    head = header(ask)
    return SizeRun(head, (head, SizeHost(HOST, ()), *records))


def bottleneck(kind: str = "php") -> Bottleneck:
    load = CpuLoad(
        duration_ns=SECOND,
        concurrency=4,
        workers=2,
        php_cores=(1,),
        helper_cores=(0,),
        php_ns=980_000_000,
        generator_ns=10_000_000,
        php_cores_ns=990_000_000,
        helper_cores_ns=100_000_000,
    )
    return Bottleneck(kind, load, shares_of(load))  # type: ignore[arg-type]


def whole(rate: Rate, *, ask: SizeRequest | None = None, own_workers: int | None = None, noise: float = 0.01) -> SizeRun:
    """A finished run of an app of this throughput."""
    cpu_s = 0.0004
    run = begun(limits(), *searched(rate, cpu_s=cpu_s, noise=noise / 2), target(), ask=ask)
    head = msgspec.structs.replace(run.header, own_workers=own_workers)
    run = SizeRun(head, (head, *run.records[1:]))
    decided = decide(run)
    run = added(run, decided)
    run = added(run, *confirmed(rate, decided, noise=noise, cpu_s=cpu_s))
    run = added(run, response_curve(run), SizeConcluded(bottleneck(), 4096))
    managers = (
        manager("static", p99_ms=20.0),
        manager("dynamic", p99_ms=4000.0, forks=2, idle_kib=9_000),
        manager("ondemand", p99_ms=30.0),
    )
    return added(run, *managers, SizeEnded("finished", "", 62.0))


def added(run: SizeRun, *records: SizeRecord) -> SizeRun:
    """The run with more records."""
    return SizeRun(run.header, (*run.records, *records))


def written(run: SizeRun, folder: Path) -> Path:
    """The run as a record on disk."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SIZE_FILE).write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in run.records))
    return folder
