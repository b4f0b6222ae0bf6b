"""Effects and verdicts."""

from typing import Literal

from msgspec import Struct

from phpdyno.model.plan import Metric

VerdictKind = Literal["improved", "regressed", "equivalent", "inconclusive", "invalid"]
Relevance = Literal["relevant", "not relevant", "relevance open", "spent elsewhere", ""]


class Effect(Struct, frozen=True):
    """A ratio of costs control / treatment (above 1: the treatment is cheaper) with its
    anytime-valid interval.

    `low` and `high` are None while the interval is infinite (too few blocks). `confidence` is 1 -
    alpha of this one interval; `sigma` the standard deviation of the blocks' log ratios;
    `clipped_ratio` the sensitivity check.
    """

    ratio: float
    low: float | None
    high: float | None
    blocks: int
    confidence: float
    sigma: float
    clipped_ratio: float


class ProofOutcome(Struct, frozen=True):
    """Whether one changed setting was seen at work in the running worker, and what was read.

    `same_as_control`: it is at work, but the control has the same value, so it changes nothing.
    """

    knob: str
    value: str
    proved: bool
    detail: str
    same_as_control: bool = False


class Verdict(Struct, frozen=True):
    """What can be said of one treatment.

    `improved` / `regressed`: the interval lies outside 1. `equivalent`: it lies inside the margin
    and holds 1. `inconclusive`: the budget ended first. `invalid`: no number may be given (`reason`
    says why). `relevance` compares the interval with the margin; `spent elsewhere`: PHP's CPU has
    improved, and that of the whole stack is certain to have grown, so nothing is gained. `metric`
    was fixed beforehand.
    """

    treatment: str
    kind: VerdictKind
    relevance: Relevance = ""
    effect: Effect | None = None
    proofs: tuple[ProofOutcome, ...] = ()
    reason: str = ""
    warnings: tuple[str, ...] = ()
    metric: Metric = "cpu"
