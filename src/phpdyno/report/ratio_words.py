"""A ratio of a build or a change in words; never without its interval, or that there is none
yet."""

from phpdyno.model.runs.tune import TunedRatio
from phpdyno.report.words import digits_for


def ratio_words(ratio: TunedRatio | None) -> str:
    """`1.073 (1.062 to 1.084)`, on the scale of control / treatment; no number where there is no
    interval, `–` without an estimate."""
    if ratio is None:
        return "–"
    ends = span_words(ratio)
    return ends if ratio.ratio is None else f"{ratio.value:.{digits_of(ratio)}f} ({ends})"


def span_words(ratio: TunedRatio) -> str:
    """`1.062 to 1.084`, or that there is no interval."""
    if ratio.low is None or ratio.high is None:
        return "no interval yet"
    return f"{ratio.low:.{digits_of(ratio)}f} to {ratio.high:.{digits_of(ratio)}f}"


def digits_of(ratio: TunedRatio) -> int:
    """The decimals that tell the ends of its interval apart."""
    return digits_for(ratio.low or ratio.value, ratio.high or ratio.value)
