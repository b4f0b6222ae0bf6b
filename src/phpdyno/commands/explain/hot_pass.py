"""Two arms of one app driven in turns while perf looks at their workers: where a request's time
goes before and after a change."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from msgspec import Struct, structs

from phpdyno.apps.registry import open_app
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import measure_slot
from phpdyno.experiment.common.warm_up import warm_up
from phpdyno.experiment.comparison.schedule import deal
from phpdyno.explain.functions.jit_symbols import told_to_perf
from phpdyno.explain.functions.native import CannotSample, Sampled, find_perf, hot_pass, sampling
from phpdyno.host.cores import on_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.model.arm import Arm
from phpdyno.model.inside.hot import HotPass
from phpdyno.model.plan import Panel, Plan
from phpdyno.model.workload import Workload
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.instance import ArmFailed
from phpdyno.session.app_servers import AppServers, serving
from phpdyno.session.arms import make_arms

SECONDS = 6.0
"""Of CPU for each arm: ten thousand samples, of which a function that takes 1 % has a hundred."""
TURNS = 20
PROGRAM = "php-fpm"
WITH_SYMBOLS = "ini.opcache.huge_code_pages=0"
"""Code that was moved into huge pages has none, whatever php.ini says of that."""


def look_for_hot_functions(plan: Plan, specs: tuple[str, str], names: tuple[str, str], *, logs: Path, progress: Progress) -> HotPass:
    """Drive both arms in turns with what a plan asks of its app, and sample them.

    Raises CannotSample where perf is missing or forbidden; DynoError.
    """
    find_perf()
    definition = open_app(plan.source.reference)
    workload = plan.workload
    arms = [make_arms(f"{spec};{WITH_SYMBOLS}", (), aa=True, app=definition).control for spec in specs]
    with MeasuringLock(), serving(definition, logs=logs, progress=progress) as stand:
        progress.phase("looking for hot functions")
        with on_cores(stand.bench.cores.helpers):
            looks = sampled_in_turns(stand, arms, workload, seconds=SECONDS, seed=plan.seed, progress=progress)
    one, other = looks
    programs = {Path(arm.php.fpm).name: PROGRAM for arm in arms}
    try:
        found = hot_pass(names, (one.seen.samples, other.seen.samples), (one.cpu_us, other.cpu_us), one.requests, programs)
    except ValueError as error:
        raise CannotSample(str(error)) from error
    notes = tuple(f"{name}: {look.seen.note}" for name, look in zip(names, looks, strict=True) if look.seen.note)
    return structs.replace(found, notes=notes)


class Look(Struct, frozen=True):
    """Samples of one arm's workers, over so many requests of so many microseconds of CPU."""

    seen: Sampled
    cpu_us: float
    requests: int


def sampled_in_turns(
    stand: AppServers,
    arms: Sequence[Arm],
    workload: Workload,
    *,
    seconds: float,
    seed: int,
    progress: Progress,
    most_s: float = float("inf"),
) -> tuple[Look, ...]:
    """Drive instances of all arms in turns and sample their workers, `seconds` of the slowest one's
    CPU for each, `most_s` at most.

    Raises CannotSample, ArmFailed when an arm does not start or its requests fail.
    """
    bench, meters = stand.bench, stand.meters
    weights = [target.weight for target in workload.targets]
    with bench.running([told_to_perf(arm, bench.supervisor) for arm in arms]) as instances:
        driven_instances = [
            driven_instance(each, bench, Panel("cpu", each.arm, (), 1), workload=workload, transport=bench.transport, lengths={})
            for each in instances
        ]
        try:
            warm = [warm_up(driven, meters, metric="cpu", weights=weights, env_names=(), workers=1) for driven in driven_instances]
            slowest_ns = max(1, *(each.request_cpu_ns for each in warm))
            fitting = most_s * 1e9 / max(1, *(each.request_wall_ns for each in warm))
            requests = max(1, round(min(seconds * 1e9 / slowest_ns, fitting) / TURNS))
            decks = [deal(np.random.default_rng(seed + turn), weights, requests) for turn in range(TURNS)]
            with ExitStack() as looking:
                looks = [
                    looking.enter_context(sampling(bench.supervisor, f"arm-{number}", children_of(driven.instance.php_pid)))
                    for number, driven in enumerate(driven_instances)
                ]
                cpu_ns = [0.0] * len(driven_instances)
                for driven in driven_instances:
                    driven.begin()
                for turn, deck in enumerate(decks):
                    progress.tick(turn, TURNS, "sampling")
                    for number in reversed(range(len(driven_instances))) if turn % 2 == 0 else range(len(driven_instances)):
                        reading = measure_slot(driven_instances[number], meters, deck)
                        if reading.failures:
                            raise ArmFailed(
                                driven_instances[number].instance.arm, f"requests fail while perf looks: {dict(reading.failures)}"
                            )
                        cpu_ns[number] += reading.php_ns
        finally:
            for driven in driven_instances:
                driven.driver.close()
    total = TURNS * requests
    return tuple(Look(seen, spent / total / 1e3, total) for seen, spent in zip(looks, cpu_ns, strict=True))
