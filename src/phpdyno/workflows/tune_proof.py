"""The second half of a tune: the winner on fresh instances, what each of its parts adds, and what waits or runs beside each other."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from phpdyno.errors import BudgetTooSmall, UsageError
from phpdyno.model.arm import AA
from phpdyno.model.tune import Confirmed, Decision, Goal, PartFound, Ratio, Step
from phpdyno.model.verdict import Relevance, Verdict, VerdictKind
from phpdyno.report.tune_words import confirmed_words
from phpdyno.report.words import count
from phpdyno.stats.judge import decided, judge, margin_log
from phpdyno.stats.sequence import Interval, confidence_sequence, least_blocks
from phpdyno.tuning.ablation import Part, Trial, ablate, remaining, settled, too_much_lost, without_each
from phpdyno.tuning.budget import plan_blocks
from phpdyno.tuning.factors import Candidate, Entry, Factor, entry, factors_of
from phpdyno.tuning.goals import breaches
from phpdyno.tuning.outcome import part_found, ratio_of
from phpdyno.tuning.readings import by_block, side_of, sides
from phpdyno.workflows.tune_lab import Heat, Heats, Lab, Measured, run_heats
from phpdyno.workflows.tune_search import Search, Winner

CONFIRM, ABLATE, AGAIN, LOADED = "confirm", "ablate", "confirm-again", "throughput"
LOADED_BLOCKS, LOADED_PAIRS = 6, 2
"""With fewer no interval is finite."""


class _Judging(Struct, frozen=True):
    """How blocks of a stage are judged: alpha of one interval, the margin as a fraction, g of the sequence."""

    goal: Goal
    alpha: float
    margin: float
    mixture: float


class Proof:
    """Confirm, ablate, decide on what is judged by throughput. What is adopted ends in `found.settings`."""

    def __init__(self, search: Search, known: Measured) -> None:
        self._search = search
        self._lab: Lab = search.lab
        self._known = known

    def prove(self, winner: Winner) -> dict[str, str]:
        """The settings that are adopted of a winner; none when it does not hold."""
        if winner.entry is None:
            return {}
        confirmed = self._confirm(CONFIRM, winner.entry, self._search.time_of("confirm").until_s)
        if confirmed.decision != "adopted":
            return {}
        rest = self._ablate(winner.factors, winner.entry)
        if not rest.settings:
            return {}
        steps = ladder_steps(winner.factors, rest, self._search.found.parts)
        if rest == winner.entry and not steps:
            return winner.entry.settings
        whole = None if rest == winner.entry else winner.entry
        again = self._confirm(AGAIN, rest, self._search.time_of("again").until_s, whole=whole, steps=steps)
        # Where the rest is not confirmed, or lacks too much of what was, the whole stands, which is.
        return rest.settings if again.decision == "adopted" else winner.entry.settings

    # ---- confirm ------------------------------------------------------------------------------

    def _confirm(self, stage: str, chosen: Entry, until_s: float, *, whole: Entry | None = None, steps: Sequence[Entry] = ()) -> Confirmed:
        """An entry against the control; beside it the `whole` that it is what remained of, and the `steps` that lead to it."""
        lab, seconds = self._lab, self._search.time_of("confirm").seconds
        arms = 2 + len(steps) + (whole is not None)
        shape = plan_blocks(seconds, arms, lab.costs(self._known), effect=self._effect(), alpha=lab.alpha, contrast=False)
        judging = _Judging(lab.asked.goal, lab.alpha, lab.margin, shape.mixture)
        every = [each for each in (chosen, whole, *steps) if each is not None]
        made = {each.name: lab.arm(each.name, each.settings, lab.metric) for each in every}

        def still_open(heats: Heats) -> list[str]:
            seen = _interval(judging, heats, chosen.name)
            return [] if seen is not None and decided(*judge(seen, lab.margin)) else list(made)

        first = Heat(least_blocks(lab.alpha, shape.mixture), shape.pairs)
        heats = run_heats(lab, stage, made, known=self._known, first=first, until_s=until_s, still_open=still_open, aa=True)
        found = _confirmed(chosen.name, chosen.settings, heats, judging)
        if whole is not None and found.decision == "adopted" and _too_much_lost(judging, heats, whole.name, chosen.name):
            reason = "what was reverted adds up to more than the margin"
            found = structs.replace(found, decision="not adopted", reason=reason)
        if steps:
            rungs = [(each, _interval(judging, heats, each.name)) for each in (*steps, chosen)]
            ladder = tuple(Step(each.name, each.settings, None if seen is None else ratio_of(seen)) for each, seen in rungs)
            self._search.take(ladder=ladder)
        self._search.take(confirmations=(*self._search.found.confirmations, found))
        self._search.tell(f"on fresh instances: {found.name}: {confirmed_words(found)}")
        return found

    # ---- ablate -------------------------------------------------------------------------------

    def _ablate(self, factors: Sequence[Factor], winner: Entry) -> Entry:
        """The winner with the parts that carry their weight."""
        lab, time = self._lab, self._search.time_of("ablate")
        trials = without_each(factors, winner)
        if not trials:
            return winner
        places = [number for number, level in enumerate(winner.levels) if level]
        alpha = lab.alpha / len(trials)
        shape = plan_blocks(time.seconds, len(trials) + 1, lab.costs(self._known), effect=self._effect(), alpha=alpha, contrast=True)
        arms = {each.name: lab.arm(each.name, each.settings, lab.metric) for each in (winner, *trials)}

        def parts_of(heats: Heats) -> tuple[Part, ...]:
            whole = by_block(lab.asked.goal, heats.observations, winner.name)
            seen = [
                Trial(place, by_block(lab.asked.goal, heats.observations, each.name), heats.invalid.get(each.name, ""))
                for place, each in zip(places, trials, strict=True)
            ]
            return ablate(whole, seen, alpha=lab.alpha, margin=lab.margin, mixture=shape.mixture)

        def still_open(heats: Heats) -> list[str]:
            left = [each.name for each, part in zip(trials, parts_of(heats), strict=True) if not settled(part)]
            return [winner.name, *left] if left else []

        first = Heat(least_blocks(alpha, shape.mixture), shape.pairs)
        heats = run_heats(lab, ABLATE, arms, known=self._known, first=first, until_s=time.until_s, still_open=still_open)
        parts = parts_of(heats)
        self._search.take(parts=tuple(part_found(factors, winner, each) for each in parts))
        kept = sum(1 for each in parts if each.kept)
        self._search.tell(f"part by part: {kept} of {count(len(parts), 'part')} stay")
        return remaining(factors, winner, parts)

    def _effect(self) -> float:
        return margin_log(max(self._lab.margin, 1e-3))

    # ---- what is judged by throughput ---------------------------------------------------------

    def load(self, candidates: Sequence[Candidate], adopted: Mapping[str, str]) -> dict[str, str]:
        """Pool, sockets and web server, each beside the control with what was adopted already; what is adopted of them."""
        search, lab = self._search, self._lab
        chosen = self._affordable(candidates)
        if not chosen:
            self._left_out(candidates)
            return {}
        control = lab.control("throughput", adopted)
        arms = []
        for each in chosen:
            try:
                arms.append(lab.arm(each.name, each.settings, "throughput", adopted))
            except UsageError as error:
                self._search.note(f"{each.name}: {error.what}")
        try:
            state = lab.parts.measure(
                LOADED, lambda: lab.plan(LOADED, arms, metric="throughput", budget_s=lab.clock.left_s(), control=control)
            )
        except BudgetTooSmall as error:
            self._search.note(f"throughput of pool and web server: {error.what}")
            return {}
        measured = {arm.name for arm in state.plan.treatments}
        self._left_out([each for each in candidates if each.name not in measured])
        by_name = {each.name: each for each in candidates}
        found = tuple(_of_verdict(by_name[name].settings, verdict) for name, verdict in state.verdicts.items() if name in by_name)
        search.take(loaded=found)
        for seen in found:
            search.tell(f"throughput: {seen.name}: {confirmed_words(seen)}")
        best = [each for each in found if each.decision == "adopted"]
        return max(best, key=lambda each: each.ratio.value if each.ratio else 0.0).settings if best else {}

    def _left_out(self, candidates: Sequence[Candidate]) -> None:
        if candidates:
            self._search.note(f"there was no time to measure the throughput of {', '.join(each.name for each in candidates)}")

    def _affordable(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """As many as can be decided in the time that is left, the most promising first; one of each factor before a second of any."""
        lab = self._lab
        if not candidates or lab.parts.begun(LOADED):
            return list(candidates)
        factors = factors_of(candidates, most_levels=len(candidates))
        depth = max(len(each.levels) for each in factors)
        ranked = [each.levels[place] for place in range(depth) for each in factors if place < len(each.levels)]
        slot_s = 20 * lab.asked.loaded_concurrency * self._known.calibrated.request_cpu_ns / 1e9
        most = int(lab.clock.left_s() / (LOADED_BLOCKS * (LOADED_PAIRS * 2 * slot_s + 2 * self._known.start_s)))
        return ranked[:most]


def ladder_steps(factors: Sequence[Factor], rest: Entry, parts: Sequence[PartFound]) -> tuple[Entry, ...]:
    """What leads from the control to an entry, the part that adds most first; without the entry itself, so none where it has one part."""
    worth = {each.name: each.ratio.value if each.ratio else 1.0 for each in parts}
    on = [place for place, level in enumerate(rest.levels) if level]
    names = {place: factors[place].choices[rest.levels[place] - 1].name for place in on}
    order = sorted(on, key=lambda place: -worth.get(names[place], 1.0))
    found = []
    for number in range(1, len(order)):
        kept = set(order[:number])
        levels = tuple(level if place in kept else 0 for place, level in enumerate(rest.levels))
        found.append(entry(factors, levels, f"+ {names[order[number - 1]]}"))
    return tuple(found)


def _interval(judging: _Judging, heats: Heats, name: str) -> Interval | None:
    logs = list(by_block(judging.goal, heats.observations, name).values())
    return confidence_sequence(logs, judging.alpha, judging.mixture) if logs else None


def _too_much_lost(judging: _Judging, heats: Heats, whole: str, rest: str) -> bool:
    of_whole, of_rest = (by_block(judging.goal, heats.observations, name) for name in (whole, rest))
    lost = [of_whole[block] - of_rest[block] for block in sorted(of_whole.keys() & of_rest.keys())]
    return bool(lost) and too_much_lost(confidence_sequence(lost, judging.alpha, judging.mixture), judging.margin)


def _confirmed(name: str, settings: dict[str, str], heats: Heats, judging: _Judging) -> Confirmed:
    seen, aa = _interval(judging, heats, name), _interval(judging, heats, AA)
    kind, relevance = _judged(seen, judging.margin)
    control, treated = sides([each for heat in heats.observations for each in heat], name)
    broken = breaches(control, treated) if control else ()
    if name in heats.invalid:
        kind, relevance = "invalid", ""
    decision, reason = _decision(kind, heats.invalid.get(name, "") or "; ".join(each.words for each in broken), seen)
    observed = [each for heat in heats.observations for each in heat if each.treatment == name and not each.excluded]
    return Confirmed(
        name=name,
        settings=settings,
        goal=judging.goal,
        kind=kind,
        relevance=relevance,
        ratio=None if seen is None else ratio_of(seen),
        aa=None if aa is None else ratio_of(aa),
        confidence=1.0 - judging.alpha,
        decision=decision,
        reason=reason,
        before=side_of([each.control for each in observed]) if observed else None,
        after=side_of([each.treated for each in observed]) if observed else None,
    )


def _judged(seen: Interval | None, margin: float) -> tuple[VerdictKind, Relevance]:
    return ("inconclusive", "") if seen is None else judge(seen, margin)


def _decision(kind: str, broken: str, seen: Interval | None) -> tuple[Decision, str]:
    if seen is None:
        return "not measured", broken or "there was no time for it"
    if broken:
        return "not adopted", broken
    return ("adopted", "") if kind == "improved" else ("not adopted", "that it is better than the control was not shown")


def _of_verdict(settings: dict[str, str], verdict: Verdict) -> Confirmed:
    """A comparison by throughput; adopted where the gain is certain and not certain to be below the margin."""
    effect = verdict.effect
    good = verdict.kind == "improved" and verdict.relevance != "not relevant"
    why = verdict.reason if verdict.kind == "invalid" else "" if good else "that it is better by more than the margin was not shown"
    return Confirmed(
        name=verdict.treatment,
        settings=settings,
        goal="throughput",
        kind=verdict.kind,
        relevance=verdict.relevance,
        ratio=None if effect is None else Ratio(effect.ratio, effect.low, effect.high, effect.blocks),
        aa=None,
        confidence=effect.confidence if effect else 0.0,
        decision="adopted" if good else "not adopted" if effect else "not measured",
        reason=why,
    )
