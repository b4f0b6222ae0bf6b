"""The second half of a tune: the winner on fresh instances, and what each of its parts adds."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, structs

from phpdyno.commands.tune.measurer import Batch, Batches, MeasuredPart, TuneMeasurer, run_batches
from phpdyno.commands.tune.stages.search import TuneSearch, Winner
from phpdyno.commands.tune.words import confirmed_words
from phpdyno.model.arm import AA
from phpdyno.model.runs.tune import Confirmed, Decision, Goal, PartFound, StageTime, Step
from phpdyno.model.verdict import Relevance, VerdictKind
from phpdyno.report.words import count
from phpdyno.stats.comparison.judge import decided, judge
from phpdyno.stats.comparison.sequence import Interval, confidence_sequence, contrast, least_blocks
from phpdyno.tuning.ablation import Trial, WinnerPart, ablate, remaining, settled, too_much_lost, without_each
from phpdyno.tuning.factors import Entry, Factor, changes_at, entry
from phpdyno.tuning.goals import breaches, spent_elsewhere
from phpdyno.tuning.outcome import all_stay, part_found, ratio_of
from phpdyno.tuning.readings import by_block, side_of, sides

CONFIRM, ABLATE, AGAIN = "confirm", "ablate", "confirm-again"


class _Judging(Struct, frozen=True):
    """How blocks of a stage are judged: alpha of one interval, the margin as a fraction, g of the
    sequence."""

    goal: Goal
    alpha: float
    margin: float
    mixture: float


class ProofStage:
    """Confirm, ablate, confirm again what is left."""

    def __init__(self, search: TuneSearch, known: MeasuredPart) -> None:
        self._search = search
        self._measurer: TuneMeasurer = search.measurer
        self._known = known

    def prove(self, winner: Winner) -> dict[str, str]:
        """The settings that are adopted of a winner; none when it does not hold."""
        if winner.entry is None:
            return {}
        confirmed, _ = self._confirm(CONFIRM, winner.entry, self._search.begin("confirm"))
        if confirmed.decision != "adopted":
            return {}
        rest, fault = self._ablate(winner.factors, winner.entry)
        return self._withdraw(winner.entry, fault) if fault else self._settle(winner.factors, winner.entry, rest)

    def _settle(self, factors: Sequence[Factor], winner: Entry, rest: Entry) -> dict[str, str]:
        """What is adopted of a confirmed winner, seen once more on fresh instances: what is left of
        it, or the whole."""
        time = self._search.begin("again")
        steps = ladder_steps(factors, rest, self._search.found.parts)
        arms = 3 + len(steps)
        if arms > self._measurer.most_arms or self._measurer.blocks(self._known, time.seconds, arms).decidable is None:
            steps = ()
        if rest == winner and not steps:
            return winner.settings
        whole = None if rest == winner else winner
        again, faults = self._confirm(AGAIN, rest, time, whole=whole, steps=steps)
        if again.decision == "adopted":
            return rest.settings
        if fault := faults.get(winner.name):
            return self._withdraw(winner, fault)
        if whole is not None:
            self._search.note(f"what is left was not adopted ({again.reason}), so the whole is, which was confirmed")
            self._search.take(parts=all_stay(self._search.found.parts, again.reason))
        return winner.settings

    def _withdraw(self, winner: Entry, fault: str) -> dict[str, str]:
        """Nothing is adopted of what was confirmed once and then failed: it would fail the site as
        well."""
        self._search.note(f"nothing is adopted: {winner.name} was confirmed, but on later fresh instances {fault}")
        gone = {"decision": "not adopted", "reason": fault}
        said = self._search.found.confirmations
        self._search.take(
            confirmations=tuple(structs.replace(each, **gone) if each.name == winner.name else each for each in said), parts=(), ladder=()
        )
        return {}

    # ---- confirm ------------------------------------------------------------------------------

    def _confirm(
        self, stage: str, chosen: Entry, time: StageTime, *, whole: Entry | None = None, steps: Sequence[Entry] = ()
    ) -> tuple[Confirmed, dict[str, str]]:
        """An entry against the control; beside it the `whole` that it is what remained of, and the
        `steps` that lead to it.

        With it, by name, why one of the two may not be adopted whatever was confirmed before.
        """
        measurer = self._measurer
        shape = measurer.blocks(self._known, time.seconds, 2 + len(steps) + (whole is not None))
        judging = _Judging(measurer.asked.goal, measurer.alpha, measurer.margin, shape.mixture)
        every = [each for each in (chosen, whole, *steps) if each is not None]
        made = {each.name: measurer.arm(each.name, each.settings, measurer.metric) for each in every}

        def still_open(batches: Batches) -> list[str]:
            seen = _interval(judging, batches, chosen.name)
            return [] if seen is not None and decided(*judge(seen, measurer.margin)) else list(made)

        first = Batch(least_blocks(measurer.alpha, shape.mixture), shape.pairs)
        batches = run_batches(measurer, stage, made, known=self._known, first=first, until_s=time.until_s, still_open=still_open, aa=True)
        found = _confirmed(chosen.name, chosen.settings, batches, judging)
        if whole is not None and found.decision == "adopted" and _too_much_lost(judging, batches, whole.name, chosen.name):
            reason = "what was dropped adds up to more than the margin"
            found = structs.replace(found, decision="not adopted", reason=reason)
        if steps:
            rungs = [(each, _interval(judging, batches, each.name)) for each in (*steps, chosen)]
            ladder = tuple(Step(each.name, each.settings, None if seen is None else ratio_of(seen)) for each, seen in rungs)
            self._search.take(ladder=ladder)
        self._search.take(confirmations=(*self._search.found.confirmations, found))
        self._search.tell(f"on fresh instances: {found.name}: {confirmed_words(found)}")
        faults = {each.name: _fault(judging, batches, each.name) for each in (chosen, whole) if each is not None}
        return found, {name: fault for name, fault in faults.items() if fault}

    # ---- ablate -------------------------------------------------------------------------------

    def _ablate(self, factors: Sequence[Factor], winner: Entry) -> tuple[Entry, str]:
        """The winner with the parts that carry their weight; and what the winner itself failed by,
        '' where it did not.

        Where memory does not hold the winner without each part at once, that is done in groups one
        after the other, each beside the winner.
        """
        measurer = self._measurer
        places = [number for number, level in enumerate(winner.levels) if level]
        lacking = dict(zip(places, without_each(factors, winner), strict=False))
        if not lacking:
            return winner, ""
        shown = {each.name for each in screening.effects if each.standing == "helps"} if (screening := self._search.found.screening) else {}
        helped = {place for place, each in changes_at(factors, winner.levels).items() if each.name in shown}
        groups = in_groups(list(lacking), measurer.most_arms - 1)
        stages = [ABLATE] if len(groups) == 1 else [f"{ABLATE}-group-{number}" for number, _ in enumerate(groups, 1)]
        time = self._search.begin("ablate")
        seconds, alpha = time.seconds / len(groups), measurer.alpha / len(lacking)
        shape = measurer.blocks(self._known, seconds, len(groups[0]) + 1, alpha=alpha, contrast=True)

        def parts_of(trials: Sequence[Trial]) -> tuple[WinnerPart, ...]:
            return ablate(trials, alpha=alpha * len(trials), margin=measurer.margin, mixture=shape.mixture, helped=helped)

        first = Batch(least_blocks(alpha, shape.mixture), shape.pairs)
        trials: list[Trial] = []
        for number, (stage, group) in enumerate(zip(stages, groups, strict=True), 1):
            until_s = time.until_s - (len(groups) - number) * seconds
            beside = {place: lacking[place] for place in group}
            seen, fault = self._lacking(stage, winner, beside, parts_of, first=first, until_s=until_s)
            if fault:
                return winner, fault
            trials += seen
        parts = parts_of(sorted(trials, key=lambda each: each.factor))
        self._search.take(parts=tuple(part_found(factors, winner, each) for each in parts))
        kept = sum(1 for each in parts if each.kept)
        self._search.tell(f"part by part: {kept} of {count(len(parts), 'part')} stay")
        return remaining(factors, winner, parts), ""

    def _lacking(
        self,
        stage: str,
        winner: Entry,
        beside: Mapping[int, Entry],
        parts_of: Callable[[Sequence[Trial]], tuple[WinnerPart, ...]],
        *,
        first: Batch,
        until_s: float,
    ) -> tuple[list[Trial], str]:
        """The winner without each of some parts (by place), beside it until `parts_of` settles
        them; and what the winner failed by."""
        measurer = self._measurer

        def seen(batches: Batches) -> list[Trial]:
            whole = by_block(measurer.asked.goal, batches.observations, winner.name)
            return [
                Trial(place, whole, by_block(measurer.asked.goal, batches.observations, each.name), batches.invalid.get(each.name, ""))
                for place, each in beside.items()
            ]

        def still_open(batches: Batches) -> list[str]:
            left = [beside[part.factor].name for part in parts_of(seen(batches)) if not settled(part)]
            return [winner.name, *left] if left else []

        arms = {each.name: measurer.arm(each.name, each.settings, measurer.metric) for each in (winner, *beside.values())}
        batches = run_batches(measurer, stage, arms, known=self._known, first=first, until_s=until_s, still_open=still_open)
        return seen(batches), batches.invalid.get(winner.name, "")


def in_groups(places: Sequence[int], most: int) -> list[Sequence[int]]:
    """Places in groups of `most` or fewer, as few and as even as can be."""
    number = -(-len(places) // max(1, most))
    return [places[at::number] for at in range(number)]


def ladder_steps(factors: Sequence[Factor], rest: Entry, parts: Sequence[PartFound]) -> tuple[Entry, ...]:
    """What leads from the control to an entry, the part that adds most first; without the entry
    itself, so none where it has one part."""
    worth = {each.name: each.ratio.value if each.ratio else 1.0 for each in parts}
    names = {place: each.name for place, each in changes_at(factors, rest.levels).items()}
    order = sorted(names, key=lambda place: -worth.get(names[place], 1.0))
    found = []
    for number in range(1, len(order)):
        kept = set(order[:number])
        levels = tuple(level if place in kept else 0 for place, level in enumerate(rest.levels))
        found.append(entry(factors, levels, f"+ {names[order[number - 1]]}"))
    return tuple(found)


def _interval(judging: _Judging, batches: Batches, name: str) -> Interval | None:
    logs = list(by_block(judging.goal, batches.observations, name).values())
    return confidence_sequence(logs, judging.alpha, judging.mixture) if logs else None


def _too_much_lost(judging: _Judging, batches: Batches, whole: str, rest: str) -> bool:
    of_whole, of_rest = (by_block(judging.goal, batches.observations, name) for name in (whole, rest))
    lost = contrast(of_whole, of_rest, judging.alpha, judging.mixture)
    return lost is not None and too_much_lost(lost, judging.margin)


def _confirmed(name: str, settings: dict[str, str], batches: Batches, judging: _Judging) -> Confirmed:
    seen, aa = _interval(judging, batches, name), _interval(judging, batches, AA)
    kind, relevance = _judged(seen, judging.margin)
    if name in batches.invalid:
        kind, relevance = "invalid", ""
    decision, reason = _decision(kind, _broken(judging, batches, name, kind), seen)
    observed = [each for batch in batches.observations for each in batch if each.treatment == name and not each.excluded]
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


def _broken(judging: _Judging, batches: Batches, name: str, kind: str) -> str:
    """Why an arm may not be adopted however much better it is: it failed, broke a guard-rail, or
    the rest of the stack pays for it."""
    if name in batches.invalid:
        return batches.invalid[name]
    control, treated = sides([each for batch in batches.observations for each in batch], name)
    if not control:
        return ""
    words = [each.words for each in breaches(control, treated)]
    return "; ".join(words) or (spent_elsewhere(control, treated) if judging.goal == "cpu" and kind == "improved" else "")


def _fault(judging: _Judging, batches: Batches, name: str) -> str:
    """What speaks against an arm that was confirmed before; that it is not shown to be better once
    more does not."""
    kind, _ = _judged(_interval(judging, batches, name), judging.margin)
    return _broken(judging, batches, name, kind) or ("it is worse than the control" if kind == "regressed" else "")


def _judged(seen: Interval | None, margin: float) -> tuple[VerdictKind, Relevance]:
    return ("inconclusive", "") if seen is None else judge(seen, margin)


def _decision(kind: str, broken: str, seen: Interval | None) -> tuple[Decision, str]:
    if seen is None:
        return "not measured", broken or "there was no time for it"
    if broken:
        return "not adopted", broken
    return ("adopted", "") if kind == "improved" else ("not adopted", "that it is better than the control was not shown")
