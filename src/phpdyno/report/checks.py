"""What a selfcheck found, row by row, held against its targets. Pure."""

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from phpdyno import __version__
from phpdyno.journal.checks import CheckKind, Checks, Compared, Ground
from phpdyno.stats.exact import median_interval, share_interval
from phpdyno.stats.sequence import confidence_sequence

Unit = Literal["share", "s", "log ratio"]
Outcome = Literal["reached", "open", "not reached", "–"]

MOST_ALARMS = 0.05
LEAST_FOUND = 0.90
LEAST_COVERED = 0.93
MOST_SECONDS = {("planted", 0.01): 45.0, ("wordpress", 0.01): 120.0}
"""By app and planted effect."""
FULL_BUDGET_S = 60.0
"""With less time for each planted comparison, directions that were not found say nothing against the host."""
MOST_ASYMMETRY = 0.2
"""Of the planted effect: by so much may its two directions differ."""
MOST_BEND = 0.05
"""Half of a bend is what a planted effect may be off by: 5 % is 0.025 points of a planted 1 %."""
ALPHA = 0.05
PAIRED_MIXTURE = 1.0


class CheckRow(Struct, frozen=True):
    """One check; its figure and bounds are in `unit`. Bounds are None while there is no finite interval."""

    check: Annotated[str, Meta(description="What was checked.")]
    found: Annotated[str, Meta(description="What was found, in words.")]
    about: Annotated[
        Literal["honesty", "power"],
        Meta(description="`honesty`: whether what is claimed is true. `power`: how much is decided, and how soon."),
    ]
    unit: Annotated[Unit, Meta(description="Of the figures: a share (fraction), seconds, or the logarithm of a ratio.")]
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


class ChecksView(Struct, frozen=True, kw_only=True):
    """A selfcheck as it is shown and printed as JSON."""

    schema: Annotated[Literal["phpdyno.selfcheck/1"], Meta(description="Name and version of this format.")] = "phpdyno.selfcheck/1"
    phpdyno: Annotated[str, Meta(description="Version of phpdyno that shows it.")] = __version__
    app: Annotated[str, Meta(description="The app that the comparisons were made on.")]
    seed: Annotated[int, Meta(description="Orders, coins and seeds of all comparisons follow from it.")]
    wanted: Annotated[int, Meta(description="Comparisons asked for.")]
    done: Annotated[int, Meta(description="Comparisons made.")]
    counts: Annotated[dict[str, int], Meta(description="Comparisons made, by kind.")]
    invalid: Annotated[tuple[str, ...], Meta(description="Why comparisons gave no number.")]
    kept: Annotated[tuple[str, ...], Meta(description="Journals of comparisons that came out wrong, below the selfcheck's directory.")]
    planted: Annotated[str, Meta(description="What is planted on what, in words; empty before it is known.")]
    rows: Annotated[tuple[CheckRow, ...], Meta(description="All checks, in the order of the report.")]
    contradicted: Annotated[bool, Meta(description="Whether a target was not reached.")]
    conclusion: Annotated[str, Meta(description="What the checks say together.")]


def checks_view(checks: Checks) -> ChecksView:
    """All rows that there are figures for."""
    valid = [each for each in checks.compared if each.verdict != "invalid"]
    planted = [each for each in valid if each.kind == "planted"]
    rows = [*_bend(checks), *_alarms(valid, "A/A"), *_alarms(valid, "zero"), *_planted(checks, planted)]
    kinds = [each.kind for each in checks.compared]
    wanted, done = checks.header.wish.total, len(checks.compared)
    return ChecksView(
        app=checks.header.wish.app,
        seed=checks.header.wish.seed,
        wanted=wanted,
        done=done,
        counts={kind: kinds.count(kind) for kind in dict.fromkeys(sorted(kinds))},
        invalid=tuple(f"{each.kind}: {each.reason}" for each in checks.compared if each.verdict == "invalid"),
        kept=tuple(each.kept for each in checks.compared if each.kept),
        planted=ground_in_words(checks.ground) if checks.ground else "",
        rows=tuple(rows),
        contradicted=any(row.outcome == "not reached" for row in rows),
        conclusion=conclude(rows, unfinished=done < wanted),
    )


def conclude(rows: Sequence[CheckRow], *, unfinished: bool) -> str:
    """What the checks say together, in words that claim no more than was shown."""
    false = [row.check for row in rows if row.outcome == "not reached" and row.about == "honesty"]
    slow = [row.check for row in rows if row.outcome == "not reached" and row.about == "power"]
    judged = [row for row in rows if row.outcome != "–"]
    unsettled = sum(1 for row in judged if row.outcome == "open")
    if false:
        return f"Contradicted: {'; '.join(false)}. Do not rely on verdicts from this host before that is understood."
    if slow:
        return f"Nothing speaks against the verdicts, but this host decides too little or too late: {'; '.join(slow)}; see phpdyno doctor."
    if unfinished:
        return "Nothing contradicts the targets so far; not all comparisons are made."
    if unsettled:
        return f"Nothing contradicts the targets; {unsettled} of {len(judged)} would need more comparisons to be shown."
    return "All targets are reached."


def ground_in_words(ground: Ground) -> str:
    """What is planted on what."""
    cost_ns, unit_ns = ground.line.cost_ns(ground.turns), ground.line.unit_ns
    return (
        f"a request costs {cost_ns / 1e3:.0f} µs of CPU, {100 * ground.line.base_ns / cost_ns:.0f} % of it without the loop; a turn "
        f"of the loop costs {unit_ns:.2f} ns, so requests with {ground.turns} and with {ground.more_turns} turns differ by "
        f"{100 * math.expm1(ground.effect):.3f} %"
    )


# ---- rows ------------------------------------------------------------------------------------


def _bend(checks: Checks) -> list[CheckRow]:
    if checks.ground is None:
        return []
    line = checks.ground.line
    low, high = line.bend_low, line.bend_high
    found = f"upper half {_signed(line.bend)} steeper than the lower one{_between(low, high, _signed)}"
    target = f"within ±{100 * MOST_BEND:.0f} %"
    outcome = outcome_of(low, high, least=-MOST_BEND, most=MOST_BEND)
    name = "cost over turns of the loop is a line"
    return [CheckRow(name, found, "honesty", "log ratio", line.bend, low, high, line.rounds, target, -MOST_BEND, MOST_BEND, outcome)]


def _alarms(valid: Sequence[Compared], kind: CheckKind) -> list[CheckRow]:
    names = {"A/A": "A/A: a direction is claimed", "zero": "a setting without effect: a direction is claimed"}
    mine = [each for each in valid if each.kind == kind]
    return _share(names[kind], mine, lambda each: claimed(each) != 0, most=MOST_ALARMS)


def _planted(checks: Checks, planted: Sequence[Compared]) -> list[CheckRow]:
    wish = checks.header.wish
    effect = f"planted {100 * wish.effect:g} %"
    finite = [each for each in planted if each.low is not None]
    rows = _found(f"{effect}: its direction is found", planted, wish.planted_budget_s)
    rows += _never(f"{effect}: the opposite is claimed", planted, lambda each: claimed(each) * each.truth < 0)
    rows += _share(f"{effect}: the interval holds the truth", finite, holds_truth, least=LEAST_COVERED)
    rows += _seconds(f"{effect}: measuring time until the direction", planted, MOST_SECONDS.get((wish.app, wish.effect)))
    return rows + _symmetry(f"{effect}: swapping the arms inverts the ratio", planted, wish.effect)


def _share(
    name: str, among: Sequence[Compared], hit: Callable[[Compared], bool], *, least: float = 0.0, most: float = 1.0
) -> list[CheckRow]:
    if not among:
        return []
    count, of = sum(1 for each in among if hit(each)), len(among)
    low, high = share_interval(count, of)
    target = f"≤ {100 * most:.0f} %" if most < 1.0 else f"≥ {100 * least:.0f} %"
    found = f"{count} of {of}, {100 * count / of:.1f} % ({100 * low:.1f} to {100 * high:.1f})"
    outcome = outcome_of(low, high, least=least, most=most)
    return [CheckRow(name, found, "honesty", "share", count / of, low, high, of, target, least, most, outcome)]


def _found(name: str, planted: Sequence[Compared], budget_s: float) -> list[CheckRow]:
    """The share that found the direction; with little time for each there is no target."""
    judged = budget_s >= FULL_BUDGET_S
    rows = _share(f"{name} within {budget_s:.0f} s", planted, lambda each: claimed(each) * each.truth > 0, least=LEAST_FOUND)
    without = {"target": "–", "at_least": None, "at_most": None, "outcome": "–"}
    return [structs.replace(row, about="power", **({} if judged else without)) for row in rows]


def _never(name: str, among: Sequence[Compared], hit: Callable[[Compared], bool]) -> list[CheckRow]:
    """A target that no interval can prove: not reached with the first case, else reached as far as can be said."""
    if not among:
        return []
    count, of = sum(1 for each in among if hit(each)), len(among)
    low, high = share_interval(count, of)
    found = f"{count} of {of}" + (f", so at most {100 * high:.1f} %" if count == 0 else "")
    return [CheckRow(name, found, "honesty", "share", count / of, low, high, of, "never", 0.0, 0.0, "not reached" if count else "reached")]


def _seconds(name: str, planted: Sequence[Compared], most_s: float | None) -> list[CheckRow]:
    """A comparison that ended without the direction would have taken longer than it did: how much longer is not known."""
    if not planted:
        return []
    times = [each.seconds if claimed(each) * each.truth > 0 else math.inf for each in planted]
    middle, high = statistics.median(times), median_interval(times)[1]
    low = median_interval([each.seconds for each in planted])[0]
    outcome = outcome_of(low, high, least=0.0, most=most_s) if most_s else "–"
    low, high = _finite(low), _finite(high)
    found = f"median {middle:.1f} s{_between(low, high, '{:.1f}'.format)}" if math.isfinite(middle) else "half of them found none"
    target = f"median ≤ {most_s:.0f} s" if most_s else "–"
    return [CheckRow(name, found, "power", "s", _finite(middle), low, high, len(times), target, None, most_s, outcome)]


def _symmetry(name: str, planted: Sequence[Compared], effect: float) -> list[CheckRow]:
    """Means of both halves: stopping at the first direction moves them outwards alike, so that their sum stays 0."""
    logs = {swapped: [math.log(each.ratio) for each in planted if each.ratio and each.swapped == swapped] for swapped in (False, True)}
    if not all(logs.values()):
        return []
    dearer, cheaper = (statistics.fmean(logs[swapped]) for swapped in (False, True))
    seen = confidence_sequence([a + b for a, b in zip(logs[False], logs[True], strict=False)], ALPHA, PAIRED_MIXTURE)
    bound = MOST_ASYMMETRY * effect
    apart = f"{_signed(seen.mean)}{_between(seen.low, seen.high, _signed)}"
    found = f"{math.exp(dearer):.4f} and {math.exp(cheaper):.4f}, their product off 1 by {apart}"
    target = f"within ±{100 * bound:.2g} %"
    outcome = outcome_of(seen.low, seen.high, least=-bound, most=bound)
    return [CheckRow(name, found, "honesty", "log ratio", seen.mean, seen.low, seen.high, seen.n, target, -bound, bound, outcome)]


# ---- judging ---------------------------------------------------------------------------------


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
