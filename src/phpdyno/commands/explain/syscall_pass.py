"""One syscall pass of a study: each arm started by itself, warmed up, and driven while strace
counts."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from phpdyno.apps.registry import open_app
from phpdyno.apps.source import App
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import SharedMeters
from phpdyno.experiment.common.warm_up import warm_up
from phpdyno.experiment.comparison.schedule import deal
from phpdyno.explain.tracing.strace import find_strace
from phpdyno.explain.tracing.syscalls import Traced, count_syscalls
from phpdyno.host.cores import on_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.knobs.judge import not_effective, prove
from phpdyno.model.arm import Arm
from phpdyno.model.facts import WorkerFacts
from phpdyno.model.plan import Panel
from phpdyno.model.runs.study import Study, StudyPass, SyscallCounts, spec_of
from phpdyno.servers.bench import Bench
from phpdyno.servers.instance import ArmFailed
from phpdyno.session.app_servers import serving
from phpdyno.session.arms import make_arms


def count_pass(
    study: Study, wanted: StudyPass, *, requests: int, logs: Path, progress: Progress, app_version: str = ""
) -> tuple[SyscallCounts, ...]:
    """Counts of every arm of the pass over `requests` requests, one at a time on one worker: what a
    worker does once is warmed away.

    Raises CannotTrace where strace is missing or forbidden, DynoError when an arm cannot be
    started, is not what it says (a setting that differs from the control's is not at work), its
    requests fail, or the app is not of the version that is asked for.
    """
    find_strace()
    definition = open_app(study.apps[wanted.app])
    control = control_of(study, wanted)
    arms = {name: pass_arm(study, name, definition) for name in dict.fromkeys((control, *wanted.arms))}
    named = [structs.replace(arm, name=name) for name, arm in arms.items()]
    with MeasuringLock(), serving(definition, logs=logs, progress=progress, arms=named, version=app_version) as stand:
        app = stand.bench.app
        sequence = deal(np.random.default_rng(study.seed), [target.weight for target in app.workload.targets], requests)
        found = []
        names = tuple({key.removeprefix("env."): None for arm in named for key in arm.settings if key.startswith("env.")})
        facts: dict[str, WorkerFacts] = {}
        with on_cores(stand.bench.cores.helpers):
            for arm in named:
                progress.phase(f"{arm.name}: counting the syscalls of {requests} requests")
                facts[arm.name], traced = _count_arm(arm, stand.bench, stand.meters, sequence, names)
                _prove(arm, arms[control], facts[arm.name], facts[control])
                if arm.name in wanted.arms:
                    found.append(SyscallCounts(wanted.app, arm.name, requests, traced.processes, traced.syscalls, app.version))
        return tuple(sorted(found, key=lambda each: wanted.arms.index(each.arm)))


def _count_arm(
    arm: Arm, bench: Bench, shared: SharedMeters, sequence: NDArray[np.uint32], names: Sequence[str]
) -> tuple[WorkerFacts, Traced]:
    """What a warm worker shows before strace attaches, and the counts."""
    workload = bench.app.workload
    weights = [target.weight for target in workload.targets]
    with bench.running([arm]) as (instance,):
        driven = driven_instance(instance, bench, Panel("cpu", arm, (), 1), workload=workload, transport=bench.transport, lengths={})
        warm = warm_up(driven, shared, metric="cpu", weights=weights, env_names=names, workers=1)
        traced = count_syscalls(bench.supervisor, driven, sequence)
        driven.driver.close()
        return warm.facts, traced


def control_of(study: Study, wanted: StudyPass) -> str:
    """Which arm the others of a pass are held against: the control of a comparison on its app that
    has one of them, else its first."""
    meeting = (each for each in study.comparisons if each.app == wanted.app and {each.control, *each.treatments} & set(wanted.arms))
    return next((each.control for each in meeting), wanted.arms[0])


def _prove(arm: Arm, control: Arm, facts: WorkerFacts, control_facts: WorkerFacts) -> None:
    """Raises ArmFailed when the arm is not what it says: then its counts would be another arm's."""
    changed = {key: value for key, value in arm.settings.items() if control.settings.get(key) != value}
    idle = not_effective(prove(changed, control_facts, facts, control.settings))
    if idle:
        raise ArmFailed(arm, idle)


def pass_arm(study: Study, name: str, app: App) -> Arm:
    """An arm of the study by itself, with one worker. Raises UsageError for a setting that cannot
    be."""
    return make_arms(spec_of(study.arm(name).settings), (), aa=True, app=app).control
