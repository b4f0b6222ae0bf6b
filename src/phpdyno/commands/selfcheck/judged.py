"""The rows of a selfcheck: what was found of each thing that was asked, held against its target.
Pure."""

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from phpdyno.journal.checks import CheckKind, Checks, Compared
from phpdyno.stats.comparison.pooled_lag import pooled_lag
from phpdyno.stats.comparison.sequence import confidence_sequence
from phpdyno.stats.exact import median_interval, share_interval

About = Literal["honesty", "power"]
Unit = Literal["share", "s", "log ratio", "ratio", "correlation"]
Outcome = Literal["reached", "open", "not reached", "–"]

LINE = "cost over turns of the loop is a line"
ALARMS = "arms that do not differ"
NEVER = "never"
MOST_ALARMS = 0.05
LEAST_FOUND = 0.90
LEAST_COVERED = 0.93
MOST_SECONDS = {("hello", 0.01): 45.0, ("wordpress", 0.01): 120.0}
"""By app and planted effect."""
FULL_BUDGET_S = 60.0
"""With less time for each planted comparison, directions that were not found say nothing against
the host."""
MOST_ASYMMETRY = 0.2
"""Of the planted effect: by so much may its two directions differ."""
MOST_MISSIZED = 0.2
"""By so much may the size found differ from the truth."""
MOST_LAG = 0.1
"""With 0.2 between blocks, 12 % of the A/A comparisons claim a direction (simulated)."""
MOST_BEND = 0.05
"""Half of a bend is what a planted effect may be off by: 5 % is 0.025 points of a planted 1 %."""
ALPHA = 0.05
PAIRED_MIXTURE = 1.0


class CheckRow(Struct, frozen=True):
    """One check; its figure and bounds are in `unit`. Bounds are None while there is no finite
    interval."""

    check: Annotated[str, Meta(description="What was checked.")]
    found: Annotated[str, Meta(description="What was found, in words.")]
    about: Annotated[
        About,
        Meta(description="`honesty`: whether what is claimed is true. `power`: how much is decided, and how soon."),
    ]
    unit: Annotated[Unit, Meta(description="Of the figures: a share (fraction), seconds, a ratio, the logarithm of one, or a correlation.")]
    estimate: Annotated[float | None, Meta(description="The figure; null where it is beyond what was measured.")]
    low: Annotated[float | None, Meta(description="Lower end of its 95 % interval.")]
    high: Annotated[float | None, Meta(description="Upper end of its 95 % interval.")]
    comparisons: Annotated[int, Meta(description="Comparisons (or rounds) that it rests on.")]
    target: Annotated[str, Meta(description="What is asked for, in words.")]
    at_least: Annotated[float | None, Meta(description="Least value that meets the target.")]
    at_most: Annotated[float | None, Meta(description="Greatest value that meets the target.")]
    outcome: Annotated[
        Outcome,
        Meta(
            description="`reached`: all of the interval meets the target. `not reached`: none of it does. `open`: it straddles it. "
            "`–`: no target."
        ),
    ]


def rows_of(checks: Checks) -> list[CheckRow]:
    """A row for each thing that was asked, in the order of the report; one that nothing can be said
    of yet is open."""
    wish, compared = checks.header.wish, checks.compared
    rows = [_bend(checks), _never("comparisons without a number", compared, lambda each: each.numberless)]
    if wish.aa or wish.zero:
        rows += _alarms(checks)
    if wish.aa:
        rows.append(_lag([each for each in compared if each.lag is not None and each.blocks > 1]))
    if wish.planted:
        rows += _planted(checks, [each for each in compared if each.kind == "planted"], known=rows[0].outcome != "not reached")
    return rows


def _open(
    check: str, about: About, unit: Unit, target: str, *, least: float | None, most: float | None, found: str = "none to judge"
) -> CheckRow:
    """A row of which nothing can be said yet."""
    return CheckRow(
        check=check,
        found=found,
        about=about,
        unit=unit,
        estimate=None,
        low=None,
        high=None,
        comparisons=0,
        target=target,
        at_least=least,
        at_most=most,
        outcome="open",
    )


def _bend(checks: Checks) -> CheckRow:
    target = f"within ±{100 * MOST_BEND:.0f} %"
    if checks.ground is None:
        return _open(LINE, "honesty", "log ratio", target, least=-MOST_BEND, most=MOST_BEND, found="not measured yet")
    line = checks.ground.line
    low, high = line.bend_low, line.bend_high
    found = f"upper half {_signed(line.bend)} steeper than the lower one{_between(low, high, _signed)}"
    outcome = outcome_of(low, high, least=-MOST_BEND, most=MOST_BEND)
    return CheckRow(
        check=LINE,
        found=found,
        about="honesty",
        unit="log ratio",
        estimate=line.bend,
        low=low,
        high=high,
        comparisons=line.rounds,
        target=target,
        at_least=-MOST_BEND,
        at_most=MOST_BEND,
        outcome=outcome,
    )


def _alarms(checks: Checks) -> list[CheckRow]:
    """One judgement over all comparisons of arms that do not differ; each kind is shown, and too
    few to be judged by itself: of 20 long ones without any alarm the interval still reaches 16.8
    %."""
    wish = checks.header.wish
    kinds: tuple[tuple[CheckKind, int], ...] = (("A/A", wish.aa - wish.long), ("long A/A", wish.long), ("zero", wish.zero))
    alike = {kind: [each for each in checks.compared if each.kind == kind] for kind, wanted in kinds if wanted}
    all_of_them = _claims(ALARMS, [each for mine in alike.values() for each in mine])
    return [all_of_them, *(unjudged(_claims(_of_kind(kind, mine), mine)) for kind, mine in alike.items())]


def _claims(name: str, mine: Sequence[Compared]) -> CheckRow:
    """Only a comparison whose interval was finite once could claim anything."""
    finite = [each for each in mine if each.low is not None]
    row = _share(f"{name}: a direction is claimed", finite, lambda each: claimed(each) != 0, most=MOST_ALARMS)
    return _less(row, len(mine) - len(finite))


def _of_kind(kind: CheckKind, mine: Sequence[Compared]) -> str:
    looks = [each.looks for each in mine if each.low is not None and claimed(each) == 0]
    often = f", looked at about {statistics.median(looks):.0f} times" if looks and any(looks) else ""
    return f"{'a setting without effect' if kind == 'zero' else kind}{often}"


def _lag(mine: Sequence[Compared]) -> CheckRow:
    """Blocks that resemble their neighbours would make every interval too narrow."""
    name, target = "A/A: each block is independent of the one before", f"within ±{MOST_LAG:g}"
    lags = [each.lag for each in mine if each.lag is not None]
    if not lags:
        return _open(name, "honesty", "correlation", target, least=-MOST_LAG, most=MOST_LAG)
    r, low, high = pooled_lag(lags, [each.blocks - 1 for each in mine])
    found = f"lag-1 autocorrelation {r:+.3f}{_between(low, high, '{:+.3f}'.format)}"
    outcome = outcome_of(low, high, least=-MOST_LAG, most=MOST_LAG)
    return CheckRow(
        check=name,
        found=found,
        about="honesty",
        unit="correlation",
        estimate=r,
        low=low,
        high=high,
        comparisons=len(lags),
        target=target,
        at_least=-MOST_LAG,
        at_most=MOST_LAG,
        outcome=outcome,
    )


# ---- planted ---------------------------------------------------------------------------------


def _planted(checks: Checks, planted: Sequence[Compared], *, known: bool) -> list[CheckRow]:
    """Where cost over turns is no line the size is not `known`, only its sign."""
    wish = checks.header.wish
    effect = f"planted {100 * wish.effect:g} %"
    finite = [each for each in planted if each.low is not None]
    sizes = [each.early / each.truth for each in planted if each.early is not None and not each.numberless]
    covered = _share(f"{effect}: the interval holds the truth", finite, holds_truth, least=LEAST_COVERED)
    sized = [
        _found(f"{effect}: its direction is found", planted, checks),
        _less(covered, len(planted) - len(finite)),
        _size(f"{effect}: the size found before any could stop, over the truth", sizes),
        _seconds(f"{effect}: measuring time until the direction", planted, MOST_SECONDS.get((wish.app, wish.effect))),
        _symmetry(f"{effect}: swapping the arms inverts the ratio", planted, wish.effect),
    ]
    never = _never(f"{effect}: the opposite is claimed", planted, lambda each: claimed(each) * each.truth < 0)
    rows = sized if known else [unjudged(row) for row in sized]
    return [rows[0], never, *rows[1:]]


def _share(name: str, among: Sequence[Compared], hit: Callable[[Compared], bool], *, least: float = 0.0, most: float = 1.0) -> CheckRow:
    target = f"≤ {100 * most:.0f} %" if most < 1.0 else f"≥ {100 * least:.0f} %"
    if not among:
        return _open(name, "honesty", "share", target, least=least, most=most)
    count, of = sum(1 for each in among if hit(each)), len(among)
    low, high = share_interval(count, of)
    outcome = outcome_of(low, high, least=least, most=most)
    return CheckRow(
        check=name,
        found=_counted(count, of),
        about="honesty",
        unit="share",
        estimate=count / of,
        low=low,
        high=high,
        comparisons=of,
        target=target,
        at_least=least,
        at_most=most,
        outcome=outcome,
    )


def _counted(count: int, of: int) -> str:
    low, high = share_interval(count, of)
    return f"{count} of {of}, {100 * count / of:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def _less(row: CheckRow, without: int) -> CheckRow:
    """Says how many could not be judged."""
    return structs.replace(row, found=f"{row.found}; {without} never had an interval") if without else row


def _found(name: str, planted: Sequence[Compared], checks: Checks) -> CheckRow:
    """The share of all, those without a number included, that found the direction; with little time
    for each there is no target."""
    asked_s = checks.header.wish.planted_budget_s
    real = [session.planted_budget_s for session in checks.sessions] or [asked_s]
    within = f"{min(real):.0f} s" if max(real) - min(real) < 1.0 else f"{min(real):.0f} to {max(real):.0f} s"
    row = _share(f"{name} within {within}", planted, lambda each: claimed(each) * each.truth > 0, least=LEAST_FOUND)
    grew = f"; {asked_s:.0f} s were asked for, and too few blocks fit in them here" if max(real) > asked_s else ""
    row = structs.replace(row, about="power", found=row.found + grew)
    return row if asked_s >= FULL_BUDGET_S else unjudged(row)


def _never(name: str, among: Sequence[Compared], hit: Callable[[Compared], bool]) -> CheckRow:
    """A target that no interval can prove: not reached with the first case, else reached as far as
    can be said."""
    row = _share(name, among, hit)
    outcome: Outcome = "open" if not among else "not reached" if row.estimate else "reached"
    return structs.replace(row, target=NEVER, at_least=0.0, at_most=0.0, outcome=outcome)


def _size(name: str, sizes: Sequence[float]) -> CheckRow:
    least, most, target = 1.0 - MOST_MISSIZED, 1.0 + MOST_MISSIZED, f"within ±{100 * MOST_MISSIZED:.0f} % of 1"
    if not sizes:
        return _open(name, "honesty", "ratio", target, least=least, most=most)
    seen = confidence_sequence(sizes, ALPHA, PAIRED_MIXTURE)
    found = f"{seen.mean:.3f}{_between(seen.low, seen.high, '{:.3f}'.format)}"
    outcome = outcome_of(seen.low, seen.high, least=least, most=most)
    return CheckRow(
        check=name,
        found=found,
        about="honesty",
        unit="ratio",
        estimate=seen.mean,
        low=seen.low,
        high=seen.high,
        comparisons=seen.n,
        target=target,
        at_least=least,
        at_most=most,
        outcome=outcome,
    )


def _seconds(name: str, planted: Sequence[Compared], most_s: float | None) -> CheckRow:
    """A comparison that ended without the direction would have taken longer than it did: how much
    longer is not known."""
    target = f"median ≤ {most_s:.0f} s" if most_s else "–"
    if not planted:
        outcome: Outcome = "open" if most_s else "–"
        return CheckRow(
            check=name,
            found="none to judge",
            about="power",
            unit="s",
            estimate=None,
            low=None,
            high=None,
            comparisons=0,
            target=target,
            at_least=None,
            at_most=most_s,
            outcome=outcome,
        )
    times = [each.seconds if claimed(each) * each.truth > 0 else math.inf for each in planted]
    middle, high = statistics.median(times), median_interval(times)[1]
    low = median_interval([each.seconds for each in planted])[0]
    outcome = outcome_of(low, high, least=0.0, most=most_s) if most_s else "–"
    low, high = _finite(low), _finite(high)
    found = f"median {middle:.1f} s{_between(low, high, '{:.1f}'.format)}" if math.isfinite(middle) else "half of them found none"
    return CheckRow(
        check=name,
        found=found,
        about="power",
        unit="s",
        estimate=_finite(middle),
        low=low,
        high=high,
        comparisons=len(times),
        target=target,
        at_least=None,
        at_most=most_s,
        outcome=outcome,
    )


def _symmetry(name: str, planted: Sequence[Compared], effect: float) -> CheckRow:
    """Means of both halves: stopping at the first direction moves them outwards alike, so that
    their sum stays 0."""
    bound = MOST_ASYMMETRY * effect
    target = f"within ±{100 * bound:.2g} %"
    valid = [each for each in planted if not each.numberless]
    logs = {swapped: [math.log(each.ratio) for each in valid if each.ratio and each.swapped == swapped] for swapped in (False, True)}
    if not all(logs.values()):
        return _open(name, "honesty", "log ratio", target, least=-bound, most=bound, found="none of one half")
    dearer, cheaper = (statistics.fmean(logs[swapped]) for swapped in (False, True))
    seen = confidence_sequence([a + b for a, b in zip(logs[False], logs[True], strict=False)], ALPHA, PAIRED_MIXTURE)
    apart = f"{_signed(seen.mean)}{_between(seen.low, seen.high, _signed)}"
    found = f"{math.exp(dearer):.4f} and {math.exp(cheaper):.4f}, their product off 1 by {apart}"
    outcome = outcome_of(seen.low, seen.high, least=-bound, most=bound)
    return CheckRow(
        check=name,
        found=found,
        about="honesty",
        unit="log ratio",
        estimate=seen.mean,
        low=seen.low,
        high=seen.high,
        comparisons=seen.n,
        target=target,
        at_least=-bound,
        at_most=bound,
        outcome=outcome,
    )


# ---- judging ---------------------------------------------------------------------------------


def unjudged(row: CheckRow) -> CheckRow:
    """The figure without a target."""
    return structs.replace(row, target="–", at_least=None, at_most=None, outcome="–")


def claimed(compared: Compared) -> int:
    """1 when the treatment was called cheaper, -1 dearer, 0 neither."""
    return {"improved": 1, "regressed": -1}.get(compared.verdict, 0)


def holds_truth(compared: Compared) -> bool:
    """Whether a finite interval holds the truth."""
    return compared.low is not None and compared.high is not None and math.log(compared.low) <= compared.truth <= math.log(compared.high)


def outcome_of(low: float | None, high: float | None, *, least: float, most: float) -> Outcome:
    """Judged on the interval, bounds included."""
    if low is None or high is None:
        return "open"
    if high < least or low > most:
        return "not reached"
    return "reached" if least <= low and high <= most else "open"


def _signed(log_ratio: float) -> str:
    return f"{100 * log_ratio:+.2f} %"


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _between(low: float | None, high: float | None, words: Callable[[float], str]) -> str:
    return " (no interval yet)" if low is None or high is None else f" ({words(low)} to {words(high)})"
