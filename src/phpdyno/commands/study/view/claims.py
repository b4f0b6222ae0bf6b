"""What somebody else claims beside what was found here: what a study's page and screen begin with.
Pure."""

from collections.abc import Sequence

from msgspec import Struct

from phpdyno.commands.measure.view.words import estimate_words
from phpdyno.commands.study.view.cells import factor, ratio
from phpdyno.commands.study.view.shape import ContrastFigures, StudyView, SweepArm, SweepFigures
from phpdyno.model.plan import Metric
from phpdyno.model.runs.study import Side
from phpdyno.report.words import NOTHING, count
from phpdyno.stats.change import change_of, signed

LEAST_FACTOR = 2.0
"""From here on a factor is plainer than percent."""
HEADS: dict[Metric, str] = {"throughput": "requests per second", "cpu": "CPU per request"}
SIDES: tuple[Side, ...] = ("alike", "larger", "smaller")


class EffectClaim(Struct, frozen=True):
    """One question: what the reference claims, what was found here on each app, and why they
    differ. `sides`: where each of ours lies beside the claim, where it has an interval; `cpu`: what
    was found by CPU beside requests per second; `open`: no direction is shown on any app."""

    question: str
    claimed: str
    here: tuple[str, ...]
    why: tuple[str, ...]
    sides: tuple[Side, ...] = ()
    cpu: tuple[str, ...] = ()
    open: bool = False


def claims_of(view: StudyView) -> tuple[EffectClaim, ...]:
    """Contrasts first, then the best of every arm of a sweep. All figures of contrasts are of one
    kind: percent where all are small, else how many times better."""
    metric = metric_of(view.contrasts)
    several = len({each.app for each in view.contrasts}) > 1
    asked = dict.fromkeys(each.title for each in view.contrasts if each.metric == metric)
    times = in_times(view)
    found = [
        _contrast(view, [each for each in view.contrasts if each.title == title], metric, several=several, times=times) for title in asked
    ]
    return (*found, *(_best(view, sweep, arm) for sweep in view.sweeps for arm in sweep.arms))


def in_times(view: StudyView) -> bool:
    """Whether effects are told as factors: how many times better."""
    values = [value for each in view.contrasts for value in (each.reference, each.ours.ratio if each.ours else None)]
    return any(value >= LEAST_FACTOR or value <= 1 / LEAST_FACTOR for value in values if value is not None)


def metric_of(contrasts: Sequence[ContrastFigures]) -> Metric:
    """The metric that claims are held against: the reference's, where anything of ours has it."""
    return "throughput" if any(each.metric == "throughput" for each in contrasts) else "cpu"


def in_one_sentence(view: StudyView) -> str:
    """How many effects that the reference gives agree with ours, are larger or smaller; how many
    questions have an answer where it gives none."""
    claims = claims_of(view)
    sides = [side for each in claims for side in each.sides]
    if len(sides) == 1:
        return f"the one effect that the reference gives {'lies within our interval' if sides[0] == 'alike' else f'is {sides[0]} here'}"
    if sides:
        counted = {side: sides.count(side) for side in SIDES if side in sides}
        told = [f"{number} {_within(number) if side == 'alike' else f'{_are(number)} {side} here'}" for side, number in counted.items()]
        return f"of {len(sides)} effects that the reference gives, {', '.join(told)}"
    asked = {each.title for each in view.contrasts}
    if not asked:
        return ""
    mine = [each for each in claims if each.question in asked]
    decided = sum(not each.open for each in mine)
    left = sum(each.open and any(not words.endswith(NOTHING) for words in each.here) for each in mine)
    return f"{decided} of {count(len(asked), 'question')} decided" + (f", {left} not decided" if left else "")


def _within(number: int) -> str:
    return f"{'lies' if number == 1 else 'lie'} within our interval"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def effect(value: float, metric: Metric, *, times: bool) -> str:
    """A ratio without an interval: `6.09×`, or `+6.7 %`."""
    if times:
        return factor(value)
    return signed(change_of(value, value, value, less_is_better=metric == "cpu")).partition(" (")[0]


def _contrast(view: StudyView, all_of_it: Sequence[ContrastFigures], metric: Metric, *, several: bool, times: bool) -> EffectClaim:
    """One contrast on all apps, by `metric` and by CPU beside it."""
    mine = [each for each in all_of_it if each.metric == metric]
    title = mine[0].title
    theirs = next((each.reference for each in mine if each.reference is not None), None)
    here, beside = (
        tuple(f"{f'{each.app} ' if several else ''}{_ours(each, times=times)}" for each in shown)
        for shown in (mine, [each for each in all_of_it if each.metric != metric])
    )
    sides = tuple(each.side for each in mine if each.side is not None)
    claimed = NOTHING if theirs is None else effect(theirs, "throughput", times=times)
    return EffectClaim(title, claimed, here, view.why.get(title, ()), sides, beside, open=not any(map(_is_decided, mine)))


def _is_decided(found: ContrastFigures) -> bool:
    return found.ours is not None and not found.ours.low <= 1.0 <= found.ours.high


def _ours(found: ContrastFigures, *, times: bool) -> str:
    if found.ours is None:
        return NOTHING
    if times:
        return ratio(found.ours)
    return signed(change_of(found.ours.ratio, found.ours.low, found.ours.high, less_is_better=found.metric == "cpu"))


def _best(view: StudyView, sweep: SweepFigures, arm: SweepArm) -> EffectClaim:
    """The most requests per second of an arm, and how many were in flight."""
    claimed = []
    for each in view.reference.sweeps if view.reference is not None else ():
        if arm.arm in each.per_s:
            load, most = max(each.per_s[arm.arm].items(), key=lambda row: row[1])
            claimed.append(f"{each.machine}: {most:,.0f} (c={load})")
    found = arm.found
    here = NOTHING if found.best_per_s is None else f"{estimate_words(found.best_per_s)}, c={found.best}"
    return EffectClaim(f"{arm.arm}: most req/s", "; ".join(claimed) or NOTHING, (here,), view.why.get(sweep.name, ()))
