"""Section `tune`: what a search gives away against measuring everything, whether seeds agree, and
whether the budget is honoured."""

import shutil
import time
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno.commands.tune.measurer import Batch
from phpdyno.commands.tune.session import laboratory, subject_of
from phpdyno.commands.tune.stages.search import TuneSearch
from phpdyno.errors import DynoError
from phpdyno.host.lock import MeasuringLock
from phpdyno.journal.tune import TuneRecord
from phpdyno.knobs.catalogue import knob_for
from phpdyno.knobs.judge import in_control
from phpdyno.model.plan import AppSource
from phpdyno.model.runs.tune import Found, TuneRequest
from phpdyno.tuning.factors import candidates_of
from phpdyno.tuning.readings import by_block
from tools.bench.figures import Figure, Target, share_figure
from tools.bench.results import Room, Say, Sizes
from tools.bench.sections.tunes import tuned

APP = "wordpress"
KNOBS = (
    "ini.opcache.jit=tracing",
    "ini.opcache.enable_file_override=1",
    "ini.opcache.validate_timestamps=0",
    "ini.output_buffering=65536",
    "ini.realpath_cache_ttl=600",
)
SEEDS = (1, 2, 3)
REGRET = Target("≤ 1 %", at_most=0.01)
SHARE = Target("≤ 30 %", at_most=0.30)
KEPT = Target("≤ 110 %", at_most=1.10)
WORTH = 0.02
"""A change of this true effect (fraction) is to be found whatever the seed."""
TERMS_LEFT = 4
"""Combinations more than terms of the model: with fewer nothing would be smoothed."""


class Truth(Struct, frozen=True):
    """What every combination does in each block, by which changes are on: log ratios against the
    control, by a model with all main effects and interactions of two. `took_s` is what measuring
    all of them took."""

    blocks: tuple[dict[tuple[int, ...], float], ...]
    took_s: float

    @property
    def logs(self) -> dict[tuple[int, ...], float]:
        """Over all blocks."""
        return {levels: fmean(block[levels] for block in self.blocks) for levels in self.blocks[0]}

    @property
    def mains(self) -> tuple[float, ...]:
        """Of each change alone."""
        logs = self.logs
        return tuple(logs[tuple(int(place == other) for other in range(len(KNOBS)))] for place in range(len(KNOBS)))

    @property
    def best(self) -> tuple[int, ...]:
        """The best combination, the control among them."""
        logs = self.logs
        return max(logs, key=lambda levels: logs[levels])

    def regrets(self, chosen: tuple[int, ...]) -> list[float]:
        """What a combination gives away against the best one, block by block."""
        best = self.best
        return [block[best] - block[chosen] for block in self.blocks]


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section."""
    runs = room.unfinished
    shutil.rmtree(runs, ignore_errors=True)
    room.say(f"all {2 ** len(KNOBS)} combinations of {len(KNOBS)} changes on {APP}: {sizes.tune_exhaustive_s / 60:.0f} minutes")
    truth = exhaustive(runs / "exhaustive", sizes, room.say)
    records = []
    for seed in SEEDS[: sizes.tune_seeds]:
        room.say(f"phpdyno tune {APP} --budget {sizes.tune_s:.0f}s --seed {seed}")
        records.append(tuned(APP, runs / f"seed-{seed}", room.logs, budget_s=sizes.tune_s, seed=seed, knobs=KNOBS))
    return figures_of(truth, records)


def figures_of(truth: Truth, records: Sequence[TuneRecord]) -> list[Figure]:
    """Regret, time, agreement, budget: of the worst seed each."""
    chosen = [levels_of(record.found.settings) for record in records]
    logs, mains = truth.logs, truth.mains
    worst = min(chosen, key=lambda levels: logs[levels])
    shares = [record.spent_s / truth.took_s for record in records]
    kept = [record.spent_s / record.asked.budget_s for record in records]
    worth = [place for place, effect in enumerate(mains) if abs(effect) >= np.log1p(WORTH)]
    right = [all(bool(levels[place]) == (mains[place] > 0) for place in worth) for levels in chosen]
    adopted = "; ".join(map(_named, chosen))
    basis = f"worst of {len(records)} seeds"
    return [
        share_figure(
            "regret against the best of all combinations, by a model of all of them",
            truth.regrets(worst),
            of=f"blocks of all combinations; {basis}",
            target=REGRET,
            detail=f"adopted: {adopted}; best: {_named(truth.best)}, which is the highest of many figures and partly by luck",
        ),
        _worst("time of a tune, of the time that all combinations took", shares, basis, SHARE, f"{truth.took_s:.0f} s for all of them"),
        _worst("time of a tune, of its budget", kept, basis, KEPT, ""),
        Figure(
            f"tunes that are right about every change of {WORTH:.0%} or more",
            "",
            float(sum(right)),
            float(sum(right)),
            float(sum(right)),
            f"{len(records)} seeds",
            Target("all", at_least=float(len(records))),
            f"{len(worth)} such changes: {', '.join(KNOBS[place] for place in worth) or 'none'}",
        ),
    ]


def levels_of(settings: Mapping[str, str]) -> tuple[int, ...]:
    """Which changes are among some settings."""
    return tuple(int(settings.get(name) == value) for name, _, value in (each.partition("=") for each in KNOBS))


def modelled(levels: Sequence[tuple[int, ...]], logs: Sequence[float]) -> dict[tuple[int, ...], float]:
    """Least squares with main effects and interactions of two, 0 where nothing is on: the best of
    32 noisy means would be best by luck."""
    rows = np.array([terms(each) for each in levels], dtype=np.float64)
    if len(rows) < rows.shape[1] + TERMS_LEFT:
        raise DynoError(f"{len(rows)} combinations are too few for {rows.shape[1]} terms")
    solution: NDArray[np.float64] = np.linalg.lstsq(rows, np.array(logs), rcond=None)[0]
    every = list(product((0, 1), repeat=len(levels[0])))
    return {each: float(np.array(terms(each)) @ solution) for each in every}


def terms(levels: Sequence[int]) -> list[int]:
    """Main effects, then interactions of two."""
    return [*levels, *(one * other for place, one in enumerate(levels) for other in levels[place + 1 :])]


def exhaustive(run: Path, sizes: Sizes, say: Say) -> Truth:
    """Every combination against the control, in blocks of all of them."""
    run.mkdir(parents=True)
    subject = subject_of(TuneRequest(source=AppSource(APP), budget_s=sizes.tune_exhaustive_s, knobs=KNOBS))
    began = time.monotonic()
    with MeasuringLock(), laboratory(subject, run, argv=(), progress=Told(say)) as (measurer, preflight):
        search = TuneSearch(measurer, preflight.host, Found(), keep=lambda _: None, tell=say)
        search_state = search.look()
        base = in_control(search_state.facts, measurer.settings("cpu"))
        changes = [candidates_of({name: (value,)}, base, knob_for)[0] for name, _, value in (each.partition("=") for each in KNOBS)]
        every = [levels for levels in product((0, 1), repeat=len(changes)) if any(levels)]
        arms = []
        for levels in every:
            chosen = [each.settings for each, level in zip(changes, levels, strict=True) if level]
            arms.append(measurer.arm(_name(levels), {name: value for settings in chosen for name, value in settings.items()}, "cpu"))
        fitting = int(measurer.clock.left_s() / measurer.block_s(search_state.known, sizes.tune_pairs, len(arms)))
        batch = Batch(max(2, fitting), sizes.tune_pairs)
        state = search.measure("exhaustive", arms, measurer.fixed(search_state.known, batch, len(arms)), measurer.clock.left_s())
    return truth_of({levels: by_block("cpu", [state.observations], _name(levels)) for levels in every}, time.monotonic() - began)


def truth_of(logs: Mapping[tuple[int, ...], Mapping[int, float]], took_s: float) -> Truth:
    """From the log ratios of every combination by block; blocks in which one is missing are left
    out."""
    whole = sorted(set.intersection(*(set(each) for each in logs.values())))
    if not whole:
        raise DynoError("no block has all combinations")
    return Truth(tuple(modelled(list(logs), [each[block] for each in logs.values()]) for block in whole), took_s)


class Told:
    """Phases are said, time is not."""

    def __init__(self, say: Say) -> None:
        self.phase = say
        self.note = say

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None:
        """Not shown."""


def _named(levels: Sequence[int]) -> str:
    return ", ".join(KNOBS[place] for place, level in enumerate(levels) if level) or "nothing"


def _name(levels: Sequence[int]) -> str:
    return "".join(map(str, levels))


def _worst(name: str, values: Sequence[float], basis: str, target: Target, detail: str) -> Figure:
    """A share whose interval are the extremes of the few that there are."""
    return Figure(name, "%", max(values), min(values), max(values), basis, target, detail)
