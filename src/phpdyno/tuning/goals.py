"""What a tune is to improve, and what it must not pay for it."""

import math
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from phpdyno.model.runs.tune import Goal
from phpdyno.stats.comparison.judge import margin_log
from phpdyno.stats.comparison.sequence import confidence_sequence
from phpdyno.stats.exact import share_interval
from phpdyno.stats.service_time import has_beyond

GOAL_WORDS: dict[Goal, str] = {
    "cpu": "less CPU per request",
    "throughput": "more requests per second",
    "p99": "a lower 99th percentile of the service time",
    "memory": "less memory per worker",
}

RailName = Literal["memory", "p99", "errors"]


class GoalReadings(Struct, frozen=True):
    """One arm in one block: totals over its slots. None: was not read.

    `cpu_ns` is PHP's, `stack_ns` that of web server and database as well. `memory_kib` is the
    private memory of one worker, `p99_ns` the 99th percentile of its service times.
    """

    requests: int
    failed: int
    cpu_ns: int
    drive_ns: int
    p99_ns: int | None = None
    memory_kib: int | None = None
    stack_ns: int | None = None


class Rails(Struct, frozen=True):
    """How much more than the control an arm may take, as fractions: memory of a worker, 99th
    percentile. Errors may not grow at all.

    `memory_kib` more of private memory is no matter whatever its share: a worker of a small app has
    less than 1 MiB of its own.
    """

    memory: float = 0.10
    memory_kib: float = 1024.0
    p99: float = 0.10


RAILS = Rails()


class Breach(Struct, frozen=True):
    """A guard-rail that an arm broke, in words."""

    rail: RailName
    words: str


def gain(goal: Goal, control: GoalReadings, treated: GoalReadings) -> float | None:
    """log of how many times better than the control an arm was in one block; None where it was not
    read or nothing was completed.

    For CPU only from blocks without a failed request: a failed one costs something else.
    """
    if goal == "cpu" and (control.failed or treated.failed):
        return None
    before, after = _cost(goal, control), _cost(goal, treated)
    if before is None or after is None or min(before, after) <= 0.0:
        return None
    return math.log(before / after)


def breaches(
    control: Sequence[GoalReadings], treated: Sequence[GoalReadings], rails: Rails = RAILS, *, alpha: float = 0.05
) -> tuple[Breach, ...]:
    """The guard-rails that an arm broke; entry i of both is of the same block.

    Memory is judged by its mean over the blocks, since it hardly scatters; the percentile when it
    is certain to have grown by more than is allowed; errors when the arm's share is certain to be
    the greater one. Raises ValueError: no blocks, different numbers of blocks.
    """
    if not control or len(control) != len(treated):
        raise ValueError("guard-rails need the same blocks of both arms, at least one")
    found = (_memory(control, treated, rails), _p99(control, treated, rails.p99, alpha), _errors(control, treated, alpha))
    return tuple(each for each in found if each is not None)


def spent_elsewhere(control: Sequence[GoalReadings], treated: Sequence[GoalReadings]) -> str:
    """Says that what PHP saves is spent by web server and database; '' where all of it together
    is cheaper, or was not read.

    By the mean over the blocks: what the whole stack saves is the smaller part of what it costs, so
    its interval would decide too seldom.
    """
    logs = [
        math.log((one.stack_ns / valid) / (other.stack_ns / of_other))
        for one, other in zip(control, treated, strict=True)
        if one.stack_ns and other.stack_ns and (valid := one.requests - one.failed) > 0 and (of_other := other.requests - other.failed) > 0
    ]
    if not logs or math.fsum(logs) > 0.0:
        return ""
    return "what PHP saves is spent elsewhere: PHP, web server and database together cost no less per request"


def _cost(goal: Goal, seen: GoalReadings) -> float | None:
    """What is to be small, per valid request where it is a total."""
    valid = seen.requests - seen.failed
    if goal == "p99":
        return seen.p99_ns
    if goal == "memory":
        return seen.memory_kib
    if valid <= 0:
        return None
    return (seen.cpu_ns if goal == "cpu" else seen.drive_ns) / valid


def _memory(control: Sequence[GoalReadings], treated: Sequence[GoalReadings], rails: Rails) -> Breach | None:
    pairs = [(one.memory_kib, other.memory_kib) for one, other in zip(control, treated, strict=True)]
    known = [(one, other) for one, other in pairs if one and other]
    if not known:
        return None
    before, after = (math.fsum(each[side] for each in known) / len(known) for side in (0, 1))
    allowed = rails.memory
    if after <= before * (1.0 + allowed) or after <= before + rails.memory_kib:
        return None
    more = (after - before) / 1024
    return Breach("memory", f"each worker holds {more:.1f} MiB ({after / before - 1.0:.0%}) more, {allowed:.0%} is allowed")


def _p99(control: Sequence[GoalReadings], treated: Sequence[GoalReadings], allowed: float, alpha: float) -> Breach | None:
    pairs = [(one.p99_ns, other.p99_ns) for one, other in zip(control, treated, strict=True)]
    logs = [math.log(other / one) for one, other in pairs if one and other]
    if not logs:
        return None
    grown = confidence_sequence(logs, alpha)
    if grown.low is None or grown.low <= margin_log(allowed):
        return None
    higher, least = math.expm1(grown.mean), math.expm1(grown.low)
    few = any(not has_beyond(each.requests - each.failed, 99.0) for each in (*control, *treated))
    # Of fewer than 100 answers the 99th percentile is the slowest.
    what = "the slowest answer of a block" if few else "the 99th percentile"
    return Breach("p99", f"{what} is {higher:.0%} higher (at least {least:.0%}), {allowed:.0%} is allowed")


def _errors(control: Sequence[GoalReadings], treated: Sequence[GoalReadings], alpha: float) -> Breach | None:
    failed_before, of_before = sum(each.failed for each in control), sum(each.requests for each in control)
    failed, of = sum(each.failed for each in treated), sum(each.requests for each in treated)
    _, most_before = share_interval(failed_before, of_before, alpha)
    least, _ = share_interval(failed, of, alpha)
    if least <= most_before:
        return None
    return Breach("errors", f"{failed} of {of} requests failed, of the control's {failed_before} of {of_before}")
