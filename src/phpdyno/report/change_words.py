"""A ratio of a build or a change as the change that it brought, in words; never without its
interval, or that there is none yet."""

from phpdyno.model.runs.tune import Goal, TunedRatio
from phpdyno.stats.change import Percent, apart, change_of, signed


def change_seen(ratio: TunedRatio, goal: Goal = "cpu") -> Percent:
    """The change of what the goal is about: of all but throughput less is better."""
    return change_of(ratio.value, ratio.low, ratio.high, less_is_better=goal != "throughput")


def change_words(ratio: TunedRatio | None, goal: Goal = "cpu") -> str:
    """`−6.8 % (−7.7 to −5.9)`; no number where there is no interval, `–` without an estimate."""
    return signed(None if ratio is None else change_seen(ratio, goal))


def change_parts(ratio: TunedRatio, goal: Goal = "cpu") -> tuple[str, str]:
    """The same as two: `−6.8 %` and `−7.7 to −5.9`."""
    return apart(change_seen(ratio, goal))
