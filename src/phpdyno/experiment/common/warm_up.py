"""Warm-up ends on state, not on time: scripts cached, machine code compiled, every target
served."""

import math
import time
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno.drive.driver import Samples, in_words
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters, SlotReading, measure_slot, service_ns
from phpdyno.experiment.common.stage import RequestFailed
from phpdyno.model.facts import WorkerFacts
from phpdyno.model.plan import Metric
from phpdyno.servers.instance import ArmFailed, keeps_connections

CAP_S = 20.0
NOTABLE_JIT_BYTES = 4096
STATELESS = (0,)
"""Without opcache nothing is kept from one request to the next, so one round is enough."""


class Steadiness(Struct, frozen=True):
    """How many rounds in a row must change nothing, and how long a round is to last; one of less
    than half of it says nothing."""

    rounds: int
    round_ns: int


SCRIPTS = Steadiness(rounds=1, round_ns=10_000_000)
"""A script is cached by the first request that needs it: hello, WordPress, MediaWiki and Symfony
cost in the second round what they cost in the tenth, so one round that finds everything in place
says as much as several."""
MACHINE_CODE = Steadiness(rounds=2, round_ns=60_000_000)
"""The JIT may rest for a round, and a fast app needs hundreds of requests before its hot code is
compiled."""


class Warm(Struct, frozen=True):
    """An instance after warm-up: its worker's facts, and what a request of the mix cost in the last
    round (wall and CPU, ns)."""

    facts: WorkerFacts
    request_wall_ns: int
    request_cpu_ns: int
    steady: bool


IDLE_ROUNDS = 3
NOTHING_DONE = "php-fpm does nothing for these targets (static files?), so its CPU time cannot judge them"


def warm_up(
    driven: DrivenInstance,
    shared: SharedMeters,
    *,
    metric: Metric,
    weights: Sequence[float],
    env_names: Sequence[str],
    workers: int,
    served: bool = False,
    patience: int = 1,
) -> Warm:
    """Serve every target until opcache and JIT change no more, 20 s at most. `served`: it has
    served each of them once. `patience`: so many times as many rounds must change nothing.

    Idle workers take requests in turn, so what is asked as often as there are `workers` reaches
    them all: for CPU, which is timed request by request, that is every target; under load each
    worker serves one of them.

    Raises RequestFailed when a request does (for throughput: when all of a round do).
    """
    every_target = np.arange(len(weights), dtype=np.uint32)
    once = np.repeat(every_target, workers) if metric == "cpu" else np.tile(every_target, math.ceil(workers / len(weights)))
    sequence = once
    deadline = time.monotonic() + CAP_S
    unchanged = idle = 0
    state = _state_of(driven.instance.read_facts(tuple(env_names))) if served else None
    while True:
        reading = _round(driven, shared, sequence, metric)
        # A process that has just answered may still be on its CPU, and its time is not counted
        # before it leaves it.
        idle = idle + 1 if reading.php_ns <= 0 else 0
        if idle:
            if idle == IDLE_ROUNDS:
                raise ArmFailed(driven.instance.arm, NOTHING_DONE)
            continue
        facts = driven.instance.read_facts(tuple(env_names))
        wanted = MACHINE_CODE if _compiles(facts) else SCRIPTS
        if state != _state_of(facts):
            unchanged = 0
        elif 2 * reading.wall_ns >= wanted.round_ns:
            unchanged += 1
        state = _state_of(facts)
        steady = unchanged >= patience * wanted.rounds or state == STATELESS
        if steady or time.monotonic() > deadline:
            wall_ns = mix_wall_ns(reading.samples, weights)
            served_ns = int(service_ns(reading.samples)[reading.samples.outcome == 0].sum())
            facts = _look_for_kept(driven, shared, facts, targets=every_target, metric=metric, env_names=env_names)
            return Warm(facts, wall_ns, reading.php_ns * wall_ns // max(1, served_ns), steady)
        repeats = math.ceil(wanted.round_ns / max(1, reading.wall_ns // len(sequence) * len(weights)))
        sequence = np.tile(once, max(1, math.ceil(repeats * len(weights) / len(once))))


def _look_for_kept(
    driven: DrivenInstance,
    shared: SharedMeters,
    facts: WorkerFacts,
    *,
    targets: NDArray[np.uint32],
    metric: Metric,
    env_names: Sequence[str],
) -> WorkerFacts:
    """The facts, of a moment at which a connection to the pool is kept if nginx keeps any.

    It closes one whose answer it passes on from elsewhere (X-Accel-Redirect). Where that was the
    last, each target is asked by itself until a connection stays.
    """
    if facts.servers.kept_connections != 0 or not keeps_connections(driven.instance.arm):
        return facts
    for target in targets:
        _round(driven, shared, np.asarray([target]), metric)
        facts = driven.instance.read_facts(tuple(env_names))
        if facts.servers.kept_connections:
            break
    return facts


def _round(driven: DrivenInstance, shared: SharedMeters, sequence: NDArray[np.uint32], metric: Metric) -> SlotReading:
    driven.begin()
    reading = measure_slot(driven, shared, sequence)
    if reading.failures and (metric == "cpu" or reading.valid == 0):
        raise RequestFailed(driven.instance, f"requests fail during warm-up: {in_words(reading.failures)}")
    return reading


def _compiles(facts: WorkerFacts) -> bool:
    return facts.opcache is not None and facts.opcache.jit is not None and facts.opcache.jit.buffer_size_bytes > 0


def compiled_since(warm: WorkerFacts, now: WorkerFacts) -> str:
    """What opcache or the JIT compiled since an instance was warm, in words; '' for nothing that
    matters."""
    if warm.opcache is None or now.opcache is None or _state_of(warm) == _state_of(now):
        return ""
    scripts = now.opcache.scripts - warm.opcache.scripts
    jit = (warm.opcache.jit, now.opcache.jit)
    code = jit[0].buffer_free_bytes - jit[1].buffer_free_bytes if jit[0] and jit[1] else 0
    told = [f"{scripts} scripts more"] if scripts > 0 else []
    told += [f"{code / 1024:.0f} KiB of machine code more"] if code >= NOTABLE_JIT_BYTES else []
    return " and ".join(told)


def _state_of(facts: WorkerFacts) -> tuple[int, ...]:
    if facts.opcache is None:
        return STATELESS
    jit = facts.opcache.jit
    # A trace now and then goes on for long after the bulk is compiled; a page of machine code is
    # where it starts to matter.
    return (facts.opcache.scripts, (jit.buffer_free_bytes // NOTABLE_JIT_BYTES) if jit else 0)


def mix_wall_ns(samples: Samples, weights: Sequence[float]) -> int:
    """Mean service time of a request of the weighted mix in nanoseconds; a round asks for every
    target equally often."""
    share = np.asarray(weights, dtype=np.float64)
    valid = samples.outcome == 0
    service, target = service_ns(samples)[valid].astype(np.float64), samples.target[valid]
    if np.unique(target).size < share.size:
        return int(service.mean())
    return int(np.average([service[target == index].mean() for index in range(share.size)], weights=share))
