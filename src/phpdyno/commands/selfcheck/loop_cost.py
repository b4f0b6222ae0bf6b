"""What a turn of the busy loop costs here: slots at several numbers of turns, interleaved, and the
line through them."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno.errors import DynoError
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters, measure_slot
from phpdyno.experiment.common.stage import Stage
from phpdyno.experiment.common.warm_up import warm_up
from phpdyno.experiment.comparison.schedule import deal
from phpdyno.host.cores import on_cores
from phpdyno.journal.checks import LoopCost, SelfcheckRequest
from phpdyno.model.arm import Arm
from phpdyno.model.facts import HostFacts
from phpdyno.model.plan import Panel
from phpdyno.session.arms import make_arms
from phpdyno.stats.line import Line, fit_line

SPIN = "env.PHPDYNO_SPIN"
PILOT_TURNS = (100_000, 800_000, 6_400_000, 51_200_000)
SEEN = 1.3
"""The loop is seen where a request with it costs this many times what it costs without: ten times
the noise of a few requests."""
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
LEAST_TURNS = 100
"""Of the cheaper arm: the first turns bring the loop's code into the caches, and cost 200 ns
(hello: 0.3 %) of which no line through thousands of turns knows. Both arms have them."""
ROTATIONS = 24
SLOT_NS = 8_000_000
GROUND_SEED = 3_000_017


class Loop(Struct, frozen=True):
    """A stage whose app turns PHPDYNO_SPIN times before each request does what it does."""

    stage: Stage
    shared: SharedMeters


def measure_ground(loop: Loop, wish: SelfcheckRequest, host: HostFacts, progress: Progress) -> LoopCost:
    """Measure `wish.rounds` rounds on fresh instances each. Raises DynoError when turns do not cost
    what a line says at all."""
    generator = np.random.Generator(np.random.PCG64(wish.seed + GROUND_SEED))
    with on_cores(loop.stage.cores.helpers):
        progress.phase("how much does a turn of the loop cost")
        base, unit = _pilot(loop, generator)
        # The line is measured up to turns that cost as much as the app itself: the dearer arm of
        # any effect up to 100 % lies inside.
        levels = tuple(LEAST_TURNS + round(share * math.ceil(base / unit)) for share in LEVELS)
        costs = []
        for number in range(wish.rounds):
            progress.phase(f"cost over turns of the loop: round {number + 1} of {wish.rounds}")
            costs.append(_round(loop, levels, generator))
    line = _fitted(levels, costs)
    more = line.turns_for(wish.effect, LEAST_TURNS)
    return LoopCost(
        host=host,
        app_version=loop.stage.app.version,
        levels=levels,
        costs_ns=tuple(costs),
        line=line,
        turns=LEAST_TURNS,
        more_turns=more,
        effect=line.effect(LEAST_TURNS, more),
    )


def _pilot(loop: Loop, generator: np.random.Generator) -> tuple[float, float]:
    """Roughly what a request costs without turns, and what a turn costs (ns)."""
    for turns in PILOT_TURNS:
        base, spun = _round(loop, (0, turns), generator)
        if spun > SEEN * base:
            return base, (spun - base) / turns
    raise DynoError("the busy loop costs nothing that can be seen here", next_step="try again on a quieter host")


def _fitted(levels: Sequence[int], costs: Sequence[Sequence[float]]) -> Line:
    try:
        return fit_line(levels, costs)
    except ValueError as error:
        raise DynoError(f"the size of a planted effect cannot be known: {error}", next_step="try again on a quieter host") from error


def _round(loop: Loop, levels: Sequence[int], generator: np.random.Generator) -> tuple[float, ...]:
    """CPU per request (ns) at each level, every level on a fresh instance, slots interleaved in
    random order, the same requests for all."""
    weights = [target.weight for target in loop.stage.app.workload.targets]
    with _driven_instances(loop, levels) as driven_instances:
        warm = [warm_up(driven, loop.shared, metric="cpu", weights=weights, env_names=(), workers=1) for driven in driven_instances]
        # What a request costs once it is repeated: warm-up ends as soon as nothing changes, and its
        # few requests are the dearest.
        settling = deal(generator, weights, max(1, round(SLOT_NS / max(each.request_cpu_ns for each in warm))))
        for driven in driven_instances:
            driven.begin()
        dearest_ns = max(_cost_ns(loop, driven, settling) / settling.size for driven in driven_instances)
        requests = max(1, round(SLOT_NS / max(1.0, dearest_ns)))
        deck = deal(generator, weights, ROTATIONS * requests).reshape(ROTATIONS, requests)
        totals = [0] * len(levels)
        for sequence in deck:
            for index in generator.permutation(len(levels)):
                totals[index] += _cost_ns(loop, driven_instances[index], sequence)
    return tuple(total / deck.size for total in totals)


def _cost_ns(loop: Loop, driven: DrivenInstance, sequence: NDArray[np.uint32]) -> int:
    reading = measure_slot(driven, loop.shared, sequence)
    if reading.failures:
        raise DynoError(f"requests fail: {dict(reading.failures)}", where=driven.instance.arm.name)
    return reading.php_ns


@contextmanager
def _driven_instances(loop: Loop, levels: Sequence[int]) -> Iterator[list[DrivenInstance]]:
    stage = loop.stage
    arms = [spinning(level) for level in levels]
    panel = Panel("cpu", arms[0], (), 1)
    instances = stage.start(arms)
    try:
        yield [driven_instance(each, stage, panel, workload=stage.app.workload, transport="fastcgi", lengths={}) for each in instances]
    finally:
        stage.stop(instances)


def spinning(turns: int) -> Arm:
    """The control with so many turns of the loop in each request."""
    return make_arms(f"{SPIN}={turns}", (), aa=True).control
