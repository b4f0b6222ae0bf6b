"""What the steps of a ladder came to, from the observations of the one comparison that they were
measured in. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, structs

from phpdyno.commands.compare.view.gather import GatheredRecords, gather
from phpdyno.commands.compare.view.shape import RunView
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.journal.records import Record
from phpdyno.model.observation import Observation
from phpdyno.model.runs.ladder import STOCK, LadderStep, StepFound
from phpdyno.model.runs.tune import TunedRatio
from phpdyno.stats.comparison.judge import judge
from phpdyno.stats.comparison.sequence import confidence_sequence, contrast
from phpdyno.tuning.outcome import ratio_of
from phpdyno.tuning.readings import by_block


def climbed(
    steps: Sequence[LadderStep],
    observations: Sequence[Observation],
    *,
    alpha: float,
    margin: float,
    mixture: float,
    invalid: Mapping[str, str],
    bottom: str = STOCK,
) -> tuple[StepFound, ...]:
    """Every step against what it stands on, and in `total` against the control of these
    observations, which is called `bottom`.

    All intervals hold together with 1 - alpha. `invalid` says of arms, by their SPECs, why they
    could not be measured. Raises ValueError: a step that stands on none.
    """
    names = {bottom, *(step.name for step in steps)}
    if any(step.on not in names for step in steps):
        raise ValueError(f"a step stands on another one, or on {bottom}")
    each = alpha / max(1, 2 * len(steps))
    specs = {step.name: step.spec for step in steps}
    wrong = {step.name: step.failed or invalid.get(step.spec, "") for step in steps}
    return tuple(
        StepFound(step, None, None, "invalid", "", earned=False, reason=wrong[step.name])
        if wrong[step.name]
        else _found(step, specs.get(step.on, ""), observations, alpha=each, margin=margin, mixture=mixture, bare=bool(wrong.get(step.on)))
        for step in steps
    )


def _found(
    step: LadderStep, below: str, observations: Sequence[Observation], *, alpha: float, margin: float, mixture: float, bare: bool
) -> StepFound:
    """What a step came to; `bare`: what it stands on has no number."""
    mine = by_block("cpu", [observations], step.spec)
    total = confidence_sequence(mine.values(), alpha, mixture) if mine else None
    seen = total if not below else contrast(mine, by_block("cpu", [observations], below), alpha, mixture)
    of_stock = None if total is None else ratio_of(total)
    if seen is None:
        why = f"{step.on} has no number" if bare and total is not None else "there was no time for it"
        return StepFound(step, None, of_stock, "inconclusive", "", earned=False, reason=why)
    kind, relevance = judge(seen, margin)
    earned = kind == "improved" and relevance != "not relevant"
    return StepFound(step, ratio_of(seen), of_stock, kind, relevance, earned=earned)


def on_top_of(found: Sequence[StepFound], total: TunedRatio | None) -> tuple[StepFound, ...]:
    """Steps whose totals are against a build, with totals against the stock PHP: times the build's
    own `total`.

    Both intervals hold at once, so their products do.
    """
    return tuple(structs.replace(each, total=_product(total, each.total)) for each in found)


def _product(one: TunedRatio | None, other: TunedRatio | None) -> TunedRatio | None:
    if one is None or other is None:
        return None
    low = None if one.low is None or other.low is None else one.low * other.low
    high = None if one.high is None or other.high is None else one.high * other.high
    return TunedRatio(one.value * other.value, low, high, min(one.blocks, other.blocks))


class MeasuredSteps(Struct, frozen=True):
    """A comparison that steps were measured in: sorted, and as its own report shows it."""

    gathered: GatheredRecords
    view: RunView


def measured_in(records: Iterable[Record], run: str) -> MeasuredSteps:
    """Raises DynoError when the journal holds no plan."""
    entries = list(records)
    return MeasuredSteps(gather(entries, run), view_of(entries, run))


def found_steps(steps: Sequence[LadderStep], measured: MeasuredSteps, *, bottom: str = STOCK) -> tuple[StepFound, ...]:
    """What the steps of one comparison came to."""
    gathered = measured.gathered
    return climbed(
        steps,
        [seen.observation for seen in gathered.seen],
        alpha=1.0 - gathered.plan.confidence,
        margin=gathered.plan.margin,
        mixture=gathered.mixture("cpu"),
        invalid={row.name: row.reason for row in measured.view.rows if row.kind == "invalid"},
        bottom=bottom,
    )


def best_of(steps: Sequence[StepFound]) -> StepFound | None:
    """The step that is certain to be better than the stock PHP and whose interval begins highest:
    of those that earned their place, and of all where none did by itself."""
    certain = [(each.total.low, each) for each in steps if each.total is not None and each.total.low is not None and each.total.low > 1.0]
    earned = [pair for pair in certain if pair[1].earned]
    return max(earned or certain, key=lambda pair: pair[0])[1] if certain else None
