"""Figures with their intervals, held against targets. Pure."""

import math
import statistics
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from phpdyno.stats.comparison.sequence import confidence_sequence

ALPHA = 0.05

Unit = Literal["s", "µs", "×", "%", ""]
Reached = Literal["yes", "no", "open", "–"]


class Target(Struct, frozen=True):
    """Where a figure should lie, bounds included; `text` is how the page says it."""

    text: str
    at_least: float | None = None
    at_most: float | None = None


class Figure(Struct, frozen=True):
    """One measured figure. Shares (`%`) are fractions, times seconds or microseconds, as `unit`
    says. `low` and `high` are None while there is no finite interval.

    `basis` says what it rests on (`median of 20`); `detail` adds absolute figures in words.
    """

    name: str
    unit: Unit
    estimate: float
    low: float | None
    high: float | None
    basis: str
    target: Target | None = None
    detail: str = ""


def reached(figure: Figure) -> Reached:
    """Judged on the interval: yes when all of it meets the target, no when none of it does, open
    when it straddles or is infinite."""
    target = figure.target
    if target is None:
        return "–"
    if figure.low is None or figure.high is None:
        return "open"
    least = -math.inf if target.at_least is None else target.at_least
    most = math.inf if target.at_most is None else target.at_most
    if least <= figure.low and figure.high <= most:
        return "yes"
    return "no" if figure.high < least or figure.low > most else "open"


def ratio_figure(name: str, logs: Sequence[float], *, alpha: float, target: Target | None, detail: str = "") -> Figure:
    """A ratio from the logarithms of paired ratios, one per pair, with the anytime-valid
    interval."""
    seen = confidence_sequence(logs, alpha)
    low, high = (None if bound is None else math.exp(bound) for bound in (seen.low, seen.high))
    return Figure(name, "×", math.exp(seen.mean), low, high, f"{seen.n} pairs", target, detail)


def share_figure(name: str, shares: Sequence[float], *, of: str, target: Target, detail: str = "") -> Figure:
    """A mean share (a fraction, never negative) with the anytime-valid interval."""
    seen = confidence_sequence(shares, ALPHA)
    low = None if seen.low is None else max(0.0, seen.low)
    return Figure(name, "%", seen.mean, low, seen.high, f"{seen.n} {of}", target, detail)


def median_figure(name: str, values: Sequence[float], *, unit: Unit = "s", target: Target | None = None, detail: str = "") -> Figure:
    """A median of times with the interval between two order statistics."""
    low, high = median_interval(values)
    return Figure(name, unit, statistics.median(values), low, high, f"median of {len(values)}", target, detail)


def median_interval(values: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """The narrowest pair of order statistics that holds the median with 95 % probability or more,
    whatever the distribution.

    The number of values below the median is binomial(n, 1/2) (Conover, Practical Nonparametric
    Statistics, 3.2). Nones below six values.
    """
    ordered, n = sorted(values), len(values)
    outside, rank = 0.0, 0
    while outside + 2 * math.comb(n, rank) / 2**n <= ALPHA:
        outside += 2 * math.comb(n, rank) / 2**n
        rank += 1
    return (ordered[rank - 1], ordered[n - rank]) if rank else (None, None)


def measured_text(figure: Figure) -> str:
    """The figure with its interval in words; without a finite interval there is no number."""
    if figure.low is None or figure.high is None:
        return f"no interval yet ({figure.basis})"
    low, high = _number(figure.low, figure.unit), _number(figure.high, figure.unit)
    after = f"; {figure.detail}" if figure.detail else ""
    sign = "×" if figure.unit == "×" else f" {figure.unit}".rstrip()
    return f"{_number(figure.estimate, figure.unit)}{sign} ({low} to {high}; {figure.basis}{after})"


def _number(value: float, unit: Unit) -> str:
    if unit == "%":
        return f"{100 * value:.2f}"
    if unit == "µs":
        return f"{value:.1f}"
    if unit == "×":
        return f"{value:.3f}"
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
