"""A sweep's numbers and findings in words; every figure is said with its interval, or that it has
none. Pure."""

import math
from collections.abc import Sequence

from phpdyno.commands.measure.view.shape import ArmRow, CrossRow, Estimate, MemoryRow, PercentileRow, PointRow, SweepView
from phpdyno.report.words import NOTHING, count, milliseconds, percent

_TOOL = {"ab": "ab -k", "wrk": "wrk"}
_MOST_DECIMALS = 5
_FALLS = 0.95


def load_words(point: PointRow) -> str:
    """`c = 10`, or `open loop at 70 %`."""
    return f"open loop at {percent(point.open_share)}" if point.loop == "open" else f"c = {point.concurrency}"


def estimate_words(found: Estimate | None) -> str:
    """`1,804 (1,790 to 1,818)`, `1,804 (no interval)`, or a dash."""
    if found is None:
        return NOTHING
    if found.low is None or found.high is None:
        return f"{_number(found.value, _size(found.value))} (no interval)"
    decimals = _decimals(found.low, found.high)
    low, high = _number(found.low, decimals), _number(found.high, decimals)
    return f"{_number(found.value, decimals)} ({low} to {high})"


def with_confidence(found: Estimate, confidence: float) -> str:
    """`1,804 requests per second (95 % CI 1,790 to 1,818)`."""
    if found.low is None or found.high is None:
        return f"{_number(found.value, _size(found.value))} requests per second (no interval: {count(found.rounds, 'round')})"
    decimals = _decimals(found.low, found.high)
    low, high = _number(found.low, decimals), _number(found.high, decimals)
    return f"{_number(found.value, decimals)} requests per second ({percent(confidence)} CI {low} to {high})"


def value_words(found: Estimate | None) -> str:
    """The figure alone in milliseconds, for a table whose head says that it describes."""
    return NOTHING if found is None else milliseconds(found.value)


def percentile_name(percent_: float) -> str:
    """`p99.9`."""
    return f"p{percent_:g}"


def percentile_of(rows: Sequence[PercentileRow], percent_: float) -> Estimate | None:
    """One of a point's percentiles; None where too few requests lie beyond it."""
    return next((row.ms for row in rows if row.percent == percent_), None)


def share(value: float | None) -> str:
    """`93 %`, a dash where it is not known."""
    return NOTHING if value is None else f"{100 * value:.0f} %"


def mean_words(value: float | None) -> str:
    """A mean count: `4.8`."""
    return NOTHING if value is None else f"{value:.1f}"


def whole(value: float | None) -> str:
    """A count."""
    return NOTHING if value is None else f"{value:,.0f}"


def mib(kib: float | None) -> str:
    """KiB as MiB: `31.4`."""
    return NOTHING if kib is None else f"{kib / 1024:,.1f}"


def failures(point: PointRow) -> str:
    """`12 of 1,200 (10 timed_out, 2 wrong_status (502))`, `none`."""
    failed = point.requests - point.valid
    if not failed:
        return "none"
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(point.failures.items(), key=lambda each: (-each[1], each[0])))
    return f"{failed:,} of {point.requests:,}" + (f" ({kinds})" if kinds else "")


def memory_words(memory: MemoryRow | None) -> str:
    """`5 workers, PSS of one 10.0 MiB (3.0 its own), of all 50.0 MiB (20.0 in shared memory); the
    master 7.8 MiB`."""
    if memory is None:
        return "not read"
    own = "" if memory.private_worker_kib is None else f" ({mib(memory.private_worker_kib)} its own)"
    shared = "" if memory.shared_kib is None else f" ({mib(memory.shared_kib)} in shared memory)"
    master = "" if memory.master_kib is None else f"; the master {mib(memory.master_kib)} MiB"
    unread = f"; {count(memory.unread, 'worker')} may not be read" if memory.unread else ""
    one = f"PSS of one {mib(memory.pss_worker_kib)} MiB{own}"
    return f"{count(memory.workers, 'worker')}, {one}, of all {mib(memory.pss_pool_kib)} MiB{shared}{master}{unread}"


def cross_words(row: CrossRow, confidence: float) -> str:
    """`ab -k / ours at c = 10: 0.982 (95 % CI 0.960 to 1.004, 6 pairs)`, or why there is no
    ratio."""
    tool = _TOOL[row.tool] if row.kept else f"{row.tool} without keep-alive"
    what = f"{tool} / ours at c = {row.concurrency}"
    found = row.ratio
    if found is None:
        return f"{what}: not compared: {row.detail}"
    pairs = count(len(row.ratios), "pair")
    if found.low is None or found.high is None:
        return f"{what}: {found.value:.3f} (no interval, {pairs})"
    return f"{what}: {found.value:.3f} ({percent(confidence)} CI {found.low:.3f} to {found.high:.3f}, {pairs})"


def arm_sentence(arm: ArmRow, points: Sequence[PointRow], confidence: float) -> str:
    """What the arm does as more is asked of it; `points` are its own."""
    closed = [each for each in points if each.loop == "closed"]
    best = next((each for each in closed if each.concurrency == arm.best), None)
    if best is None or arm.best_per_s is None:
        return f"{arm.name}: nothing measured that counts"
    parts = [f"{arm.name}: most throughput at c = {arm.best}, {with_confidence(arm.best_per_s, confidence)}{_knee(arm)}"]
    last = max(closed, key=lambda each: each.concurrency)
    if last.per_s is not None and last.per_s.value < _FALLS * arm.best_per_s.value:
        parts.append(f"{share(1 - last.per_s.value / arm.best_per_s.value)} less at c = {last.concurrency}")
    if best.requests > best.valid:
        parts.append(f"{failures(best)} requests failed there")
    if best.sentence:
        parts.append(f"there {best.sentence}")
    return "; ".join([*parts, *(said for each in points if (said := _open(each)))])


def _knee(arm: ArmRow) -> str:
    if arm.rising:
        return ", the largest that was measured: more may bring more"
    return f", within 5 % of it already at c = {arm.knee}" if arm.knee is not None and arm.knee != arm.best else ""


def _open(point: PointRow) -> str:
    """What an open loop showed, for the sentence; '' for a closed one."""
    shown = [(each, percentile_of(point.percentiles, each)) for each in (50.0, 99.0)]
    known = [f"{percentile_name(each)} {milliseconds(ms.value)} ms" for each, ms in shown if ms is not None]
    if point.loop != "open" or not known or point.offered_per_s is None:
        return ""
    offered = f"{whole(point.offered_per_s)} per second offered"
    return f"with {offered} ({percent(point.open_share)} of saturation in the first round) the response time is {', '.join(known)}"


def open_words(point: PointRow, view: SweepView) -> tuple[tuple[str, str], ...]:
    """An open-loop point as named facts."""
    times = ", ".join(f"{percentile_name(row.percent)} {estimate_words(row.ms)}" for row in point.percentiles)
    late = "too late in some visits, which do not count" if point.late else "not late"
    lag = NOTHING if point.lag_p99_ms is None else f"{milliseconds(point.lag_p99_ms)} ms"
    return (
        ("offered", f"{_rate(point.offered_per_s)} requests per s, {percent(point.open_share)} of saturation in the first round"),
        ("answered", f"{estimate_words(point.per_s)} per s ({percent(view.confidence)} CI); failed: {failures(point)}"),
        ("response time, ms", times or "too few answers for a percentile"),
        ("generator", f"lag p99 {lag}, {late}; {count(point.queued, 'request')} waited for one of {point.concurrency} connections"),
    )


def _rate(value: float | None) -> str:
    return NOTHING if value is None else _number(value, _size(value))


def _number(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}"


def _size(value: float) -> int:
    """Decimals that give a number without an interval four digits."""
    return max(0, min(_MOST_DECIMALS, 3 - math.floor(math.log10(value)))) if value > 0 else 0


def _decimals(low: float, high: float) -> int:
    """Enough to tell the ends apart by two digits, but no more than five digits of the number."""
    width = high - low
    return max(0, min(_size(high) + 1, math.ceil(-math.log10(width)) + 1)) if width > 0 else _size(high)
