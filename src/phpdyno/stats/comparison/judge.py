"""From an interval to a verdict, in the words of the protocol."""

import math
from collections.abc import Sequence

from phpdyno.model.verdict import Effect, Relevance, VerdictKind
from phpdyno.stats.comparison.sequence import MIXTURE, Interval, confidence_sequence

_LARGEST_LOG = 700.0
"""exp() of more does not fit a float."""


def judge(interval: Interval, margin: float) -> tuple[VerdictKind, Relevance]:
    """Verdict and relevance of an interval of log ratios; a positive log ratio means that the
    treatment is cheaper.

    The margin, a fraction m, stands for the log ratios +-log(1 + m). Outside 0: improved or
    regressed. Holding 0 and strictly inside the margin: equivalent, which a margin of 0 never
    gives. Else, or while infinite: inconclusive. Raises ValueError: a margin below 0.
    """
    bound = margin_log(margin)
    low, high = interval.low, interval.high
    if low is None or high is None:
        return "inconclusive", ""
    if low > 0.0:
        return "improved", _relevance(low, high, bound)
    if high < 0.0:
        return "regressed", _relevance(-high, -low, bound)
    if -bound < low and high < bound:
        return "equivalent", ""
    return "inconclusive", ""


def decided(kind: VerdictKind, relevance: Relevance) -> bool:
    """Whether more blocks could teach nothing: equivalent, invalid, or a direction whose relevance
    is settled."""
    if kind in {"improved", "regressed"}:
        return relevance in {"relevant", "not relevant", "spent elsewhere"}
    return kind in {"equivalent", "invalid"}


def effect_of(values: Sequence[float], clipped: Sequence[float], alpha: float, mixture: float = MIXTURE) -> Effect:
    """Effect from one log ratio per block, and from its clipped version, as ratios of control to
    treatment cost.

    Raises ValueError: no values, values that are not finite, different lengths, alpha outside (0,
    1).
    """
    if len(values) != len(clipped):
        raise ValueError(f"every block needs its clipped log ratio: {len(values)} and {len(clipped)}")
    interval = confidence_sequence(values, alpha, mixture)
    low, high = interval.low, interval.high
    finite = low is not None and high is not None and -_LARGEST_LOG < low <= high < _LARGEST_LOG

    return Effect(
        ratio=math.exp(interval.mean),
        low=math.exp(low) if finite and low is not None else None,
        high=math.exp(high) if finite and high is not None else None,
        blocks=interval.n,
        confidence=1.0 - alpha,
        sigma=interval.sd,
        clipped_ratio=math.exp(math.fsum(clipped) / len(clipped)),
    )


def margin_log(margin: float) -> float:
    """log(1 + margin), the margin on the scale of log ratios. Raises ValueError unless the margin
    is finite and >= 0."""
    if not (margin >= 0.0 and math.isfinite(margin)):
        raise ValueError(f"a relevance margin is a fraction of at least 0, not {margin}")
    return math.log1p(margin)


def _relevance(nearest: float, farthest: float, bound: float) -> Relevance:
    if nearest >= bound:
        return "relevant"
    return "not relevant" if farthest < bound else "relevance open"
