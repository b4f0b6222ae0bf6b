"""Before a treatment is called improved it is asked for more answers, unmeasured: an effect may be
certain after a few hundred, in which an answer that is wrong once in ten thousand does not show."""

import math
import time

import numpy as np

from phpdyno.drive.driver import in_words
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters, measure_slot
from phpdyno.experiment.comparison.block import slot_failed
from phpdyno.experiment.comparison.findings import Findings
from phpdyno.experiment.comparison.instance_set import InstanceSet, InstanceSetStart
from phpdyno.experiment.comparison.schedule import deal

ENOUGH = 30_000
"""Answers: of a treatment that is wrong once in ten thousand, these show it 19 times in 20."""
BUDGET_SHARE = 0.25
LEAST_S = 10.0
TURN_NS = 500_000_000
SEED = 4_000_037
"""Added to the plan's seed, so that other requests are drawn than in the blocks."""


def seconds_for(budget_s: float, left_s: float, treatments: int) -> float:
    """How long a treatment may be asked for more answers: a quarter of the budget, ten seconds at
    least, and no more than its part of what is left for all open treatments."""
    return min(max(LEAST_S, BUDGET_SHARE * budget_s), left_s / max(1, treatments))


class MoreAnswers:
    """Asks treatments of one panel."""

    def __init__(self, starter: InstanceSetStart, findings: Findings, shared: SharedMeters) -> None:
        self._starter = starter
        self._findings = findings
        self._shared = shared
        self._log = starter.log

    def ask(self, instance_set: InstanceSet, name: str, block: int, *, treatments: int, most_s: float = math.inf) -> None:
        """Drive a live treatment until it has given enough answers, a wrong one can be no chance,
        or its time is over; the control as well as soon as one was wrong."""
        log, panel = self._log, self._starter.panel
        driven, control = instance_set.treatments.get(name), instance_set.control
        if driven is None or self._given(name) >= ENOUGH:
            return
        log.phase(f"block {block + 1}: is any answer wrong that {name} gives")
        deadline = time.monotonic() + min(most_s, seconds_for(log.plan.budget_s, log.left_s(), treatments))
        count = max(1, math.ceil(TURN_NS * panel.concurrency / instance_set.warm[name].request_wall_ns))
        generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([log.plan.seed + SEED, block])))
        while self._given(name) < ENOUGH and time.monotonic() < deadline and name not in log.state.verdicts:
            began = time.monotonic()
            turns = (driven, control) if self._findings.may_be_the_controls(name) else (driven,)
            answered = all(self._turn(each, count, generator, block, instance_set) for each in turns)
            self._starter.take_answers(instance_set, block)
            if not answered:
                return
            log.tick()
            took_ns = (time.monotonic() - began) * 1e9 / len(turns)
            count = max(1, math.ceil(count * min(4.0, max(0.25, TURN_NS / took_ns))))

    def _given(self, name: str) -> int:
        answered = self._log.state.answered.get(name)
        return answered.total if answered else 0

    def _turn(self, driven: DrivenInstance, count: int, generator: np.random.Generator, block: int, instance_set: InstanceSet) -> bool:
        """Whether all requests were answered."""
        weights = [target.weight for target in self._log.plan.workload.targets]
        reading = measure_slot(driven, self._shared, deal(generator, weights, count))
        if slot_failed(reading, self._starter.panel.metric):
            name = driven.instance.arm.name
            self._findings.take_failures(block, {name: in_words(reading.failures)}, instance_set.driven_instances)
            return False
        return True
