"""Section `best-build`: what the best build brings, and the JIT on top, by the study of it: few arms, so that intervals are narrow."""

import shutil
import subprocess
import sys

import msgspec

from phpdyno.errors import DynoError
from phpdyno.paths import cache_dir
from phpdyno.report.study_shape import ArmFigures, StudyView
from phpdyno.stack.supervise import Supervisor
from tests.bench.builder import Builder
from tests.bench.figures import Figure, Target
from tests.bench.results import Room, Sizes
from tests.bench.stamp import ROOT

TARGETS = {
    "pgo": Target("≥ 1.10×", at_least=1.10),
    "lto+pgo+bolt": Target("≥ 1.14×", at_least=1.14),
    "lto+pgo+bolt, JIT, huge pages": Target("≥ 1.25×", at_least=1.25),
}
"""Of an arm against the stock PHP."""
MOST_S = 3 * 3600.0


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """Each arm against the distribution's PHP. Builds may come from this machine's cache: what they bring is measured."""
    runs = room.unfinished / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    runs.mkdir(parents=True)
    with Supervisor(room.logs) as supervisor:
        room.say(f"phpdyno study {sizes.best_study}")
        Builder(supervisor, runs, cache=cache_dir()).timed("study", "study", str(ROOT / sizes.best_study), most_s=MOST_S)
    (run,) = runs.glob("*-study-*")
    answer = subprocess.run([sys.executable, "-m", "phpdyno", "report", str(run), "--json"], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise DynoError(f"phpdyno report failed: {answer.stderr.strip()}")
    return figures_of(msgspec.json.decode(answer.stdout, type=StudyView))


def figures_of(view: StudyView) -> list[Figure]:
    """Each arm of the study's comparison against its control, then arm against arm."""
    (comparison,) = view.comparisons
    arms = [_figure(each) for each in comparison.arms if each.verdict != "control"]
    contrasts = [
        Figure(f"CPU per request: {each.title}", "×", each.ours.ratio, each.ours.low, each.ours.high, "both intervals together")
        for each in view.contrasts
        if each.ours is not None
    ]
    return [*arms, *contrasts]


def _figure(arm: ArmFigures) -> Figure:
    name, target = f"CPU per request: {arm.arm}, against the distribution's", TARGETS.get(arm.arm)
    if arm.ratio is None:
        return Figure(name, "×", 1.0, None, None, arm.reason or "no interval", target)
    return Figure(name, "×", arm.ratio.ratio, arm.ratio.low, arm.ratio.high, f"{arm.blocks} blocks", target, arm.verdict)
