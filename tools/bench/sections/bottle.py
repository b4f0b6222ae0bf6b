"""Section `bottle`: what the namespaces cost, CPU per request in a bottle and outside in one run,
and how soon an app is ready in one."""

import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import log
from pathlib import Path

import numpy as np

from phpdyno.apps.registry import open_app
from phpdyno.apps.source import silent
from phpdyno.errors import DynoError
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters, measure_slot
from phpdyno.experiment.common.warm_up import warm_up
from phpdyno.experiment.comparison.schedule import deal
from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.host.cores import on_cores, split_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.model.plan import Panel
from phpdyno.package import APP_FILES
from phpdyno.paths import cache_dir, live_root
from phpdyno.servers.bench import Bench
from phpdyno.servers.facts.meter import host_meter
from phpdyno.servers.supervision.supervisor import Supervisor
from tools.bench.figures import Figure, Target, median_figure, ratio_figure
from tools.bench.results import Room, Say, Sizes
from tools.bench.sections.everyday import time_arm
from tools.bench.stand import control_arm, prepared, running_database, standing

SAME = Target("within ±0.3 %", at_least=0.997, at_most=1.003)
CHECK = Target("≤ 3 s", at_most=3.0)
LARGE = Target("≤ 5 s", at_most=5.0)
ALPHA = 0.05
PAIRS_OF_A_BLOCK = 8
FILES, BYTES = 200_000, 5 << 30


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section."""
    figures = []
    with MeasuringLock():
        figures += [compare_outside(app, sizes, room.logs, room.say) for app in ("hello", "wordpress")]
        room.say("starting an arm of WordPress")
        with prepared("wordpress", room.logs, room.say) as (supervisor, app_in_it), standing(supervisor, app_in_it, split_cores()) as stand:
            figures.append(time_arm(stand, sizes))
    room.say("phpdyno check hello")
    figures.append(time_check(sizes))
    room.say(f"an app of {FILES:,} files")
    figures.append(time_large(room.logs, FILES // sizes.large_divisor, BYTES // sizes.large_divisor))
    return figures


@contextmanager
def _at_like_place(name: str) -> Iterator[str]:
    """An app to be named: one of a folder as a copy at a path as long and as deep as that of the
    copy which is measured outside, since a system call takes longer by a path with more parts,
    whoever asks. In the bottle it stands at its own path."""
    source = APP_FILES / name
    if not (source / "app.toml").is_file():
        yield name
        return
    with tempfile.TemporaryDirectory(prefix="bottle-b", dir=live_root()) as place:
        shutil.copytree(source, Path(place, "app"))
        Path(place).chmod(0o755)
        yield str(Path(place, "app"))


@contextmanager
def _bench(name: str, logs: Path, *, bottle: bool) -> Iterator[Bench]:
    with ExitStack() as stack:
        supervisor = stack.enter_context(Supervisor(logs / ("in" if bottle else "out"), bottle=bottle))
        if bottle and supervisor.no_bottle:
            raise DynoError(f"no bottle can be made here: {supervisor.no_bottle}")
        app = open_app(name).prepare(supervisor, cache=cache_dir(), progress=silent)
        database = None if app.datadir is None else stack.enter_context(running_database(supervisor, app.datadir, split_cores()))
        yield Bench(supervisor, app, cores=split_cores(), groups=find_cpu_groups(), transport="fastcgi", database=database)


def compare_outside(name: str, sizes: Sizes, logs: Path, say: Say) -> Figure:
    """CPU of PHP per request outside / in the bottle: fresh instances of both in each block, slots
    in pairs; who comes first by a coin."""
    coin, logs_of_blocks, outside_ms = random.Random(1), [], []
    meters = SharedMeters(None, host_meter(find_cpu_groups()))
    with (
        _at_like_place(name) as app,
        _bench(app, logs, bottle=False) as outside,
        _bench(app, logs, bottle=True) as inside,
        on_cores(outside.cores.helpers),
    ):
        weights = [target.weight for target in outside.app.workload.targets]
        for block in range(sizes.bottle_blocks):
            say(f"{name}: block {block + 1} of {sizes.bottle_blocks}")
            with ExitStack() as stack:
                first = coin.randrange(2)
                benches = [outside, inside]
                started = {number: _warm(benches[number], stack, meters) for number in (first, 1 - first)}
                used = _pairs([started[0], started[1]], weights, meters, coin, block, requests=sizes.bottle_requests[name])
            logs_of_blocks.append(log(used[0] / used[1]))
            outside_ms.append(used[0] / 1e6 / PAIRS_OF_A_BLOCK / sizes.bottle_requests[name])
    detail = f"{statistics.median(outside_ms):.3f} ms outside"
    return ratio_figure(f"CPU of PHP per request, outside / in the bottle: {name}", logs_of_blocks, alpha=ALPHA, target=SAME, detail=detail)


def _warm(bench: Bench, stack: ExitStack, meters: SharedMeters) -> DrivenInstance:
    arm, workload = control_arm(), bench.app.workload
    (instance,) = stack.enter_context(bench.running([arm]))
    driven = driven_instance(instance, bench, Panel("cpu", arm, (), 1), workload=workload, transport="fastcgi", lengths={})
    stack.callback(driven.driver.close)
    warm_up(driven, meters, metric="cpu", weights=[target.weight for target in workload.targets], env_names=(), workers=1)
    driven.begin()
    return driven


def _pairs(
    driven_instances: list[DrivenInstance], weights: list[float], meters: SharedMeters, coin: random.Random, block: int, *, requests: int
) -> list[float]:
    """Nanoseconds of PHP's CPU of each driven instance over the same requests; both are at work
    before the first slot that counts."""
    used = [0.0, 0.0]
    for pair in range(-1, PAIRS_OF_A_BLOCK):
        deck = deal(np.random.default_rng(1000 * block + pair + 1), weights, requests)
        for number in (0, 1) if coin.random() < 0.5 else (1, 0):
            reading = measure_slot(driven_instances[number], meters, deck)
            if reading.failures:
                raise DynoError(f"requests fail: {dict(reading.failures)}", where=driven_instances[number].instance.arm.name)
            used[number] += reading.php_ns if pair >= 0 else 0
    return used


def time_check(sizes: Sizes) -> Figure:
    """`phpdyno check` of a plain app, as a process."""
    command, times = [sys.executable, "-m", "phpdyno", "check", "hello"], []
    for _ in range(sizes.arm_starts):
        start = time.perf_counter()
        answer = subprocess.run(command, capture_output=True, check=False)
        times.append(time.perf_counter() - start)
        if answer.returncode != 0:
            raise DynoError(f"it ended with exit code {answer.returncode}: {answer.stderr.decode(errors='replace')}", where="phpdyno check")
    return median_figure("`phpdyno check hello`", times, target=CHECK)


def time_large(logs: Path, files: int, size: int) -> Figure:
    """How long an app of many files takes to be ready, once."""
    with tempfile.TemporaryDirectory(prefix="pd-large-", dir=logs) as place:
        root = Path(place)
        (root / "index.php").write_text("<?php echo 1;")
        content = bytes(size // files)
        for folder in range(files // 1000):
            (root / f"d{folder}").mkdir()
            for number in range(1000):
                (root / f"d{folder}/f{number}").write_bytes(content)
        with Supervisor(logs / "large") as supervisor:
            start = time.perf_counter()
            open_app(docroot=root).prepare(supervisor, cache=cache_dir(), progress=silent)
            took_s = time.perf_counter() - start
    return Figure(f"an app of {files:,} files and {size >> 20:,} MiB ready", "s", took_s, took_s, took_s, "one time", LARGE)
