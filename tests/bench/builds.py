"""Section `builds`: how long a build takes, and what the steps of a ladder on WordPress bring, knobs on top included."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from phpdyno.errors import DynoError
from phpdyno.model.ladder import StepFound
from phpdyno.model.tune import Ratio
from phpdyno.report.ladder_view import LadderView, standing
from phpdyno.stack.supervise import Supervisor
from tests.bench.figures import Figure, Target, median_figure
from tests.bench.results import Room, Sizes

FROM_NOTHING = Target("≤ 12 min", at_most=720.0)
FOUND_AGAIN = Target("≤ 5 s", at_most=5.0)
IN_ALL = {
    "pgo": Target("≥ 1.10×", at_least=1.10),
    "pgo+bolt": Target("≥ 1.14×", at_least=1.14),
    "JIT and preloading": Target("≥ 1.25×", at_least=1.25),
}
"""Of a step against the stock PHP."""
BUILD_S, GRACE_S = 3600.0, 300.0


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section, with a cache of its own that begins empty."""
    shutil.rmtree(room.unfinished, ignore_errors=True)
    cache, runs = room.unfinished / "cache", room.unfinished / "runs"
    cache.mkdir(parents=True)
    env = {**os.environ, "PHPDYNO_CACHE": str(cache)}
    with Supervisor(room.logs) as supervisor:

        def timed(name: str, *words: str, most_s: float) -> float:
            began = time.monotonic()
            argv = [sys.executable, "-m", "phpdyno", *words, *sizes.build_options, "--runs", str(runs)]
            child = supervisor.run(name, argv, env=env, as_service=False, timeout_s=most_s)
            if child.status != 0:
                raise DynoError(f"phpdyno {words[0]} {child.ended_how()}: {child.tail()}")
            return time.monotonic() - began

        build = ("build", "--train", sizes.build_app, "--recipe", "pgo")
        room.say(f"phpdyno {' '.join(build)}, nothing in the cache")
        took_s = timed("build", *build, most_s=BUILD_S)
        again = [timed("build-again", *build, most_s=BUILD_S) for _ in range(sizes.build_again)]
        room.say(f"phpdyno ladder {sizes.build_app}")
        recipes = [word for recipe in sizes.build_recipes for word in ("--recipe", recipe)]
        budget_s = sizes.build_ladder_s
        timed("ladder", "ladder", sizes.build_app, *recipes, "--budget", f"{budget_s:.0f}s", most_s=3 * BUILD_S + budget_s + GRACE_S)
    (run,) = [each for each in runs.iterdir() if (each / "ladder.json").is_file()]
    found = [
        Figure("PGO build, nothing in the cache", "s", took_s, took_s, took_s, "one build", FROM_NOTHING),
        median_figure("the same build, found in the cache", again, target=FOUND_AGAIN),
        *figures_of(view_of(run)),
    ]
    # Two gigabytes that nobody needs any more.
    shutil.rmtree(cache)
    return found


def view_of(run: Path) -> LadderView:
    """What the ladder's own report says. Raises DynoError."""
    answer = subprocess.run([sys.executable, "-m", "phpdyno", "report", str(run), "--json"], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise DynoError(f"phpdyno report failed: {answer.stderr.strip()}")
    return msgspec.json.decode(answer.stdout, type=LadderView)


def figures_of(view: LadderView) -> list[Figure]:
    """Each step against what it stands on, then each against the stock PHP."""
    beside = [_figure(f"{each.step.name} on {each.step.on}", each, each.ratio, None) for each in view.steps]
    in_all = [_figure(f"{each.step.name}, in all", each, each.total, IN_ALL.get(each.step.name)) for each in view.steps]
    return [*beside, *in_all]


def _figure(name: str, found: StepFound, ratio: Ratio | None, target: Target | None) -> Figure:
    name = f"CPU per request: {name}"
    if ratio is None:
        return Figure(name, "×", 1.0, None, None, found.reason or "no number", target)
    return Figure(name, "×", ratio.value, ratio.low, ratio.high, f"{ratio.blocks} blocks", target, standing(found))
