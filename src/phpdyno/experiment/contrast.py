"""Two treatments against each other by way of the control that both were measured beside, block by block."""

from collections.abc import Mapping, Sequence

from phpdyno.model.observation import Observation
from phpdyno.stats.sequence import Interval, confidence_sequence


def log_ratios(observations: Sequence[Observation], treatment: str) -> Mapping[int, float]:
    """Log ratio control / treatment of each block that counts."""
    return {seen.block: seen.log_ratio for seen in observations if seen.treatment == treatment and not seen.excluded}


def contrast(observations: Sequence[Observation], treatment: str, base: str, *, alpha: float, mixture: float) -> Interval | None:
    """The log ratio base / treatment over the blocks that have both; None where no block has. What the control did cancels out."""
    mine, other = log_ratios(observations, treatment), log_ratios(observations, base)
    shared = sorted(mine.keys() & other.keys())
    return confidence_sequence([mine[block] - other[block] for block in shared], alpha, mixture) if shared else None
