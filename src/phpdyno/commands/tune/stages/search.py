"""The first half of a tune: what there is to try, what of it works at all, and which combination
looks best.

Every decision follows from the journals of the parts, so a tune that was interrupted goes on by
walking the same way again.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from msgspec import Struct, structs

from phpdyno.commands.tune.measurer import Batch, Batches, MeasuredPart, TuneMeasurer, run_batches, same_as
from phpdyno.commands.tune.parts import TuneChanged
from phpdyno.commands.tune.words import raced_words, tried_words
from phpdyno.errors import BudgetTooSmall, DynoError
from phpdyno.experiment.comparison.state import RunState
from phpdyno.knobs.catalogue import knob_for
from phpdyno.knobs.judge import candidates, in_control
from phpdyno.model.arm import AA, Arm
from phpdyno.model.facts import HostFacts, WorkerFacts
from phpdyno.model.plan import FixedBlocks, Plan
from phpdyno.model.runs.tune import Change, Found, Screening, StageName, StageTime
from phpdyno.model.runs.tune import Race as RaceFound
from phpdyno.servers.host_settings import can_set
from phpdyno.stats.comparison.noise import Noise
from phpdyno.stats.screening.effects import Screened
from phpdyno.stats.screening.racing import RacingArm as Running
from phpdyno.stats.screening.racing import Standing, least_race_blocks, pair_alpha, race
from phpdyno.tuning.budget import LEAST_PAIRS, BudgetRequest, ScreenPlan, plan_budget, put_off, racers
from phpdyno.tuning.factors import Candidate, Entry, Factor, candidates_of, factors_of, narrowed
from phpdyno.tuning.goals import breaches
from phpdyno.tuning.outcome import race_found
from phpdyno.tuning.race_entries import race_entries, without_common
from phpdyno.tuning.readings import by_block, noise_of, sides

LOOK, TRY, TRY_AGAIN, RACE, RACE_AGAIN = "look", "try", "try-again", "race", "race-again"
MORE_STARTS = 2
"""Of changes that are at work or not as a start draws it."""
NOT_ALWAYS = "not at every start"
LEAST_LEFT_S = 1.0
CANNOT_SET = "it cannot be set here: run as root, on the host itself"
NOT_BESIDE = "not tried beside {}: its workers would take pages from those that need them; --knob names it alone"
NOT_FOR_MEMORY = "not tried: more requests per second are not what --goal memory is after"
NO_TIME = "the budget leaves no time for it: give more, or name it with --knob"
OTHER_CHANGES = "the changes that can be tried are others than when this tune began"
BEHIND_NGINX = "web."
"""Settings that mean nothing without nginx; the family of the pool's socket is one of its own."""


class SearchState(Struct, frozen=True):
    """What the search stands on: what the calibration said, the control's worker, and what there is
    to try by the goal's metric, and by the other one (`loaded`: what waits or runs beside each
    other)."""

    known: MeasuredPart
    facts: WorkerFacts
    factors: tuple[Factor, ...] = ()
    loaded: tuple[Candidate, ...] = ()


class Winner(Struct, frozen=True):
    """What the search proposes: an entry over the factors; None when nothing is better than the
    control."""

    factors: tuple[Factor, ...]
    entry: Entry | None


class TuneSearch:
    """Look, try, plan, race. `keep` is told what was found so far, `tell` what a user should
    read."""

    def __init__(
        self, measurer: TuneMeasurer, host: HostFacts, found: Found, *, keep: Callable[[Found], None], tell: Callable[[str], None]
    ) -> None:
        self.measurer = measurer
        self.found = found
        self._host = host
        self._keep = keep
        self._tell = tell

    def take(self, **changes: object) -> None:
        """Something was found."""
        self.found = structs.replace(self.found, **changes)
        self._keep(self.found)

    # ---- what there is to try -----------------------------------------------------------------

    def look(self) -> SearchState:
        """Calibrate on the control alone, and read its worker."""
        measurer = self.measurer
        control = measurer.control(measurer.metric)
        state = measurer.parts.measure(
            LOOK, lambda: measurer.plan(LOOK, (same_as(control),), metric=measurer.metric, budget_s=measurer.clock.budget_s, trial=True)
        )
        seen = state.calibrated.get(measurer.metric)
        if seen is None:
            raise DynoError(f"the control differs from itself: {state.verdicts[AA].reason}")
        self.take(remarks=measurer.parts.remarks(LOOK))
        for words in self.found.remarks:
            self._tell(words)
        facts = state.facts[control.name]
        measurer.make_room_for(facts, max((each.control.worker_kib or 0 for each in seen.aa), default=0))
        pair_s = seen.block_s / sum(seen.pairs.values())
        noise = noise_of(measurer.asked.goal, Noise(seen.sigma_pair, seen.sigma_start), seen.aa)
        return SearchState(MeasuredPart(seen, noise, pair_s, seen.overhead_s / 2), facts)

    def try_each(self, search_state: SearchState, more: Sequence[Candidate] = ()) -> SearchState:
        """Every change alone, for one short block: does it start, is it at work, are its answers
        equal, how long do its requests take."""
        measurer, given = self.measurer, self.measurer.settings(self.measurer.metric)
        offered = candidates(search_state.facts, self._host, given)
        loaded = measurer.settings("throughput")
        wanted = {
            name: tuple(each for each in values if loaded.get(name) != each or knob_for(name).metric == "cpu")
            for name, values in asked_values(offered, measurer.asked.knobs).items()
            if measurer.asked.transport == "http" or not name.startswith(BEHIND_NGINX) or name == "web.socket"
        }
        out_of_reach = [
            Change(f"{name}={value}", {name: value}, knob_for(name).metric, CANNOT_SET)
            for name, values in wanted.items()
            for value in values
            if not can_set(name)
        ]
        wanted = {name: values for name, values in wanted.items() if can_set(name)}
        aside = set_aside(tuple(wanted))
        out_of_reach += [
            Change(f"{name}={value}", {name: value}, knob_for(name).metric, NOT_BESIDE.format(other))
            for name, other in aside.items()
            for value in wanted.pop(name)
        ]
        found = candidates_of(wanted, in_control(search_state.facts, given), knob_for, huge_kib=self._host.hugepage_kib)
        every = (*more, *sorted(found, key=lambda each: knob_for(next(iter(each.settings))).rank))
        mine = tuple(each for each in every if self._is_mine(each))
        refused, known = self._try(TRY, mine, Batch(1, LEAST_PAIRS), search_state.known)
        drawn = tuple(each for each in mine if each.name not in refused and any(knob_for(name).drawn for name in each.settings))
        if drawn:
            idle, _ = self._try(TRY_AGAIN, drawn, Batch(MORE_STARTS, LEAST_PAIRS), known)
            refused |= {name: f"{NOT_ALWAYS}: {why}" for name, why in idle.items()}
        others = tuple(each for each in every if each not in mine)
        not_loaded = NOT_FOR_MEMORY if measurer.asked.goal == "memory" else ""
        changes = [
            *(Change(each.name, each.settings, measurer.metric, refused.get(each.name, "")) for each in mine),
            *(Change(each.name, each.settings, "throughput", not_loaded) for each in others),
            *out_of_reach,
        ]
        self.take(changes=tuple(changes))
        left = [each for each in mine if each.name not in refused]
        self._tell(tried_words(self.found.changes))
        factors = factors_of(left, clash=measurer.clash(measurer.metric)) if left else ()
        return SearchState(known, search_state.facts, factors, () if not_loaded else others)

    def _is_mine(self, candidate: Candidate) -> bool:
        """Whether the goal's metric judges it: throughput everything, CPU what changes PHP's
        work."""
        return self.measurer.metric == "throughput" or all(knob_for(name).metric == "cpu" for name in candidate.settings)

    def _try(self, stage: str, every: Sequence[Candidate], batch: Batch, known: MeasuredPart) -> tuple[dict[str, str], MeasuredPart]:
        """Why some take no part, and what an instance and a pair really take."""
        measurer = self.measurer
        refused: dict[str, str] = {}
        starts, pairs = [], []
        for number, at in enumerate(range(0, len(every), measurer.most_arms), 1):
            tried, arms = every[at : at + measurer.most_arms], []
            for each in tried:
                try:
                    arms.append(measurer.arm(each.name, each.settings, measurer.metric))
                except DynoError as error:  # a PHP that does not run is one of them
                    refused[each.name] = error.what
            if not arms:
                continue
            fixed = measurer.fixed(known, batch, len(arms))
            state = self.measure(f"{stage}-{number}", arms, fixed, measurer.clock.left_s())
            refused |= {name: verdict.reason for name, verdict in state.verdicts.items() if verdict.kind == "invalid"}
            measured_s = state.seconds_of(state.plan.panels()[0])
            if state.observations:
                starts.append(max(LEAST_LEFT_S / 10, state.spent_s - measured_s) / (len(arms) + 1))
                opening = known.opening if len(arms) > 1 else 0.0
                pairs.append(measured_s / sum(seen.pairs + opening for seen in state.observations))
        if not pairs:
            return refused, known
        return refused, structs.replace(known, start_s=fmean(starts), pair_s=fmean(pairs))

    def measure(self, name: str, arms: Sequence[Arm], fixed: FixedBlocks, budget_s: float) -> RunState:
        """A part of fixed blocks by the goal's metric."""
        measurer = self.measurer

        def make() -> Plan:
            return measurer.plan(name, arms, metric=measurer.metric, budget_s=budget_s, fixed=fixed)

        return measurer.parts.measure(name, make)

    # ---- the plan of the budget ---------------------------------------------------------------

    def plan(self, search_state: SearchState, *, numeric: bool) -> SearchState:
        """Say what the rest of the budget will decide; what was said before stands. Gives what
        there is time for.

        Raises BudgetTooSmall, Changed.
        """
        if not self.found.times:
            if not search_state.factors:
                return search_state
            self._promise(search_state, numeric=numeric)
        shape = self.found.screening
        try:
            kept = narrowed(search_state.factors, shape.levels) if shape and shape.levels else search_state.factors
        except ValueError as error:
            raise TuneChanged(OTHER_CHANGES) from error
        self.refuse({choice.name: NO_TIME for factor in search_state.factors[len(kept) :] for choice in factor.choices})
        return structs.replace(search_state, factors=kept)

    def _promise(self, search_state: SearchState, *, numeric: bool) -> None:
        measurer, began_s = self.measurer, self.measurer.clock.spent_s()
        wanted = BudgetRequest(
            tuple(len(each.levels) for each in search_state.factors),
            measurer.margin,
            measurer.alpha,
            numeric=numeric,
            throughput=bool(search_state.loaded),
        )
        try:
            made = plan_budget(measurer.clock.left_s(), wanted, measurer.costs(search_state.known))
        except BudgetTooSmall as error:
            whole_s, instead = measurer.clock.budget_s, "fewer knobs (--knob)"
            raise BudgetTooSmall(error.what, budget_s=whole_s, enough_s=math.ceil(error.enough_s + began_s), instead=instead) from error
        times, until_s = [], began_s
        for each in made.stages:
            until_s += each.seconds
            times.append(StageTime(each.name, each.seconds, until_s, each.decidable))
        self.take(plan=made.sentence, times=tuple(times), screening=shape_of(made.screen))
        self._tell(f"plan: {made.sentence}")

    def note(self, text: str) -> None:
        """Something for the report, told at once."""
        self.take(notes=(*self.found.notes, text))
        self._tell(text)

    def tell(self, text: str) -> None:
        """Something that a user should read while the rest goes on."""
        self._tell(text)

    def time_of(self, stage: StageName) -> StageTime:
        """When a stage is to end; one without a share has ended already."""
        held = [each for each in self.found.times if each.name == stage]
        return held[0] if held else StageTime(stage, 0.0, 0.0, None)

    def begin(self, stage: StageName) -> StageTime:
        """When a stage that begins now is to end.

        What came before may have taken longer than planned: then no later stage goes without time.
        What an earlier session of the tune had come to keeps its end.
        """
        if not self.measurer.parts.ahead():
            self.take(times=put_off(self.found.times, stage, self.measurer.clock.spent_s()))
        return self.time_of(stage)

    def refuse(self, reasons: Mapping[str, str]) -> None:
        """Say of changes why they take no part any more."""
        changes = [structs.replace(each, refused=reasons.get(each.name, each.refused)) for each in self.found.changes]
        self.take(changes=tuple(changes))

    def arms(self, entries: Iterable[Entry]) -> list[Arm]:
        """The arms that can be: settings of two changes may contradict each other (more kept
        connections than workers)."""
        made = []
        for each in entries:
            try:
                made.append(self.measurer.arm(each.name, each.settings, self.measurer.metric))
            except DynoError as error:
                self.note(f"{each.name} is left out: {error.what}")
        return made

    # ---- race ---------------------------------------------------------------------------------

    def race(self, search_state: SearchState, screened: Screened | None) -> Winner:
        """The most promising combinations against each other and the control; once more without
        what all of them were refused for."""
        measurer, time = self.measurer, self.begin("race")
        most = racers(time.seconds, measurer.costs(search_state.known), effect=measurer.effect, alpha=measurer.alpha)
        every = race_entries(search_state.factors, screened, margin=measurer.margin) if screened else ()
        if not every:
            self.take(race=RaceFound(0, (), "", "nothing was left to race"))
            return Winner(search_state.factors, None)
        first = every[:most]
        ended = self._raced(RACE, search_state, first, time.until_s)
        others = without_common(every, first)[:most]
        if others and ended.broken.keys() >= {each.name for each in first}:
            until_s = max(time.until_s, measurer.clock.spent_s() + time.seconds)
            ended = ended.followed_by(self._raced(RACE_AGAIN, search_state, others, until_s))
        self.take(race=ended.found)
        self._tell(raced_words(self.found.race, measurer.asked.goal))
        best = [each for each in ended.entries if ended.standing and each.name == ended.standing.winner]
        return Winner(search_state.factors, best[0] if best else None)

    def _raced(self, stage: str, search_state: SearchState, entries: Sequence[Entry], until_s: float) -> "_Raced":
        measurer = self.measurer
        alpha = pair_alpha(len(entries), measurer.alpha)
        shape = measurer.blocks(search_state.known, self.time_of("race").seconds, len(entries), alpha=alpha, contrast=True)
        first = Batch(least_race_blocks(len(entries), measurer.alpha, shape.mixture), shape.pairs)
        broken: dict[str, str] = {}

        def running(batches: Batches) -> list[Running]:
            return [Running(each.name, each.parts, by_block(measurer.asked.goal, batches.observations, each.name)) for each in entries]

        def standing_of(stand: Sequence[Running]) -> Standing:
            # Who breaks a guard-rail leaves, and the others are judged no more easily for it.
            return race(stand, alpha=measurer.alpha, margin=measurer.margin, mixture=shape.mixture, entered=len(entries))

        def still_open(batches: Batches) -> list[str]:
            broken.update(batches.invalid)
            for each in entries:
                control, treated = sides([seen for batch in batches.observations for seen in batch], each.name)
                if control and each.name not in broken and (found := breaches(control, treated)):
                    broken[each.name] = "; ".join(one.words for one in found)
            stand = [each for each in running(batches) if each.name not in broken]
            if not stand:
                return []
            standing = standing_of(stand)
            return [name for name in standing.left if name] if standing.end == "open" else []

        arms = {arm.name: arm for arm in self.arms(entries)}
        batches = run_batches(measurer, stage, arms, known=search_state.known, first=first, until_s=until_s, still_open=still_open)
        stand = tuple(each for each in running(batches) if each.name not in broken and each.log_ratios)
        standing = standing_of(stand) if stand else None
        return _Raced(
            entries=tuple(entries), blocks=batches.blocks, stand=stand, standing=standing, broken=broken, alpha=alpha, mixture=shape.mixture
        )


class _Raced(Struct, frozen=True):
    """What a race came to: who took part, who still stands and why the others do not; alpha of one
    pair, g of the sequence."""

    entries: tuple[Entry, ...]
    blocks: int
    stand: tuple[Running, ...]
    standing: Standing | None
    broken: dict[str, str]
    alpha: float
    mixture: float

    @property
    def found(self) -> RaceFound:
        """What was found, for the record."""
        return race_found(self.entries, self.blocks, self.stand, self.standing, self.broken, alpha=self.alpha, mixture=self.mixture)

    def followed_by(self, again: "_Raced") -> "_Raced":
        """Both as one; nobody of the first is left, so the second decides."""
        return structs.replace(
            again,
            entries=(*self.entries, *again.entries),
            blocks=self.blocks + again.blocks,
            broken={**self.broken, **again.broken},
        )


def shape_of(plan: ScreenPlan) -> Screening:
    """What is kept of a planned screening."""
    design = plan.design
    return Screening(len(design.rows), plan.blocks, plan.pairs, design.resolution, plan.decidable, design.factors)


def set_aside(names: Sequence[str]) -> dict[str, str]:
    """Knobs that are not tried because another one of these is, by name that other one."""
    return {name: other for name in names for other in knob_for(name).apart if other in names}


def asked_values(offered: Mapping[str, Sequence[str]], knobs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The values to try, by full name: what the catalogue offers, files only if they are there;
    with `knobs` (`NAME` or `NAME=VALUE`) only those, with the values that they name."""
    named: dict[str, list[str]] = {}
    for each in knobs:
        name, given, value = each.partition("=")
        values, spelled = named.setdefault(name, []), knob_for(name).domain.spelled(value)
        if given and spelled not in values:
            values.append(spelled)
    found = {name: named.get(name) or offered.get(name, ()) for name in (named or offered)}
    there = {name: tuple(each for each in values if not knob_for(name).files or Path(each).is_file()) for name, values in found.items()}
    return {name: values for name, values in there.items() if values}
