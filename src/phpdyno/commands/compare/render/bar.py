"""An interval drawn in characters, on the scale that all rows share."""

import math

from phpdyno.commands.compare.view.words import Spanned, block_change
from phpdyno.model.plan import Metric
from phpdyno.stats.change import rounded


def bar(row: Spanned, limit: float, width: int) -> str:
    """`├─●─┤` beside a `│` at no effect, on the scale +-limit (log ratios), in `width` cells (odd);
    `◄` or `►` for what lies beyond it."""
    middle_at = width // 2
    cells = [" "] * width
    cells[middle_at] = "│"
    if row.ratio is None or row.low is None or row.high is None:
        return "".join(cells)

    def at(ratio: float) -> int:
        return min(width - 1, max(0, middle_at + round(math.log(ratio) / limit * middle_at)))

    low, high = at(row.low), at(row.high)
    cells[low : high + 1] = ["─"] * (high + 1 - low)
    cells[low], cells[high] = "├", "┤"
    cells[at(row.ratio)] = "●"
    if math.log(row.low) < -limit:
        cells[0] = "◄"
    if math.log(row.high) > limit:
        cells[-1] = "►"
    return "".join(cells)


def scale(limit: float, width: int, metric: Metric) -> str:
    """The heading above the bars: the changes at both edges, and 0 in the middle."""
    half = width // 2
    left, right = (rounded(float(f"{block_change(log_ratio, metric):.2g}")) for log_ratio in (-limit, limit))
    return f"{left:<{half}}0{right:>{half}}"
