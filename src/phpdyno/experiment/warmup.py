"""Warm-up ends on state, not on time: scripts cached, machine code compiled, every target served."""

import math
import time
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from phpdyno.drive.driver import Samples, in_words
from phpdyno.experiment.slot import Lane, SharedMeters, measure_slot, service_ns
from phpdyno.model.facts import WorkerFacts
from phpdyno.model.plan import Metric
from phpdyno.stack.instance import ArmFailed

CAP_S = 20.0
ROUNDS_WITHOUT_CHANGE = 2
NOTABLE_JIT_BYTES = 4096
STATELESS = (0,)
"""Without opcache nothing is kept from one request to the next, so one round is enough."""
ROUND_NS = 60_000_000
"""Least length of a round: a fast app needs hundreds of requests before its hot code is compiled."""


class Warm(Struct, frozen=True):
    """An instance after warm-up: its worker's facts, and what a request of the mix cost in the last round (wall and CPU, ns)."""

    facts: WorkerFacts
    request_wall_ns: int
    request_cpu_ns: int
    steady: bool


def warm_up(lane: Lane, shared: SharedMeters, *, metric: Metric, weights: Sequence[float], env_names: Sequence[str], workers: int) -> Warm:
    """Serve every target until opcache and JIT change no more, 20 s at most.

    Raises ArmFailed when a request fails (for throughput: when all of a round do).
    """
    every_target = np.arange(len(weights), dtype=np.uint32)
    turns = math.ceil(workers / len(weights))
    sequence = np.tile(every_target, turns)
    deadline = time.monotonic() + CAP_S
    unchanged = rounds = 0
    state: tuple[int, ...] | None = None
    while True:
        lane.begin()
        reading = measure_slot(lane, shared, sequence)
        if reading.failures and (metric == "cpu" or reading.valid == 0):
            why = lane.instance.complaint()
            raise ArmFailed(lane.instance.arm, f"requests fail during warm-up: {in_words(reading.failures)}{f'; {why}' if why else ''}")
        if reading.php_ns <= 0:
            raise ArmFailed(lane.instance.arm, "php-fpm does nothing for these targets (static files?), so its CPU time cannot judge them")
        facts = lane.instance.read_facts(tuple(env_names))
        rounds += 1
        unchanged = unchanged + 1 if state == _state_of(facts) else 0
        state = _state_of(facts)
        steady = unchanged >= ROUNDS_WITHOUT_CHANGE or state == STATELESS
        if steady or time.monotonic() > deadline:
            wall_ns = mix_wall_ns(reading.samples, weights)
            served_ns = int(service_ns(reading.samples)[reading.samples.outcome == 0].sum())
            return Warm(facts, wall_ns, reading.php_ns * wall_ns // max(1, served_ns), steady)
        repeats = math.ceil(ROUND_NS / max(1, reading.wall_ns // len(sequence) * len(weights)))
        sequence = np.tile(every_target, max(turns, repeats))


def _state_of(facts: WorkerFacts) -> tuple[int, ...]:
    if facts.opcache is None:
        return STATELESS
    jit = facts.opcache.jit
    # A trace now and then goes on for long after the bulk is compiled; a page of machine code is where it starts to matter.
    return (facts.opcache.scripts, (jit.buffer_free_bytes // NOTABLE_JIT_BYTES) if jit else 0)


def mix_wall_ns(samples: Samples, weights: Sequence[float]) -> int:
    """Mean service time of a request of the weighted mix in nanoseconds; a round asks for every target equally often."""
    share = np.asarray(weights, dtype=np.float64)
    valid = samples.outcome == 0
    service, target = service_ns(samples)[valid].astype(np.float64), samples.target[valid]
    if np.unique(target).size < share.size:
        return int(service.mean())
    return int(np.average([service[target == index].mean() for index in range(share.size)], weights=share))
