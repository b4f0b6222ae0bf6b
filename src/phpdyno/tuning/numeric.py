"""Numeric values: what optuna proposes to try next, as a function of everything that was told so
far.

A study is built anew for each proposal, so nothing has to be stored and a tune that was interrupted
goes on as if it had not been. optuna is imported when the first value is asked for: it brings
SQLAlchemy along, which no other command needs.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

Values = dict[str, int]
"""One value for each number, by the setting's full name."""

LARGEST_SEED = 1 << 32
STARTUP = 5
"""Proposals at random before any model is believed; optuna's own 10 would use up what a tune has
time for."""


class Number(Struct, frozen=True):
    """A setting whose value is to be chosen from `low` to `high` in steps; `unit` is written behind
    it ("M"). `log`: twice as much is as large a step everywhere, and `step` has to be 1."""

    name: str
    low: int
    high: int
    step: int = 1
    log: bool = False
    unit: str = ""


class NumericTrial(Struct, frozen=True):
    """What was measured at these values: log ratios against the control, one for each block."""

    values: Values
    log_ratios: tuple[float, ...]


class Pooled(Struct, frozen=True):
    """Everything that was told of the same values: mean log ratio, how many blocks, and the mean
    drawn towards all others' as far as its noise asks for. It is `shrunk` that optuna is told: the
    highest of many means is high by luck as well."""

    values: Values
    mean: float
    blocks: int
    shrunk: float


def propose(numbers: Sequence[Number], told: Sequence[NumericTrial], *, sigma_block: float, seed: int) -> Values:
    """The values to try next. The same arguments give the same values; each proposal has a seed of
    its own.

    `sigma_block` is the standard deviation of one block's log ratio. Values that were told already
    may be proposed again: they are worth another look. Raises ValueError: no numbers, an empty
    range, values that were told out of range.
    """
    _check(numbers, told)
    import optuna  # noqa: PLC0415 (takes a second, and only `tune` needs it)

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pooled = pool(told, sigma_block)
    space: dict[str, Any] = {
        each.name: optuna.distributions.IntDistribution(each.low, each.high, log=each.log, step=each.step) for each in numbers
    }
    sampler = optuna.samplers.TPESampler(seed=(seed + len(told)) % LARGEST_SEED, n_startup_trials=STARTUP)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for each in pooled:
        study.add_trial(optuna.trial.create_trial(params=dict(each.values), distributions=space, value=each.shrunk))
    asked = study.ask(space)
    return {each.name: int(asked.params[each.name]) for each in numbers}


def settings_of(numbers: Sequence[Number], values: Values) -> dict[str, str]:
    """Values as settings of an arm."""
    return {each.name: f"{values[each.name]}{each.unit}" for each in numbers}


def pool(told: Sequence[NumericTrial], sigma_block: float) -> tuple[Pooled, ...]:
    """All that was told, by values in the order of their first telling; values without a block are
    left out.

    The shrunk mean is the empirical Bayes one (Efron and Morris 1973): the variance between values
    is what their means scatter by beyond their noise. Raises ValueError: a log ratio that is not
    finite, sigma_block below 0.
    """
    if not sigma_block >= 0.0 or not all(math.isfinite(value) for each in told for value in each.log_ratios):
        raise ValueError("pooling needs finite log ratios and a deviation of at least 0")
    groups: dict[tuple[tuple[str, int], ...], list[float]] = {}
    for each in told:
        if each.log_ratios:
            groups.setdefault(tuple(sorted(each.values.items())), []).extend(each.log_ratios)
    means = [math.fsum(values) / len(values) for values in groups.values()]
    noises = [sigma_block**2 / len(values) for values in groups.values()]
    if not means:
        return ()
    centre = math.fsum(means) / len(means)
    scatter = math.fsum((mean - centre) ** 2 for mean in means) / (len(means) - 1) if len(means) > 1 else 0.0
    between = max(0.0, scatter - math.fsum(noises) / len(noises))
    return tuple(
        Pooled(dict(key), mean, len(values), centre + (mean - centre) * _trust(between, noise))
        for (key, values), mean, noise in zip(groups.items(), means, noises, strict=True)
    )


def best(told: Sequence[NumericTrial], sigma_block: float) -> Pooled | None:
    """The values with the highest shrunk mean, of several those with most blocks; None where
    nothing was told."""
    return max(pool(told, sigma_block), key=lambda each: (each.shrunk, each.blocks, each.mean), default=None)


def _trust(between: float, noise: float) -> float:
    """How much of a mean's distance from the others' is its own; a hair even where all of it looks
    like noise, to keep their order."""
    whole = between + noise
    return max(0.01, between / whole) if whole > 0.0 else 1.0


def _check(numbers: Sequence[Number], told: Sequence[NumericTrial]) -> None:
    if not numbers or any(each.low >= each.high or each.step < 1 for each in numbers):
        raise ValueError("proposing needs numbers, each with a range")
    if any((each.high - each.low) % each.step for each in numbers):
        raise ValueError("a number's range is a whole number of steps")
    if any(each.log and (each.step != 1 or each.low < 1) for each in numbers):
        raise ValueError("on a logarithmic scale a number is at least 1, and its step is 1")
    if any(not _inside(numbers, each.values) for each in told):
        raise ValueError("what was told lies outside the numbers' ranges")


def _inside(numbers: Sequence[Number], values: Mapping[str, int]) -> bool:
    if values.keys() != {each.name for each in numbers}:
        return False
    return all(each.low <= values[each.name] <= each.high and (values[each.name] - each.low) % each.step == 0 for each in numbers)
