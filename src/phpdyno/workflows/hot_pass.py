"""Two arms of one app driven in turns while perf looks at their workers: where a request's time goes before and after a change."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np
from msgspec import structs

from phpdyno.apps.registry import open_app
from phpdyno.experiment.lanes import make_lane
from phpdyno.experiment.progress import Progress
from phpdyno.experiment.schedule import deal
from phpdyno.experiment.slot import measure_slot
from phpdyno.experiment.warmup import warm_up
from phpdyno.explain.hot_functions import CannotSample, find_perf, hot_pass, sampling
from phpdyno.explain.jit_symbols import told_to_perf
from phpdyno.host.cores import on_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.model.hot import HotPass
from phpdyno.model.plan import Panel, Plan
from phpdyno.stack.instance import ArmFailed
from phpdyno.stack.meter import children_of
from phpdyno.workflows.app_stand import app_stand
from phpdyno.workflows.arms import make_arms

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
    with MeasuringLock(), app_stand(definition, logs=logs, progress=progress) as stand:
        bench, meters = stand.bench, stand.meters
        weights = [target.weight for target in workload.targets]
        progress.phase("looking for hot functions")
        with on_cores(bench.cores.helpers), bench.running([told_to_perf(arm, bench.supervisor) for arm in arms]) as instances:
            lanes = [
                make_lane(each, bench, Panel("cpu", each.arm, (), 1), workload=workload, transport=bench.transport, lengths={})
                for each in instances
            ]
            try:
                warm = [warm_up(lane, meters, metric="cpu", weights=weights, env_names=(), workers=1) for lane in lanes]
                slowest_ns = max(1, *(each.request_cpu_ns for each in warm))
                requests = max(1, round(SECONDS * 1e9 / TURNS / slowest_ns))
                decks = [deal(np.random.default_rng(plan.seed + turn), weights, requests) for turn in range(TURNS)]
                with ExitStack() as looking:
                    looks = [
                        looking.enter_context(sampling(bench.supervisor, f"arm-{number}", children_of(lane.instance.php_pid)))
                        for number, lane in enumerate(lanes)
                    ]
                    cpu_ns = [0.0, 0.0]
                    for lane in lanes:
                        lane.begin()
                    for turn, deck in enumerate(decks):
                        progress.tick(turn, TURNS, "sampling")
                        for number in (0, 1) if turn % 2 else (1, 0):
                            reading = measure_slot(lanes[number], meters, deck)
                            if reading.failures:
                                raise ArmFailed(lanes[number].instance.arm, f"requests fail while perf looks: {dict(reading.failures)}")
                            cpu_ns[number] += reading.php_ns
            finally:
                for lane in lanes:
                    lane.driver.close()
    total = TURNS * requests
    programs = {Path(arm.php.fpm).name: PROGRAM for arm in arms}
    try:
        found = hot_pass(names, (looks[0].samples, looks[1].samples), (cpu_ns[0] / total / 1e3, cpu_ns[1] / total / 1e3), total, programs)
    except ValueError as error:
        raise CannotSample(str(error)) from error
    notes = tuple(f"{name}: {look.note}" for name, look in zip(names, looks, strict=True) if look.note)
    return structs.replace(found, notes=notes)
