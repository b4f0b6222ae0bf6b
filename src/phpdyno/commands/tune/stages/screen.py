"""The screening of a tune: a factorial over everything that works alone, made again without what
does not work together."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from phpdyno.commands.tune.measurer import SECONDS_SPARE, Batch
from phpdyno.commands.tune.parts import TuneChanged
from phpdyno.commands.tune.stages.search import OTHER_CHANGES, SearchState, TuneSearch, shape_of
from phpdyno.commands.tune.words import screened_words
from phpdyno.model.observation import Observation
from phpdyno.model.runs.tune import Screening
from phpdyno.model.verdict import Verdict
from phpdyno.stats.screening.effects import Screened, screen
from phpdyno.stats.screening.factorial import Design, designs
from phpdyno.tuning.budget import plan_screen
from phpdyno.tuning.culprits import culprits, without
from phpdyno.tuning.factors import Entry, batches, row_entries
from phpdyno.tuning.outcome import screened_effects
from phpdyno.tuning.readings import screen_readings

STAGE, AGAIN = "screen", "screen-again"
AGAIN_SHARE = 0.8
"""Of the screening's time for another one: rows that do not work take little of it."""
TOGETHER = "does not work together with others"


def screen_all(search: TuneSearch, search_state: SearchState) -> tuple[SearchState, Screened | None]:
    """The factorial, with what it was made of; None when no row was measured.

    Where rows do not work although every change works alone, and so many that some effect cannot be
    told, what is to blame is left out and the rest is screened again, once.
    """
    shape = search.found.screening
    if shape is None:
        return search_state, None
    screened, left_out = _screen(search, STAGE, search_state, shape)
    if not left_out or (screened and all(each.effect for each in screened.mains)):
        return search_state, screened
    search.refuse({name: f"{TOGETHER}: {why}" for name, why in left_out.items()})
    rest = structs.replace(search_state, factors=without(search_state.factors, tuple(left_out)))
    measurer, levels = search.measurer, tuple(len(each.levels) for each in rest.factors)
    again = (
        plan_screen(AGAIN_SHARE * search.time_of("screen").seconds, levels, measurer.costs(search_state.known), measurer.alpha)
        if levels
        else None
    )
    if again is None:
        return rest, None
    search.take(broken=shape, screening=shape_of(again))
    search.tell(f"screening again without {', '.join(left_out)}: {TOGETHER}")
    least_s = SECONDS_SPARE * AGAIN_SHARE * search.time_of("screen").seconds
    screened, _ = _screen(search, AGAIN, rest, shape_of(again), least_s=least_s)
    return rest, screened


def _screen(
    search: TuneSearch, stage: str, search_state: SearchState, shape: Screening, *, least_s: float = 0.0
) -> tuple[Screened | None, dict[str, str]]:
    """One factorial; and the changes that are to blame for rows that do not work, with the reason
    of such a row. It has what is left of its time, `least_s` at least: a second one begins late."""
    measurer = search.measurer
    design = _design(search_state, shape)
    rows = row_entries(search_state.factors, design)
    groups = batches(design, measurer.most_arms)
    begun_s = measurer.clock.spent_s()
    seen: list[Sequence[Observation]] = []
    broken: dict[str, Verdict] = {}
    for number, group in enumerate(groups, 1):
        arms = search.arms(rows[row] for row in group)
        fixed = measurer.fixed(search_state.known, Batch(shape.blocks, shape.pairs), len(arms))
        left_s = max(search.time_of("screen").until_s, begun_s + least_s) - measurer.clock.spent_s()
        seconds = left_s / (len(groups) - number + 1)
        state = search.measure(f"{stage}-{number}", arms, fixed, max(0.0, seconds))
        seen.append(state.observations)
        broken |= {name: verdict for name, verdict in state.verdicts.items() if verdict.kind == "invalid"}
    left_out = _culprits(search_state, rows, broken)
    readings = screen_readings(measurer.asked.goal, seen, {each.name: row for row, each in enumerate(rows)})
    if not readings:
        return None, left_out
    screened = screen(design, readings, search_state.known.noise, measurer.alpha)
    effects, together = screened_effects(search_state.factors, screened, measurer.margin)
    search.take(screening=structs.replace(shape, effects=effects, together=together))
    search.tell(screened_words(effects, measurer.asked.goal))
    return screened, left_out


def _culprits(search_state: SearchState, rows: Sequence[Entry], broken: Mapping[str, Verdict]) -> dict[str, str]:
    """The reason why a change is to blame, by change: that of a row in which it is."""
    works, failed = ([each for each in rows if (each.name in broken) is wanted] for wanted in (False, True))
    idle = {
        name: [each.knob for each in verdict.proofs if not each.proved and not each.same_as_control] for name, verdict in broken.items()
    }
    found: dict[str, str] = {}
    for name in culprits(search_state.factors, works, failed, idle):
        changes = next(choice for factor in search_state.factors for choice in factor.choices if choice.name == name)
        of_it = [row for row in failed if changes.settings.keys() <= row.settings.keys()]
        shown = [each for row in of_it for each in broken[row.name].proofs if each.knob in changes.settings and not each.proved]
        found[name] = shown[0].detail if shown else broken[of_it[0].name].reason if of_it else "the combination did not work"
    return found


def _design(search_state: SearchState, shape: Screening) -> Design:
    """The one that was planned. Raises Changed."""
    for each in designs([len(factor.levels) for factor in search_state.factors]):
        if (len(each.rows), each.resolution) == (shape.rows, shape.resolution):
            return each
    raise TuneChanged(OTHER_CHANGES)
