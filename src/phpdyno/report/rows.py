"""One row of the report per treatment: its verdict, as recorded or computed from the blocks, and what both arms cost."""

import math
import statistics

from msgspec.structs import replace

from phpdyno.knobs.judge import not_effective
from phpdyno.model.arm import Arm
from phpdyno.model.observation import Cost, Observation
from phpdyno.model.verdict import ProofOutcome, Verdict
from phpdyno.report.gather import Gathered
from phpdyno.report.shape import ArmCost, ProofRow, Ratio, Row
from phpdyno.report.words import sentence
from phpdyno.stats.conclusion import conclude
from phpdyno.stats.sequence import confidence_sequence, least_blocks

NOT_CONCLUDED = "not concluded"
"""Reason of a verdict that the runner had no time to write."""

_NS_PER_MS = 1e6


def row_of(gathered: Gathered, arm: Arm) -> Row:
    """The row of one treatment of the plan."""
    plan = gathered.plan
    mine = [seen.observation for seen in gathered.seen if seen.observation.treatment == arm.name]
    counted = [each for each in mine if not each.excluded]
    said = _verdict(gathered, arm, mine)
    silent = said.kind == "invalid"
    effect = None if silent or said.effect is None or said.effect.low is None or said.effect.high is None else said.effect
    stack = None if silent else _whole_stack(counted, plan.alpha)

    row = Row(
        name=arm.name,
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
        blocks_needed=least_blocks(plan.alpha),
        blocks_excluded=len(mine) - len(counted),
        confidence=plan.confidence,
        interval_confidence=effect.confidence if effect else 1 - plan.alpha,
        simultaneous_over=len(plan.treatments),
        margin=plan.margin,
        reason=said.reason,
        warnings=said.warnings,
        proofs=tuple(ProofRow(each.knob, each.value, each.proved, each.detail, each.same_as_control) for each in said.proofs),
        control=None if silent else _arm_cost([each.control for each in counted]),
        treated=None if silent else _arm_cost([each.treated for each in counted]),
        whole_stack=stack,
    )
    row = replace(row, warnings=(*row.warnings, *_own_warnings(row)))
    return replace(row, sentence=sentence(row))


def is_aa(arm: Arm, control: Arm) -> bool:
    """Whether a treatment is the control once more: nothing changed, the same PHP."""
    return not arm.changed and arm.php == control.php


def _verdict(gathered: Gathered, arm: Arm, observations: list[Observation]) -> Verdict:
    proofs = gathered.proofs.get(arm.name, ())
    said = gathered.verdicts.get(arm.name)
    if said is not None and (said.verdict.kind == "invalid" or not said.overtaken):
        return said.verdict if said.verdict.proofs else replace(said.verdict, proofs=proofs)
    fault = _invalidity(gathered, arm, proofs)
    if fault:
        return Verdict(arm.name, "invalid", proofs=proofs, reason=fault)
    plan = gathered.plan
    return conclude(arm.name, observations, alpha=plan.alpha, margin=plan.margin, reason=NOT_CONCLUDED, proofs=proofs)


def _invalidity(gathered: Gathered, arm: Arm, proofs: tuple[ProofOutcome, ...]) -> str:
    answers = gathered.answers.get(arm.name)
    if answers is not None and not answers.equal:
        return f"answers differ: {answers.detail}"
    return not_effective(proofs)


def _own_warnings(row: Row) -> tuple[str, ...]:
    warnings = []
    directed = row.kind in {"improved", "regressed"}
    if row.is_aa and directed:
        warnings.append("identical to the control, and yet a direction: do not trust effects of this size in this run")
    if row.kind == "improved" and row.whole_stack is not None and row.whole_stack.ratio <= 1:
        warnings.append("the saving in php-fpm is spent elsewhere: php-fpm + nginx + database together cost no less per request")
    idle = [f"{proof.knob}={proof.value}" for proof in row.proofs if proof.same_as_control]
    if idle and row.kind != "invalid":
        warnings.append(f"the control has the same value already, so this part changes nothing: {', '.join(idle)}")
    if row.changed and not row.proofs and row.kind != "invalid" and row.blocks:
        warnings.append("no proof of effect was recorded: the settings may not have been at work")
    return tuple(warnings)


def _arm_cost(costs: list[Cost]) -> ArmCost | None:
    requests = sum(cost.requests for cost in costs)
    if requests == 0:
        return None

    def per_request(total_ns: int) -> float:
        return total_ns / requests / _NS_PER_MS

    return ArmCost(
        requests=requests,
        php_cpu_ms_per_request=per_request(sum(cost.php_cpu_ns for cost in costs)),
        nginx_cpu_ms_per_request=per_request(sum(cost.web_cpu_ns for cost in costs)),
        database_cpu_ms_per_request=per_request(sum(cost.database_cpu_ns for cost in costs)),
        host_cpu_ms_per_request=per_request(sum(cost.host_cpu_ns for cost in costs)),
        service_p50_ms=statistics.median(cost.service_p50_ns for cost in costs) / _NS_PER_MS,
        service_p99_ms=statistics.median(cost.service_p99_ns for cost in costs) / _NS_PER_MS,
    )


def _whole_stack(observations: list[Observation], alpha: float) -> Ratio | None:
    """The block's comparison repeated for all components of the arm; None while its interval is infinite."""
    costs = [(_stack_cost(each.control), _stack_cost(each.treated)) for each in observations]
    if not costs or not all(control > 0 and treated > 0 for control, treated in costs):
        return None
    interval = confidence_sequence((math.log(control / treated) for control, treated in costs), alpha)
    if interval.low is None or interval.high is None or interval.high > 700 or interval.low < -700:
        return None
    return Ratio(math.exp(interval.mean), math.exp(interval.low), math.exp(interval.high))


def _stack_cost(cost: Cost) -> float:
    return (cost.php_cpu_ns + cost.web_cpu_ns + cost.database_cpu_ns) / cost.requests if cost.requests else 0.0
