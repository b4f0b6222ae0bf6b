"""Section `sizing`: what `phpdyno size` recommends, held against an exhaustive sweep of pools, on
three targets whose limits are known."""

import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from tests.support.fakes.fake_study import FakeProgress

from phpdyno.commands.measure.run import MeasureRequest
from phpdyno.commands.measure.run import measure as sweep_pools
from phpdyno.commands.size.decision.caps import cost_of_pools
from phpdyno.commands.size.decision.models import searched
from phpdyno.commands.size.found import SizeFound
from phpdyno.commands.size.record import SizeRun, read_size
from phpdyno.commands.size.request import SizeRequest
from phpdyno.commands.size.result import found_of
from phpdyno.commands.size.run import size
from phpdyno.journal.sweep import Sweep, read_sweep
from phpdyno.model.plan import AppSource
from phpdyno.model.runs.sweep import Point
from phpdyno.stats.visits import throughput, throughput_of, visits_of
from tools.bench.figures import Figure, Target, Unit, ratio_figure
from tools.bench.results import Room, Sizes

LEAST_SHARE = 0.97
MOST_TIME = 0.30
PSS_WITHIN, P99_WITHIN = 0.10, 0.15
COMPUTES = "<?php $x = 0; for ($i = 0; $i < 400000; $i++) { $x = ($x * 31 + $i) % 1000003; } echo 'done ', $x;\n"
SLEEPS = "<?php usleep(20000); $x = 0; for ($i = 0; $i < 10000; $i++) { $x = ($x * 31 + $i) % 1000003; } echo 'done ', $x;\n"
ASKS = """<?php
$row = (new mysqli('localhost', 'root', '', 'words'))->query('SELECT BENCHMARK(3000, MD5(RAND())) AS n')->fetch_row();
echo 'done ', $row[0];
"""


class Goal(Struct, frozen=True):
    """One target: its name, its page, the pools and the loads of the exhaustive sweep."""

    name: str
    page: str
    pools: tuple[int, ...]
    loads: tuple[int, ...]
    database: bool = False


SMALL = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24)
GOALS = (
    Goal("computing", COMPUTES, SMALL, (4, 16, 48)),
    Goal("asking the database", ASKS, SMALL, (4, 16, 48), database=True),
    Goal("sleeping", SLEEPS, (16, 32, 48, 64, 80, 96, 112, 128, 160, 192), (240, 400)),
)


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section."""
    figures: list[Figure] = []
    for goal in GOALS:
        figures += _of_goal(goal, sizes, room)
    return figures


def _of_goal(goal: Goal, sizes: Sizes, room: Room) -> list[Figure]:
    source = AppSource(reference=str(_app(goal, room.logs)))
    room.say(f"{goal.name}: phpdyno size")
    began = time.monotonic()
    run = size(
        SizeRequest(source, budget_s=sizes.sizing_s, managers=False), runs=room.logs / "size", argv=tuple(sys.argv), progress=FakeProgress()
    )
    took_s = time.monotonic() - began
    record = read_size(run)
    found = found_of(record, run.name)
    if found is None:
        raise RuntimeError("a run of size that ended has no answer")
    room.say(f"{goal.name}: {found.answer}")
    pools = goal.pools if sizes.sizing_pools == 0 else goal.pools[:: max(1, len(goal.pools) // sizes.sizing_pools)]
    began = time.monotonic()
    sweep = _swept(source, pools, goal.loads, rounds_s=sizes.sizing_sweep_s, room=room)
    swept_s = time.monotonic() - began
    best = max(pools, key=lambda workers: _best(sweep, workers))
    twice = 2 * found.cores
    room.say(f"{goal.name}: the sweep's best is {best} workers; paired")
    figures = [
        _paired(goal, source, (found.recommended.workers, best), sizes, room),
        _time_share(goal, took_s, swept_s),
        *_foretold(goal, found, record),
    ]
    if goal.name == "sleeping":
        # By itself: a hundred requests in flight before a few workers that sleep take minutes.
        few = _swept(source, (twice,), (4 * twice,), rounds_s=30.0, room=room)
        figures.append(_factor(goal, found, twice, _best(sweep, best) / _best(few, twice)))
    return figures


def _app(goal: Goal, logs: Path) -> Path:
    folder = logs / goal.name.replace(" ", "-")
    (folder / "site").mkdir(parents=True, exist_ok=True)
    (folder / "site" / "index.php").write_text(goal.page)
    sql = ""
    if goal.database:
        (folder / "dump.sql").write_text("CREATE DATABASE words;\n")
        sql = 'sql = "dump.sql"\n'
    text = f'name = "{folder.name}"\ndocroot = "site"\n{sql}[[target]]\npath = "/"\nanswers = "status"\n'
    (folder / "app.toml").write_text(text)
    return folder / "app.toml"


def _swept(source: AppSource, pools: Sequence[int], loads: Sequence[int], *, rounds_s: float, room: Room) -> Sweep:
    first, *others = (f"pool.pm=static;pool.pm.max_children={workers}" for workers in pools)
    points = tuple(map(Point, loads))
    asked = MeasureRequest(
        source=source, control=first, others=tuple(others), points=points, budget_s=rounds_s, most_budget_s=20 * rounds_s
    )
    return read_sweep(sweep_pools(asked, runs=room.logs / "sweep", argv=tuple(sys.argv), progress=FakeProgress()))


def _name(workers: int) -> str:
    return f"pool.pm=static;pool.pm.max_children={workers}"


def _best(sweep: Sweep, workers: int) -> float:
    """The highest throughput of a pool over all loads."""
    rates = (throughput(visits_of(sweep.visits, _name(workers), point), 0.95) for point in sweep.plan.points)
    return max((figure.value for figure in rates if figure is not None), default=0.0)


def _paired(goal: Goal, source: AppSource, pools: tuple[int, int], sizes: Sizes, room: Room) -> Figure:
    """Our pool over the sweep's best, in rounds of fresh pools beside each other at each one's
    saturation."""
    ours, best = pools
    name, target = f"{goal.name}: recommended / best of the sweep", Target(f"≥ {LEAST_SHARE:.0%}", at_least=LEAST_SHARE)
    detail = f"{ours} and {best} workers"
    if ours == best:
        return Figure(name, "%", 1.0, 1.0, 1.0, "the same pool", target, detail)
    load = min(480, 2 * max(ours, best) + 8)
    points = (Point(load), Point(max(8, load // 2)))
    asked = MeasureRequest(
        source=source,
        control=_name(ours),
        others=(_name(best),),
        points=points,
        budget_s=sizes.sizing_paired_s,
        most_budget_s=600.0,
        seed=7,
    )
    sweep = read_sweep(sweep_pools(asked, runs=room.logs / "paired", argv=tuple(sys.argv), progress=FakeProgress()))
    logs = []
    for number in sorted({visit.round for visit in sweep.visits}):
        of = {
            workers: max(throughput_of(visit) for visit in sweep.visits if visit.round == number and visit.arm == _name(workers))
            for workers in (ours, best)
        }
        logs.append(math.log(of[ours] / of[best]))
    figure = ratio_figure(name, logs, alpha=0.05, target=target, detail=detail)
    return Figure(name, "%", figure.estimate, figure.low, figure.high, figure.basis, target, detail)


def _time_share(goal: Goal, took_s: float, swept_s: float) -> Figure:
    detail = f"{took_s:.0f} and {swept_s:.0f} s"
    return _once(
        f"{goal.name}: time of size / of the sweep", "%", took_s / swept_s, Target(f"≤ {MOST_TIME:.0%}", at_most=MOST_TIME), detail
    )


def _once(name: str, unit: Unit, value: float, target: Target, detail: str) -> Figure:
    """A figure of a single run."""
    return Figure(name, unit, value, value, value, "1 run", target, detail)


def _foretold(goal: Goal, found: SizeFound, record: SizeRun) -> list[Figure]:
    """Memory and p99 as they were foretold over what was measured then."""
    pool = found.recommended
    figures = []
    cost = cost_of_pools([each for each in searched(record) if each.workers != pool.workers])
    if cost is not None and pool.memory_kib:
        target = Target("±10 %", at_least=1 - PSS_WITHIN, at_most=1 + PSS_WITHIN)
        ratio, detail = cost.total_kib(pool.workers) / pool.memory_kib, f"{pool.memory_kib / 1024:.0f} MiB"
        figures.append(_once(f"{goal.name}: memory foretold / measured", "×", ratio, target, detail))
    name, told = f"{goal.name}: p99 foretold / measured", Target("±15 %", at_least=1 - P99_WITHIN, at_most=1 + P99_WITHIN)
    measured, foretold = pool.p99_ms, pool.predicted_p99_ms
    if measured is None or foretold is None:
        return [*figures, Figure(name, "×", math.nan, None, None, "not measured", told)]
    high, low = measured.high or measured.value, measured.low or measured.value
    agree = "they agree" if pool.within else "they differ"
    detail = f"{foretold.value:.1f} and {measured.value:.1f} ms at {pool.rate_per_s:.0f}/s, {agree}"
    ratio = foretold.value / measured.value
    return [*figures, Figure(name, "×", ratio, foretold.value / high, foretold.value / low, "rounds", told, detail)]


def _factor(goal: Goal, found: SizeFound, twice: int, by_sweep: float) -> Figure:
    """By how much the recommended pool beats cores × 2, over the factor that the sweep shows."""
    row = next(each for each in found.confirmed if each.workers == twice)
    if row.over is None:
        raise RuntimeError("cores × 2 was not confirmed")
    low, high = (None if end is None else end / by_sweep for end in (row.over.low, row.over.high))
    return Figure(
        f"{goal.name}: gain over cores × 2 / the sweep's",
        "×",
        row.over.value / by_sweep,
        low,
        high,
        f"{row.over.rounds} rounds",
        Target(f"≥ {LEAST_SHARE:g}", at_least=LEAST_SHARE),
        f"{row.over.value:.1f}× and {by_sweep:.1f}×",
    )
