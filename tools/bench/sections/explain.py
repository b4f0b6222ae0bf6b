"""Section `explain`: the same arm explained twice agrees, instruction for instruction; and how long
an explanation takes."""

import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise

from phpdyno.apps.registry import open_app
from phpdyno.errors import DynoError
from phpdyno.explain.counting.instructions import count_instructions
from phpdyno.explain.counting.under_callgrind import CannotCount
from phpdyno.host.cores import on_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.session.app_servers import serving
from tools.bench.figures import Figure, Target, median_figure
from tools.bench.results import Room, Sizes
from tools.bench.stand import control_arm

SAME = Target("≤ 0.1 %", at_most=0.001)
MINUTE = Target("≤ 60 s", at_most=60.0)
APPS = ("hello", "symfony-hello")


class Silent:
    """Nobody looks on."""

    def phase(self, text: str) -> None:
        """Said by the section itself."""

    def note(self, text: str) -> None:
        """The same."""

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None:
        """The same."""


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section."""
    figures = []
    with MeasuringLock():
        for app in APPS:
            try:
                figures.append(compare_starts(app, sizes, room))
            except CannotCount as error:
                room.skipped.append(str(error))
    room.say("phpdyno explain hello")
    figures.append(time_explain())
    return figures


def compare_starts(name: str, sizes: Sizes, room: Room) -> Figure:
    """By how much instructions per request differ from one fresh start of an arm to the next, as a
    share."""
    medians = []
    with serving(open_app(name), logs=room.logs, progress=Silent()) as stand, on_cores(stand.bench.cores.helpers):
        for start in range(sizes.explain_starts):
            room.say(f"{name}: start {start + 1} of {sizes.explain_starts}")
            medians.append(count_instructions(stand.bench, control_arm(), progress=Silent()).median)
    differences = [abs(other / one - 1.0) for one, other in pairwise(medians)]
    spread = (max(medians) - min(medians)) / statistics.median(medians)
    detail = f"{statistics.median(medians):,.0f} instructions; from the fewest to the most of {len(medians)} starts {100 * spread:.4f} %"
    return median_figure(f"instructions per request, one start against the next: {name}", differences, unit="%", target=SAME, detail=detail)


def time_explain() -> Figure:
    """`phpdyno explain hello SPEC` as a process, once, callgrind left out."""
    with tempfile.TemporaryDirectory(prefix="pd-explain-") as runs:
        command = [sys.executable, "-m", "phpdyno", "explain", "hello", "ini.opcache.enable=0", "--skip", "instructions", "--runs", runs]
        start = time.perf_counter()
        answer = subprocess.run(command, capture_output=True, check=False)
        took_s = time.perf_counter() - start
    if answer.returncode != 0:
        raise DynoError(f"it ended with exit code {answer.returncode}: {answer.stderr.decode(errors='replace')}", where="phpdyno explain")
    return Figure("`phpdyno explain hello SPEC`, instructions left out", "s", took_s, took_s, took_s, "one time", MINUTE)
