"""Warm-up ends on state, not on time: scripts cached, machine code compiled, every target served."""

import math
import time
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from phpdyno.experiment.slot import Lane, SharedMeters, measure_slot
from phpdyno.model.facts import WorkerFacts
from phpdyno.stack.bench import Bench
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


def warm_up(lane: Lane, shared: SharedMeters, bench: Bench, *, targets: int, env_names: Sequence[str], workers: int) -> Warm:
    """Serve every target until opcache and JIT change no more, 20 s at most. Raises ArmFailed when a request fails."""
    every_target = np.arange(targets, dtype=np.uint32)
    sequence = np.tile(every_target, max(1, workers))
    deadline = time.monotonic() + CAP_S
    unchanged = rounds = 0
    state: tuple[int, ...] | None = None
    while True:
        reading = measure_slot(lane, shared, sequence)
        if reading.failure:
            why = lane.instance.complaint()
            raise ArmFailed(lane.instance.arm, f"requests fail during warm-up: {reading.failure}{f'; {why}' if why else ''}")
        facts = lane.instance.read_facts(bench.probe, tuple(env_names))
        rounds += 1
        unchanged = unchanged + 1 if state == _state_of(facts) else 0
        state = _state_of(facts)
        steady = unchanged >= ROUNDS_WITHOUT_CHANGE or state == STATELESS
        if steady or time.monotonic() > deadline:
            count = len(sequence)
            return Warm(facts, reading.wall_ns // count, reading.php_ns // count, steady)
        repeats = math.ceil(ROUND_NS / max(1, reading.wall_ns // len(sequence) * targets))
        sequence = np.tile(every_target, max(workers, repeats))


def _state_of(facts: WorkerFacts) -> tuple[int, ...]:
    if facts.opcache is None:
        return STATELESS
    jit = facts.opcache.jit
    # A trace now and then goes on for long after the bulk is compiled; a page of machine code is where it starts to matter.
    return (facts.opcache.scripts, (jit.buffer_free_bytes // NOTABLE_JIT_BYTES) if jit else 0)
