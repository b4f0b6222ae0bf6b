"""One syscall pass of a study: each arm started by itself, warmed up, and driven while strace counts."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phpdyno.apps.registry import open_app
from phpdyno.apps.source import App
from phpdyno.experiment.lanes import make_lane
from phpdyno.experiment.progress import Progress
from phpdyno.experiment.schedule import deal
from phpdyno.experiment.slot import SharedMeters
from phpdyno.experiment.warmup import warm_up
from phpdyno.explain.syscalls import Traced, count_syscalls, find_strace
from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.host.cores import on_cores, split_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Panel
from phpdyno.model.study import Study, StudyPass, SyscallCounts, spec_of
from phpdyno.paths import cache_dir
from phpdyno.stack.bench import Bench
from phpdyno.stack.meter import host_meter
from phpdyno.stack.supervise import Supervisor
from phpdyno.workflows.arms import make_arms
from phpdyno.workflows.session import start_database


def count_pass(study: Study, wanted: StudyPass, *, requests: int, logs: Path, progress: Progress) -> tuple[SyscallCounts, ...]:
    """Counts of every arm of the pass over `requests` requests, one at a time on one worker: what a worker does once is warmed away.

    Raises CannotTrace where strace is missing or forbidden, DynoError when an arm cannot be started or its requests fail.
    """
    find_strace()
    definition = open_app(study.apps[wanted.app])
    arms = {name: pass_arm(study, name, definition) for name in wanted.arms}
    groups = find_cpu_groups()
    cores = split_cores()
    with MeasuringLock(), Supervisor(logs) as supervisor, ExitStack() as stack:
        app = definition.prepare(supervisor, cache=cache_dir(), progress=progress.phase)
        database, meter = start_database(stack, app, supervisor, cores, groups)
        bench = Bench(supervisor, app, cores=cores, groups=groups, transport="http", database=database)
        shared = SharedMeters(meter, host_meter(groups))
        sequence = deal(np.random.default_rng(study.seed), [target.weight for target in app.workload.targets], requests)
        found = []
        with on_cores(cores.helpers):
            for name, arm in arms.items():
                progress.phase(f"{name}: counting the syscalls of {requests} requests")
                traced = _count_arm(arm, bench, shared, sequence)
                found.append(SyscallCounts(wanted.app, name, requests, traced.processes, traced.syscalls))
        return tuple(found)


def _count_arm(arm: Arm, bench: Bench, shared: SharedMeters, sequence: NDArray[np.uint32]) -> Traced:
    workload = bench.app.workload
    weights = [target.weight for target in workload.targets]
    with bench.running([arm]) as (instance,):
        lane = make_lane(instance, bench, Panel("cpu", arm, (), 1), workload=workload, transport=bench.transport, lengths={})
        warm_up(lane, shared, metric="cpu", weights=weights, env_names=(), workers=1)
        traced = count_syscalls(bench.supervisor, lane, sequence)
        lane.driver.close()
        return traced


def pass_arm(study: Study, name: str, app: App) -> Arm:
    """An arm of the study by itself, with one worker. Raises UsageError for a setting that cannot be."""
    return make_arms(spec_of(study.arm(name).settings), (), aa=True, app=app).control
