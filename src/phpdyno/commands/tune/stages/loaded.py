"""The last stage of a tune: pool, sockets and web server, judged by throughput beside the control
with what was adopted already."""

from collections.abc import Mapping, Sequence

from phpdyno.commands.tune.measurer import MeasuredPart, TuneMeasurer
from phpdyno.commands.tune.stages.search import TuneSearch
from phpdyno.commands.tune.words import confirmed_words
from phpdyno.errors import BudgetTooSmall, UsageError
from phpdyno.model.arm import Arm
from phpdyno.model.observation import Observation
from phpdyno.model.runs.tune import Confirmed, TunedRatio
from phpdyno.model.verdict import Verdict
from phpdyno.tuning.factors import Candidate, Clash, entry, factors_of, nothing_clashes
from phpdyno.tuning.goals import breaches
from phpdyno.tuning.readings import side_of, sides

ALONE, TOGETHER = "throughput", "throughput-together"
LEAST_BLOCKS, LEAST_PAIRS = 6, 2
"""With fewer no interval is finite."""
ALONE_SHARE = 0.7
"""Of the time that is left, where there are several factors: the rest is for the best of each
together."""


class Loaded:
    """Decides on what waits or runs beside each other."""

    def __init__(self, search: TuneSearch, known: MeasuredPart, adopted: Mapping[str, str]) -> None:
        self._search = search
        self._measurer: TuneMeasurer = search.measurer
        self._known = known
        self._adopted = adopted

    def decide(self, candidates: Sequence[Candidate]) -> dict[str, str]:
        """Each candidate alone, then the best of each factor together; the settings that are
        adopted of them."""
        chosen = self._affordable(candidates)
        clash = self._measurer.clash("throughput", self._adopted)
        several = len(factors_of(candidates, most_levels=len(candidates), clash=clash)) > 1 if candidates else False
        found = self._measure(ALONE, chosen, self._measurer.clock.left_s() * (ALONE_SHARE if several else 1.0))
        seen = {each.name for each in found}
        left_out = [each.name for each in candidates if each.name not in seen]
        if left_out:
            self._search.note(f"the throughput of {', '.join(left_out)} was not measured: there was no time, or it cannot be set here")
        better = sorted((each for each in found if each.decision == "adopted"), key=_value, reverse=True)
        if not better:
            return {}
        joint = best_of_each(candidates, better, clash)
        if joint is None:
            return better[0].settings
        whole = [each for each in self._measure(TOGETHER, [joint], self._measurer.clock.left_s()) if each.decision == "adopted"]
        return max((*whole, better[0]), key=_value).settings

    def _measure(self, stage: str, candidates: Sequence[Candidate], budget_s: float) -> tuple[Confirmed, ...]:
        """One comparison of them all; nothing where it cannot be made in the time."""
        measurer, search = self._measurer, self._search
        arms: list[Arm] = []
        for each in candidates:
            try:
                arms.append(measurer.arm(each.name, each.settings, "throughput", self._adopted))
            except UsageError as error:
                search.note(f"{each.name}: {error.what}")
        if not arms and not measurer.parts.begun(stage):
            return ()
        control = measurer.control("throughput", self._adopted)
        try:
            state = measurer.parts.measure(
                stage, lambda: measurer.plan(stage, arms, metric="throughput", budget_s=budget_s, control=control), some=True
            )
        except BudgetTooSmall as error:
            search.note(f"throughput of pool and web server: {error.what}")
            return ()
        by_name = {each.name: each for each in candidates}
        found = tuple(
            of_verdict(by_name[name].settings, verdict, state.observations) for name, verdict in state.verdicts.items() if name in by_name
        )
        search.take(loaded=(*search.found.loaded, *found))
        for seen in found:
            search.tell(f"throughput: {seen.name}: {confirmed_words(seen)}")
        return found

    def _affordable(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """As many as can be decided in the time that is left, the most promising first; one of each
        factor before a second of any."""
        measurer = self._measurer
        if not candidates or measurer.parts.begun(ALONE):
            return list(candidates)
        factors = factors_of(candidates, most_levels=len(candidates))
        depth = max(len(each.levels) for each in factors)
        ranked = [each.levels[place] for place in range(depth) for each in factors if place < len(each.levels)]
        slot_s = 20 * measurer.asked.loaded_concurrency * self._known.calibrated.request_cpu_ns / 1e9
        most = int(measurer.clock.left_s() / (LEAST_BLOCKS * (LEAST_PAIRS * 2 * slot_s + 2 * self._known.start_s)))
        return ranked[:most]


def best_of_each(candidates: Sequence[Candidate], better: Sequence[Confirmed], clash: Clash = nothing_clashes) -> Candidate | None:
    """The best change of each factor in `better` (best first), as one candidate; None when they are
    of one factor."""
    by_name = {each.name: each for each in candidates}
    factors = factors_of([by_name[each.name] for each in better], most_levels=len(better), clash=clash)
    if len(factors) < 2:
        return None
    joint = entry(factors, (1,) * len(factors))
    return Candidate(joint.name, joint.settings)


def _value(found: Confirmed) -> float:
    return found.ratio.value if found.ratio else 0.0


def of_verdict(settings: dict[str, str], verdict: Verdict, observations: Sequence[Observation]) -> Confirmed:
    """A comparison by throughput; adopted where the gain is certain and not certain to be below the
    margin, and no guard-rail is broken."""
    effect = verdict.effect
    observed = [each for each in observations if each.treatment == verdict.treatment and not each.excluded]
    control, treated = sides(observed, verdict.treatment)
    broken = "; ".join(each.words for each in breaches(control, treated)) if control else ""
    good = verdict.kind == "improved" and verdict.relevance != "not relevant" and not broken
    why = verdict.reason if verdict.kind == "invalid" else broken
    why = "" if good else why or "that it is better by more than the margin was not shown"
    return Confirmed(
        name=verdict.treatment,
        settings=settings,
        goal="throughput",
        kind=verdict.kind,
        relevance=verdict.relevance,
        ratio=None if effect is None else TunedRatio(effect.ratio, effect.low, effect.high, effect.blocks),
        aa=None,
        confidence=effect.confidence if effect else 0.0,
        decision="adopted" if good else "not adopted" if effect else "not measured",
        reason=why,
        before=side_of([each.control for each in observed]) if observed else None,
        after=side_of([each.treated for each in observed]) if observed else None,
    )
