"""PHP functions in which an arm's requests spend their time: a warm worker's stack, read from its
memory in requests of its mix.

Nothing is loaded into PHP. The worker stands still for each look, 10 to 100 µs of a millisecond, at
moments that are drawn by chance.
"""

import math
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import Struct, field, structs
from numpy.typing import NDArray

from phpdyno._native import Engine
from phpdyno._native import Target as NativeTarget
from phpdyno.drive.driver import failures
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters
from phpdyno.experiment.common.warm_up import warm_up
from phpdyno.experiment.comparison.schedule import deal
from phpdyno.explain.functions.php_memory import OUTSIDE, PhpLayout, StackReader, find_layout
from phpdyno.explain.functions.php_worker import MAY_NOT, CannotProfile, Halter, PhpWorkerMemory, globals_in, opened
from phpdyno.explain.functions.stacks import Frames, profile_of, shortened
from phpdyno.host.background import Background
from phpdyno.host.cores import on_cores
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.inside.stacks import PhpProfile
from phpdyno.model.plan import Panel
from phpdyno.package import PHP_FILES
from phpdyno.server_files.apache import is_apache
from phpdyno.server_files.fastcgi import request_params
from phpdyno.servers.bench import Bench
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.instance import ArmFailed, Instance

PAUSE_S = 0.001
"""On the mean; each pause is drawn, so that nothing that ticks is met in step."""
SECONDS = 5.0
"""Of requests: thousands of samples, of which a function that takes 1 % has dozens."""
TURNS = 10
LEAST_EACH = 3
"""So often each target is asked at least."""
MOST_UNREAD = 0.02
SCRIPT = PHP_FILES / "profile" / "asleep.php"
FUNCTION = "phpdyno_is_asleep"
ASLEEP_NS = 20_000_000_000
ONE_WORKER = {"pool.pm": "static", "pool.pm.max_children": "1", "pool.pm.max_requests": "0"}
WAITING = "by the CPU clock a worker counts that wants a CPU, whether it has it or not"
SLOWED = "each look makes the worker stand still, so that requests take up to a tenth longer: read shares, not times"
UNREAD = "{:.0f} % of the looks met what could not be read as a stack"


class Looks(Struct):
    """What one worker's stack was found to be; `unread` are looks that met no stack. `refused`: why
    it may not be looked at."""

    wall: Counter[Frames] = field(default_factory=Counter)
    cpu: Counter[Frames] = field(default_factory=Counter)
    looks: int = 0
    unread: int = 0
    seconds: float = 0.0
    refused: OSError | None = None


def refuse_unreadable(arm: Arm) -> None:
    """Raises CannotProfile for an arm whose PHP tells nobody where its stack is, before anything
    starts."""
    if is_apache(arm):
        raise CannotProfile("only php-fpm's requests are sampled", where=arm.name)
    globals_in(Path(arm.php.fpm))


def sample_functions(
    bench: Bench, arm: Arm, shared: SharedMeters, *, seconds: float = SECONDS, seed: int = 1, progress: Progress
) -> PhpProfile:
    """PHP functions of an arm by wall and by CPU time: an instance of its own, one worker, requests
    in their mix.

    Takes a warm-up and about `seconds` of requests. Raises CannotProfile, ArmFailed when the arm
    does not start or its requests fail.
    """
    refuse_unreadable(arm)
    workload = bench.app_of(arm).workload
    weights = [target.weight for target in workload.targets]
    one = structs.replace(arm, settings={**arm.settings, **ONE_WORKER})
    with on_cores(bench.cores.helpers), bench.running([one]) as (instance,), _memory_of(instance) as memory:
        layout = _layout_of(bench, instance, memory)
        # Without a web server between, which would keep the core that the looks are made from busy
        # at just the times when PHP begins.
        driven = driven_instance(instance, bench, Panel("cpu", one, (), 1), workload=workload, transport="fastcgi", lengths={})
        with closing(driven.driver):
            warm = warm_up(driven, shared, metric="cpu", weights=weights, env_names=(), workers=1)
            wanted = math.ceil(seconds * 1e9 / TURNS / max(1, warm.request_wall_ns))
            each = max(wanted, math.ceil(LEAST_EACH * len(weights) / TURNS))
            with looking(memory, layout, seed=seed) as seen:
                for turn in range(TURNS):
                    progress.tick(turn, TURNS, "sampling PHP functions")
                    _drive(driven, deal(np.random.default_rng(seed + turn), weights, each))
    return profile_in(arm.name, seen, roots_of(bench.app_of(arm), bench.supervisor.live), requests=TURNS * each)


def profile_in(arm: str, seen: Looks, roots: list[str], *, requests: int) -> PhpProfile:
    """What looks at a worker say of its requests. Pure. Raises CannotProfile where no PHP code was
    met."""
    if not any(frames != (OUTSIDE,) for frames in seen.wall):
        raise CannotProfile("no PHP function was met at work: the requests run none", where=arm)
    period_us = 1e6 * seen.seconds / seen.looks
    wall = profile_of(arm, "wall", shortened(seen.wall, roots), period_us=period_us, requests=requests)
    cpu = profile_of(arm, "cpu", shortened(seen.cpu, roots), period_us=period_us, requests=requests)
    unread = seen.unread / seen.looks
    return PhpProfile(wall, cpu, (SLOWED, WAITING, *([UNREAD.format(100 * unread)] if unread > MOST_UNREAD else [])))


def roots_of(app: PreparedApp, live: Path) -> list[str]:
    """Where an app's files lie as PHP may name them: its root, as seen and as copied; of one
    without, its directory among ours. Pure."""
    places = [app.real_root, app.copy]
    if app.root is None and app.docroot.is_relative_to(live):
        places = [live / app.docroot.relative_to(live).parts[0]]
    return list(dict.fromkeys(map(str, places)))


@contextmanager
def _memory_of(instance: Instance) -> Iterator[PhpWorkerMemory]:
    workers = children_of(instance.php_pid)
    if len(workers) != 1:
        raise CannotProfile(f"a pool of one worker has {len(workers)}", where=instance.arm.name)
    with opened(workers[0]) as memory:
        yield memory


def _layout_of(bench: Bench, instance: Instance, memory: PhpWorkerMemory) -> PhpLayout:
    """Found while the worker is asleep in a script of ours. Raises CannotProfile."""
    place = bench.supervisor.live / "profile"
    place.mkdir(exist_ok=True)
    script = place / SCRIPT.name
    shutil.copyfile(SCRIPT, script)
    params = request_params(path=f"/{script.name}", host="localhost", docroot=place, script=f"/{script.name}")
    engine = Engine(instance.fastcgi, [NativeTarget.fastcgi(params, status=200)], keep_alive=False, response_timeout_ns=ASLEEP_NS)
    asking = threading.Thread(target=lambda: engine.run(np.zeros(1, dtype=np.uint32), concurrency=1, max_failures=1), daemon=True)
    address, size = memory.globals()
    asking.start()
    try:
        while True:
            # Asked before looking, so that a last look follows the end.
            over = not asking.is_alive()
            layout = find_layout(memory.read, address, size, function=FUNCTION, file=str(script))
            if layout is not None:
                return layout
            if over:
                raise CannotProfile(
                    "PHP's stack was not found in a worker's memory: this PHP lays it out differently", where=instance.arm.name
                )
            time.sleep(0.01)
    finally:
        asking.join()


@contextmanager
def looking(memory: PhpWorkerMemory, layout: PhpLayout, *, seed: int) -> Iterator[Looks]:
    """Look at a worker's stack while the block lasts, in a thread on this process's own cores; the
    result is filled when it ends.

    Raises CannotProfile where the worker may not be made to stand still.
    """
    found = Looks()
    pauses = random.Random(seed)  # noqa: S311
    begun = time.monotonic()
    try:
        with Background(partial(_look, memory, layout, pauses, found), name="php-stacks"):
            yield found
    finally:
        found.seconds = time.monotonic() - begun
    if found.refused is not None:
        raise CannotProfile(f"a worker may not be made to stand still: {found.refused.strerror}", next_step=MAY_NOT)


def _look(memory: PhpWorkerMemory, layout: PhpLayout, pauses: random.Random, found: Looks, stop: threading.Event) -> None:
    reader = StackReader(memory.read, layout)
    try:
        halter = Halter(memory.pid)
    except OSError as error:
        found.refused = error
        return
    try:
        while not stop.is_set():
            time.sleep(pauses.expovariate(1.0) * PAUSE_S)
            runs = memory.runs()
            with halter.still():
                frames = reader.stack()
            found.looks += 1
            if frames is None:
                found.unread += 1
            elif frames or runs:  # else it waits for the next request
                found.wall[frames or (OUTSIDE,)] += 1
                if runs:
                    found.cpu[frames or (OUTSIDE,)] += 1
    except OSError:
        return  # the worker is gone: its requests fail, which is said
    finally:
        halter.let_go()


def _drive(driven: DrivenInstance, sequence: NDArray[np.uint32]) -> None:
    failure = failures(driven.driver.drive(sequence))
    if failure:
        why = driven.instance.complaint()
        raise ArmFailed(driven.instance.arm, f"requests fail while PHP functions are sampled: {failure}" + (f"; {why}" if why else ""))
