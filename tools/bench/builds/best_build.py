"""Section `best-build`: what the best build brings, and the JIT on top, by the study of it: few
arms, so that intervals are narrow."""

import shutil
import time

from phpdyno.commands.study.view.shape import ArmFigures, StudyView
from phpdyno.paths import cache_dir
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.provenance import code_digest
from tools.bench.builds.builder import Builder, said_by
from tools.bench.figures import Figure, Target
from tools.bench.results import Part, Room, Sizes
from tools.bench.stamp import ROOT

TARGETS = {
    "pgo": Target("≥ 1.10×", at_least=1.10),
    "lto+pgo+bolt": Target("≥ 1.14×", at_least=1.14),
    "lto+pgo+bolt, JIT": Target("≥ 1.25×", at_least=1.25),
}
"""Of an arm against the stock PHP."""
RUN = "*-study-*"
MOST_S = 3 * 3600.0


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """Each arm against the distribution's PHP, and the study's own page. Builds may come from this
    machine's cache: what they bring is measured. A study that was begun before is gone on with."""
    runs = room.unfinished / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    begun = sorted(runs.glob(RUN))
    words = ["--resume", str(begun[-1])] if begun else [str(ROOT / sizes.best_study)]
    if sizes.best_page:
        words += ["--page", str(ROOT / sizes.best_page)]
    with Supervisor(room.logs) as supervisor:
        room.say(f"phpdyno study {sizes.best_study}")
        Builder(supervisor, runs, cache=cache_dir()).timed("study", "study", *words, most_s=MOST_S)
    view = said_by(StudyView, "study", "--resume", str(max(runs.glob(RUN))))
    if view.host is not None:
        minutes = f"{view.elapsed_s / 60:.0f} minutes of measuring"
        room.parts.append(Part(minutes, code_digest(), view.host, view.started[:10], time.strftime("%Y-%m-%d")))
    # A finished one would be gone on with the next time, whatever code that measures.
    shutil.rmtree(runs)
    return figures_of(view)


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
