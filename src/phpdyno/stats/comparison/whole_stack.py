"""CPU of all components of an arm together: whether what PHP saves is saved, or only spent by web
server and database instead."""

import math
from collections.abc import Sequence

from phpdyno.model.observation import Cost, Observation
from phpdyno.stats.comparison.sequence import confidence_sequence


def stack_log_ratios(observations: Sequence[Observation]) -> list[float]:
    """log(control / treatment) of the whole stack's CPU per valid request, of each observation that
    has these figures.

    Where a thread of a server ends within a slot and no control group has counted it, its CPU of
    before is missing, and a total may be negative: that block says nothing, and the others count.
    """
    costs = [(_stack_cost(each.control), _stack_cost(each.treated)) for each in observations]
    return [math.log(control / treated) for control, treated in costs if control > 0 and treated > 0]


def costs_more(observations: Sequence[Observation], alpha: float, mixture: float) -> bool:
    """Whether the whole stack is certain to cost more under the treatment, whatever PHP alone
    saves. Raises ValueError as `confidence_sequence`."""
    found = stack_log_ratios(observations)
    high = confidence_sequence(found, alpha, mixture).high if found else None
    return high is not None and high < 0.0


def _stack_cost(cost: Cost) -> float:
    valid = cost.requests - cost.failed
    return cost.stack_cpu_ns / valid if valid > 0 else 0.0
