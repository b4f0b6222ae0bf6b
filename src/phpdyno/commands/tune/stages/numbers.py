"""Numeric values of a tune's winner: proposed by a model, measured beside each other, told back.
The best one has to survive ablation."""

from collections.abc import Sequence

from phpdyno.commands.tune.measurer import Batch, TuneMeasurer, run_batches
from phpdyno.commands.tune.stages.search import SearchState, TuneSearch, Winner
from phpdyno.knobs.catalogue import CATALOGUE
from phpdyno.knobs.judge import in_control
from phpdyno.knobs.knob import OFF, Knob
from phpdyno.model.runs.tune import NumberTried
from phpdyno.stats.comparison.sequence import confidence_sequence
from phpdyno.tuning import numeric
from phpdyno.tuning.factors import Candidate, Entry, Factor
from phpdyno.tuning.factors import entry as entry_of
from phpdyno.tuning.numeric import Number, NumericTrial, settings_of
from phpdyno.tuning.outcome import ratio_of
from phpdyno.tuning.readings import by_block

STAGE = "numbers"
SIDE_BY_SIDE = 3
"""Proposals that are measured in one batch: with more, later ones learn less from earlier ones."""
BLOCKS = 3


def numbers_for(search_state: SearchState, wanted: Sequence[str]) -> tuple[Number, ...]:
    """The numeric knobs that could be at work in some combination of what is tried."""
    offered = {name: value for factor in search_state.factors for each in factor.choices for name, value in each.settings.items()}
    return tuple(
        _number(knob) for knob in CATALOGUE.values() if _may_work(knob, search_state, offered) and (not wanted or knob.name in wanted)
    )


def with_numbers(search: TuneSearch, search_state: SearchState, winner: Winner, numbers: Sequence[Number]) -> Winner:
    """The winner with the best numbers as one part more, where they look better than without."""
    entry = winner.entry
    at_work = [each for each in numbers if entry is not None and _works(CATALOGUE[each.name], search_state, entry)]
    if entry is None or not at_work or not search.time_of("numeric").seconds:
        return winner
    told, sigma = _tell(search, search_state, winner, entry, at_work)
    best = numeric.best(told, sigma)
    if best is None or best.shrunk <= 0.0:
        return winner
    return Winner(*_with(winner, entry, settings_of(at_work, best.values)))


def _with(winner: Winner, entry: Entry, numbers: dict[str, str]) -> tuple[tuple[Factor, ...], Entry]:
    """The winner with numbers as one part more: its factors, and the entry."""
    factor = Factor("numbers", (Candidate(" + ".join(f"{name}={value}" for name, value in numbers.items()), numbers),))
    factors = (*winner.factors, factor)
    return (factors, entry_of(factors, (*entry.levels, 1), f"{entry.name} + numbers"))


def _tell(
    search: TuneSearch, search_state: SearchState, winner: Winner, entry: Entry, numbers: Sequence[Number]
) -> tuple[list[NumericTrial], float]:
    """What was measured, and the standard deviation of one block of it."""
    measurer, time = search.measurer, search.begin("numeric")
    base = measurer.control(measurer.metric, entry.settings)
    shape = measurer.blocks(search_state.known, time.seconds, SIDE_BY_SIDE)
    sigma = search_state.known.noise.of_block(shape.pairs)
    told: list[NumericTrial] = []
    tried: list[NumberTried] = []
    turn = 0
    while True:
        turn += 1
        proposed = _proposals(measurer, numbers, told, sigma)
        named = {f"numbers {turn}.{place}": values for place, values in enumerate(proposed, 1)}
        whole = {name: _with(winner, entry, settings_of(numbers, values))[1].settings for name, values in named.items()}
        own = {name: {key: value for key, value in each.items() if entry.settings.get(key) != value} for name, each in whole.items()}
        arms = {name: measurer.arm(name, changes, measurer.metric, entry.settings) for name, changes in own.items()}
        batches = run_batches(
            measurer,
            f"{STAGE}-{turn}",
            arms,
            known=search_state.known,
            first=Batch(BLOCKS, shape.pairs),
            until_s=time.until_s,
            still_open=lambda _: (),
            control=base,
        )
        if not batches.observations:
            break
        for name, values in named.items():
            logs = tuple(by_block(measurer.asked.goal, batches.observations, name).values())
            if logs:
                told.append(NumericTrial(values, logs))
                tried.append(NumberTried(settings_of(numbers, values), ratio_of(confidence_sequence(logs, measurer.alpha))))
    search.take(numbers=tuple(sorted(tried, key=lambda each: -each.ratio.value)))
    return told, sigma


def _proposals(measurer: TuneMeasurer, numbers: Sequence[Number], told: Sequence[NumericTrial], sigma: float) -> list[numeric.Values]:
    """Several different ones; two that are alike teach less than one."""
    found: list[numeric.Values] = []
    for place in range(4 * SIDE_BY_SIDE):
        proposed = numeric.propose(numbers, told, sigma_block=sigma, seed=measurer.asked.seed * 1009 + place)
        if proposed not in found:
            found.append(proposed)
        if len(found) == SIDE_BY_SIDE:
            break
    return found


def _number(knob: Knob) -> Number:
    span = knob.span
    if span is None:
        raise ValueError(f"{knob.name} is no number")
    return Number(knob.name, span.low, span.high, log=True, unit=span.unit)


def _may_work(knob: Knob, search_state: SearchState, offered: dict[str, str]) -> bool:
    """Whether what it needs is there in the control, or is made by something that is tried."""
    if knob.span is None or not knob.fits(search_state.facts.php_version):
        return False
    held = in_control(search_state.facts, {})
    return all(held.get(name, "") not in OFF or name in offered for name in knob.needs)


def _works(knob: Knob, search_state: SearchState, entry: Entry) -> bool:
    """Whether what it needs is at work in an entry."""
    held = {**in_control(search_state.facts, {}), **entry.settings}
    return all(held.get(name, "") not in OFF for name in knob.needs)
