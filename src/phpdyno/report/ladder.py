"""What the steps of a ladder came to, from the observations of the one comparison that they were measured in. Pure."""

import math
from collections.abc import Sequence

from phpdyno.experiment.contrast import contrast, log_ratios
from phpdyno.model.ladder import STOCK, Step, StepFound
from phpdyno.model.observation import Observation
from phpdyno.model.tune import Ratio
from phpdyno.stats.judge import judge
from phpdyno.stats.sequence import Interval, confidence_sequence


def climbed(
    steps: Sequence[Step], observations: Sequence[Observation], *, alpha: float, margin: float, mixture: float, invalid: dict[str, str]
) -> tuple[StepFound, ...]:
    """Every step against what it stands on and against the stock PHP. All intervals hold together with 1 - alpha.

    `invalid` says of arms that could not be measured why. Raises ValueError: a step that stands on none.
    """
    names = {STOCK, *(step.name for step in steps)}
    if any(step.on not in names for step in steps):
        raise ValueError("a step stands on another one, or on the stock PHP")
    each = alpha / max(1, 2 * len(steps))
    return tuple(
        StepFound(step, None, None, "invalid", "", earned=False, reason=invalid[step.name])
        if step.name in invalid
        else _found(step, observations, alpha=each, margin=margin, mixture=mixture)
        for step in steps
    )


def _found(step: Step, observations: Sequence[Observation], *, alpha: float, margin: float, mixture: float) -> StepFound:
    logs = log_ratios(observations, step.name)
    total = confidence_sequence([logs[block] for block in sorted(logs)], alpha, mixture) if logs else None
    seen = total if step.on == STOCK else contrast(observations, step.name, step.on, alpha=alpha, mixture=mixture)
    if seen is None:
        return StepFound(step, None, _ratio(total), "inconclusive", "", earned=False, reason="there was no time for it")
    kind, relevance = judge(seen, margin)
    earned = kind == "improved" and relevance != "not relevant"
    return StepFound(step, _ratio(seen), _ratio(total), kind, relevance, earned=earned)


def _ratio(seen: Interval | None) -> Ratio | None:
    if seen is None:
        return None
    low, high = (None if end is None else math.exp(end) for end in (seen.low, seen.high))
    return Ratio(math.exp(seen.mean), low, high, seen.n)
