"""One row of the report per treatment: its verdict, as recorded or computed from the blocks, and
what both arms cost."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from phpdyno.commands.compare.view.answered import answered_row
from phpdyno.commands.compare.view.blocks import dropped
from phpdyno.commands.compare.view.costs import arm_cost, whole_stack
from phpdyno.commands.compare.view.gather import GatheredRecords
from phpdyno.commands.compare.view.limits import doubts_of_blocks
from phpdyno.commands.compare.view.shape import ProofRow, Ratio, Row
from phpdyno.commands.compare.view.words import failures, sentence, whole_stack_words
from phpdyno.experiment.comparison.judging.evidence import TreatmentEvidence
from phpdyno.knobs.busy_loop import hidden_words
from phpdyno.knobs.judge import not_effective
from phpdyno.knobs.other_php import besides_php
from phpdyno.model.answered import AnswerCount
from phpdyno.model.arm import Arm
from phpdyno.model.observation import Observation
from phpdyno.model.plan import UNIT, Unit
from phpdyno.model.verdict import Effect, ProofOutcome, Verdict
from phpdyno.report.words import duration
from phpdyno.stats.comparison.sequence import least_blocks

NOT_CONCLUDED = "not concluded"
"""Reason of a verdict that the runner had no time to write."""


def row_of(gathered: GatheredRecords, arm: Arm) -> Row:
    """The row of one treatment of the plan."""
    plan = gathered.plan
    mine = [each.observation for each in gathered.seen if each.observation.treatment == arm.name]
    counted = [each for each in mine if not each.excluded]
    said = _verdict(gathered, arm, mine)
    silent = said.kind == "invalid"
    effect = _shown(said)
    metric = plan.metric_of(arm.name)
    mixture = gathered.mixture(metric)
    seen = _evidence(gathered, arm)
    return _completed(
        Row(
            name=arm.name,
            metric=metric,
            sentence="",
            changed=arm.changed,
            is_aa=is_aa(arm, plan.control),
            kind=said.kind,
            relevance=said.relevance,
            ratio=effect.ratio if effect else None,
            low=effect.low if effect else None,
            high=effect.high if effect else None,
            clipped_ratio=effect.clipped_ratio if effect else None,
            sigma=effect.sigma if effect else None,
            blocks=said.effect.blocks if said.effect else len(counted),
            blocks_needed=least_blocks(plan.alpha, mixture),
            blocks_excluded=len(mine) - len(counted),
            confidence=plan.confidence,
            interval_confidence=effect.confidence if effect else 1 - plan.alpha,
            simultaneous_over=len(plan.treatments),
            margin=plan.margin_of(arm.name),
            reason=said.reason,
            warnings=(
                *said.warnings,
                *(() if silent else _by_time(gathered, arm)),
                *_beside(gathered, arm),
                *(() if silent else doubts_of_blocks(gathered, arm, counted)),
            ),
            proofs=tuple(ProofRow(each.knob, each.value, each.proved, each.detail, each.same_as_control) for each in said.proofs),
            control=None if silent else arm_cost([each.control for each in counted]),
            treated=None if silent else arm_cost([each.treated for each in counted]),
            whole_stack=None if silent else whole_stack(counted, plan.alpha, mixture),
            unit=UNIT[plan.transport],
            scope=f"this host, these {duration(gathered.elapsed_s)}, these builds",
            not_judged=_not_judged(gathered, arm),
            blocks_begun=sum(arm.name in each.treatments for each in gathered.begun) if gathered.begun else None,
            blocks_dropped=dropped(gathered, arm.name),
            answers=answered_row(seen.control, seen.treated),
        )
    )


def is_aa(arm: Arm, control: Arm) -> bool:
    """Whether a treatment is the control once more: nothing changed, the same PHP."""
    return not arm.changed and arm.php == control.php


def _shown(said: Verdict) -> Effect | None:
    """The effect, where a number may be shown: never of an invalid arm, never without an
    interval."""
    effect = said.effect
    return None if said.kind == "invalid" or effect is None or effect.low is None or effect.high is None else effect


def _completed(row: Row) -> Row:
    return replace(row, warnings=(*row.warnings, *_own_warnings(row)), sentence=sentence(row))


def _verdict(gathered: GatheredRecords, arm: Arm, observations: list[Observation]) -> Verdict:
    proofs = gathered.proofs.get(arm.name, ())
    said = gathered.verdicts.get(arm.name)
    if said is not None and (said.verdict.kind == "invalid" or not said.overtaken):
        return said.verdict if said.verdict.proofs else replace(said.verdict, proofs=proofs)
    fault = _invalidity(gathered, arm, proofs)
    if fault:
        return Verdict(arm.name, "invalid", proofs=proofs, reason=fault, metric=gathered.plan.metric_of(arm.name))
    return _evidence(gathered, arm, observations).final(NOT_CONCLUDED)


def _evidence(gathered: GatheredRecords, arm: Arm, observations: Sequence[Observation] = ()) -> TreatmentEvidence:
    """All that is recorded of a treatment, with these of its blocks."""
    plan = gathered.plan
    control = plan.control_of(arm.name).name
    return TreatmentEvidence(
        plan=plan,
        arm=arm,
        observations=observations,
        host=gathered.host,
        calibrated=gathered.calibrations.get(plan.metric_of(arm.name)),
        proofs=gathered.proofs.get(arm.name, ()),
        facts=gathered.facts.get(control),
        control=gathered.answered.get(control, AnswerCount()),
        treated=gathered.answered.get(arm.name, AnswerCount()),
    )


def _not_judged(gathered: GatheredRecords, arm: Arm) -> str:
    return hidden_words(_evidence(gathered, arm).hidden())


def _by_time(gathered: GatheredRecords, arm: Arm) -> tuple[str, ...]:
    return tuple(f"{name} is not judged under a busy loop: {why}" for name, why in _evidence(gathered, arm).hidden().items())


def _invalidity(gathered: GatheredRecords, arm: Arm, proofs: tuple[ProofOutcome, ...]) -> str:
    answers = gathered.answers.get(arm.name)
    if answers is not None and not answers.equal:
        return f"answers differ: {answers.detail}"
    return not_effective(proofs)


def _beside(gathered: GatheredRecords, arm: Arm) -> tuple[str, ...]:
    """What else differs where the treatment runs another PHP than its control."""
    control = gathered.facts.get(gathered.plan.control_of(arm.name).name)
    treated = gathered.facts.get(arm.name)
    return besides_php(control, treated, arm.changed) if control and treated else ()


def _own_warnings(row: Row) -> tuple[str, ...]:
    warnings = []
    directed = row.kind in {"improved", "regressed"}
    if row.is_aa and directed:
        warnings.append("identical to the control, and yet a direction: do not trust effects of this size in this run")
    if row.metric == "cpu" and row.kind == "improved" and row.whole_stack is not None and row.whole_stack.low <= 1:
        warnings.append(_not_of_the_whole(row.whole_stack, row.unit, whole_stack_words("PHP", row)))
    if row.treated is not None and row.treated.failed:
        control = f"; of the control's: {failures(row.control)}" if row.control is not None else ""
        warnings.append(f"{row.unit}s failed under the treatment: {failures(row.treated)}{control}; only valid answers count")
    idle = [f"{proof.knob}={proof.value}" for proof in row.proofs if proof.same_as_control]
    if idle and row.kind != "invalid":
        warnings.append(f"the control has the same value already, so this part changes nothing: {', '.join(idle)}")
    if row.changed and not row.proofs and row.kind != "invalid" and row.blocks:
        warnings.append("no proof of effect was recorded: the settings may not have been at work")
    return tuple(warnings)


def _not_of_the_whole(stack: Ratio, unit: Unit, parts: str) -> str:
    """What to say of a saving in PHP beside a whole stack that is not certain to be cheaper."""
    spent, together = "the saving in PHP is spent elsewhere", f"{parts} together cost"
    if stack.high < 1:
        return f"{spent}: {together} more per {unit}, so nothing is gained"
    if stack.ratio <= 1:
        return f"{spent}: {together} no less per {unit}"
    return f"that the saving in PHP is one of the whole is not shown: it may be that {together} no less per {unit}"


def doubts(rows: Iterable[Row], names: Mapping[str, str]) -> tuple[str, ...]:
    """Warnings of the rows of a comparison, each once, with the arms that it is about; `names` is
    what those are called here."""
    about: dict[str, list[str]] = {}
    for row in rows:
        for warning in row.warnings:
            about.setdefault(warning, []).append(names.get(row.name, row.name))
    return tuple(f"{', '.join(arms)}: {warning}" for warning, arms in about.items())
