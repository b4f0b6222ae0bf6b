"""Section `everyday`: what somebody at the keyboard waits for."""

import subprocess
import sys
import time
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.host.cores import split_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.servers.supervision.supervisor import Supervisor
from tools.bench.figures import Figure, Target, median_figure
from tools.bench.results import Room, Say, Sizes
from tools.bench.stamp import ROOT
from tools.bench.stand import Stand, control_arm, prepared, require_answer, running_database, standing

HELP_TARGET = Target("≤ 0.3 s", at_most=0.3)
ARM_TARGET = Target("≤ 3 s", at_most=3.0)
NOTHING_DONE = "setup: ready: .venv/bin/phpdyno"


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section."""
    with MeasuringLock():
        room.say("phpdyno --help")
        figures = [time_help(sizes)]
        room.say("make setup with nothing to do")
        figures += time_setup(sizes, room.skipped)
        for app in ("hello", "wordpress"):
            figures += time_app(app, sizes, room.logs, room.say)
    return figures


def time_help(sizes: Sizes) -> Figure:
    """`phpdyno --help` as a process."""
    command = [str(Path(sys.executable).with_name("phpdyno")), "--help"]
    times = [_timed(command) for _ in range(sizes.help_runs)]
    return median_figure("`phpdyno --help`", times, target=HELP_TARGET)


def time_setup(sizes: Sizes, skipped: list[str]) -> list[Figure]:
    """`make setup`, provided that it says nothing but that it is ready."""
    times = []
    for _ in range(sizes.setup_runs):
        start = time.perf_counter()
        answer = subprocess.run(["make", "-s", "setup"], cwd=ROOT, capture_output=True, text=True, check=False)
        times.append(time.perf_counter() - start)
        if answer.returncode != 0 or (answer.stdout + answer.stderr).strip() != NOTHING_DONE:
            skipped.append("`make setup` with nothing to do, as there was something to do")
            return []
    return [median_figure("`make setup` with nothing to do", times)]


def time_app(name: str, sizes: Sizes, logs: Path, say: Say) -> list[Figure]:
    """An arm of the app, and its database by itself where it has one."""
    figures = []
    say(f"{name}: preparing")
    with prepared(name, logs, say) as (supervisor, app):
        if app.datadir is not None:
            say(f"{name}: starting its database {sizes.database_starts} times")
            figures.append(time_database(name, supervisor, app.datadir, sizes))
        say(f"{name}: starting an arm {sizes.arm_starts} times")
        with standing(supervisor, app, split_cores()) as stand:
            figures.append(time_arm(stand, sizes))
    return figures


def time_arm(stand: Stand, sizes: Sizes) -> Figure:
    """From nothing to the app's first valid answer through nginx, on fresh processes each time."""
    arm, times = control_arm(), []
    for _ in range(sizes.arm_starts):
        start = time.perf_counter()
        with stand.bench.running([arm]) as instances:
            require_answer(stand, instances[0])
            times.append(time.perf_counter() - start)
    beside = ", its database running" if stand.app.datadir else ""
    return median_figure(f"an arm of {stand.app.name} up{beside}: first answer through nginx", times, target=ARM_TARGET)


def time_database(name: str, supervisor: Supervisor, kept: Path, sizes: Sizes) -> Figure:
    """Copying the prepared data directory and starting MariaDB on it."""
    times = []
    for _ in range(sizes.database_starts):
        start = time.perf_counter()
        with running_database(supervisor, kept, split_cores()):
            times.append(time.perf_counter() - start)
    return median_figure(f"the database of {name} up, on a fresh copy", times)


def _timed(command: list[str]) -> float:
    start = time.perf_counter()
    answer = subprocess.run(command, capture_output=True, check=False)
    elapsed = time.perf_counter() - start
    if answer.returncode != 0:
        raise DynoError(f"it ended with exit code {answer.returncode}", where=command[0])
    return elapsed
