"""What each target costs by itself: memory of a worker as requests go on, CPU, time. A fresh worker
for each serves nothing else."""

import statistics
import time

import numpy as np
from msgspec import structs

from phpdyno.commands.size.measuring.pools import Pools, now_s
from phpdyno.commands.size.record import MemoryStep, TargetMeasured, TargetsChosen
from phpdyno.drive.driver import LoopDriver, failures
from phpdyno.errors import DynoError
from phpdyno.host.processes.memory import MemoryUnreadable, read_memory_of, read_own_kib_of
from phpdyno.knobs.domain import size_bytes
from phpdyno.model.workload import Target
from phpdyno.servers.facts.pool_memory import workers_of
from phpdyno.servers.instance import ArmFailed, Instance

STEPS = 20
"""How often the worker's memory is read: growth over the second half is told from what it took
once."""
STEP_REQUESTS = 50
STEP_S = 0.25
MOST_STEP_S = 1.5
FREQUENT, DEAR = 5, 3
"""Of many targets: so many of the most frequent ones, and of the rest those that take most CPU at a
first look (an admin page is rare)."""


def choose(pools: Pools) -> TargetsChosen:
    """Which targets are looked at by themselves: all, unless they are many. Raises ArmFailed,
    OutOfMemory."""
    targets = pools.workload.targets
    if len(targets) <= FREQUENT + DEAR:
        return TargetsChosen(tuple(target.label for target in targets), 0)
    pools.tell("a first look at every target")
    order = sorted(range(len(targets)), key=lambda index: -targets[index].weight)
    frequent, rare = order[:FREQUENT], order[FREQUENT:]
    with pools.running(1) as (instance, _):
        driver = pools.driver(instance, 1)
        try:
            cost = {index: _looked_ns(instance, driver, index) for index in rare}
        finally:
            driver.close()
    chosen = {*frequent, *sorted(rare, key=lambda index: -cost[index])[:DEAR]}
    return TargetsChosen(tuple(targets[index].label for index in sorted(chosen)), len(targets) - len(chosen))


def _looked_ns(instance: Instance, driver: LoopDriver, index: int) -> int:
    """CPU of php-fpm for one request of a target, once its scripts are cached."""
    driver.fetch(index)
    instance.await_idle()
    before_ns = instance.php_meter.read_ns()
    driver.fetch(index)
    instance.await_idle()
    return instance.php_meter.read_ns() - before_ns


def measure_target(pools: Pools, target: Target, *, most_s: float) -> TargetMeasured:
    """One target on a fresh worker, for `most_s` seconds at most, unless single requests take
    longer.

    Raises ArmFailed, OutOfMemory; DynoError where its memory may not be read.
    """
    pools.tell(f"memory of {target.label}")
    alone = structs.replace(pools.workload, targets=(target,))
    with pools.running(1, workload=alone, more={"pool.pm.max_requests": "0"}) as (instance, warm):
        driver = pools.driver(instance, 1, alone)
        try:
            steps, cpu_ns, wall_ns = _steps(instance, driver, warm.request_wall_ns, most_s / STEPS)
        finally:
            driver.close()
        limit = size_bytes(warm.facts.ini.get("memory_limit", ""))
        return TargetMeasured(
            label=target.label,
            steps=steps,
            cpu_ns=cpu_ns,
            wall_ns=wall_ns,
            php_limit_kib=limit // 1024 if limit is not None and limit > 0 else None,
            at_s=now_s(pools.clock),
        )


def _steps(instance: Instance, driver: LoopDriver, wall_ns: int, most_s: float) -> tuple[tuple[MemoryStep, ...], int, int]:
    """The memory after each step, and the medians over steps of CPU and wall time of a request."""
    by_time = round(STEP_S * 1e9 / max(1, wall_ns))
    requests = max(1, min(max(STEP_REQUESTS, by_time), round(min(MOST_STEP_S, most_s) * 1e9 / max(1, wall_ns))))
    sequence = np.zeros(requests, dtype=np.uint32)
    steps, cpus, walls = [], [], []
    for number in range(STEPS):
        before_ns, began = instance.php_meter.read_ns(), time.monotonic_ns()
        samples = driver.drive(sequence)
        walls.append((time.monotonic_ns() - began) / requests)
        instance.await_idle()
        cpus.append((instance.php_meter.read_ns() - before_ns) / requests)
        if int(np.count_nonzero(samples.outcome)) == requests:
            raise ArmFailed(instance.arm, f"no request gets a valid answer: {failures(samples)}")
        steps.append(_memory(instance, (number + 1) * requests))
    return tuple(steps), round(statistics.median(cpus)), round(statistics.median(walls))


def _memory(instance: Instance, requests: int) -> MemoryStep:
    try:
        for pid in workers_of(instance.php_pid):
            own, memory = read_own_kib_of(pid), read_memory_of(pid)
            if own is not None and memory is not None:
                return MemoryStep(requests, own, memory.pss_kib)
    except MemoryUnreadable as error:
        raise DynoError("the memory of a worker may not be read", where=error.where, next_step=error.next_step) from error
    raise DynoError("the worker has ended while its memory was read", where=instance.arm.name)
