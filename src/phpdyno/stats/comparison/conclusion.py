"""A treatment's verdict from its observations: what the runner writes, and what a report computes
for a run that was cut short."""

import math
from collections.abc import Sequence

from phpdyno.model.observation import Observation
from phpdyno.model.plan import Metric
from phpdyno.model.verdict import ProofOutcome, Verdict
from phpdyno.stats.comparison.autocorrelation import lag_one
from phpdyno.stats.comparison.judge import effect_of, judge, margin_log
from phpdyno.stats.comparison.sequence import MIXTURE, confidence_sequence
from phpdyno.stats.comparison.whole_stack import costs_more


def conclude(
    treatment: str,
    observations: Sequence[Observation],
    *,
    alpha: float,
    margin: float,
    mixture: float | None = None,
    metric: Metric = "cpu",
    reason: str = "",
    proofs: tuple[ProofOutcome, ...] = (),
    warnings: tuple[str, ...] = (),
) -> Verdict:
    """Verdict over the observations of `treatment` that count, in the order given (the order of
    time, for the autocorrelation).

    Excluded observations and other treatments' are left out; without any block: inconclusive and no
    effect. `mixture` is the g of the confidence sequence (None: the default). A saving of CPU for
    which the whole stack pays more is not relevant but `spent elsewhere`. Its own warnings
    (clipping, correlated blocks) are added to `warnings`. Raises ValueError as `effect_of` and
    `judge` do.
    """
    counted = [seen for seen in observations if seen.treatment == treatment and not seen.excluded]
    if not counted:
        return Verdict(treatment, "inconclusive", reason=reason, proofs=proofs, warnings=warnings, metric=metric)

    g = MIXTURE if mixture is None else mixture
    values = [seen.log_ratio for seen in counted]
    clipped = [seen.clipped_log_ratio for seen in counted]
    kind, relevance = judge(confidence_sequence(values, alpha, g), margin)
    if metric == "cpu" and kind == "improved" and costs_more(counted, alpha, g):
        relevance = "spent elsewhere"
    return Verdict(
        treatment=treatment,
        kind=kind,
        relevance=relevance,
        effect=effect_of(values, clipped, alpha, g),
        proofs=proofs,
        reason=reason,
        warnings=(*warnings, *sensitivity_warnings(values, clipped, margin)),
        metric=metric,
    )


def sensitivity_warnings(values: Sequence[float], clipped: Sequence[float], margin: float) -> tuple[str, ...]:
    """What casts doubt on an effect: clipping moves it by more than the margin (a margin of 0 skips
    this), or blocks resemble the next."""
    warnings = []
    shift = abs(math.fsum(clipped) / len(clipped) - math.fsum(values) / len(values))
    if margin > 0.0 and shift > margin_log(margin):
        warnings.append(
            f"clipping outlying pairs would move the effect by {100 * math.expm1(shift):.1f} %, more than the margin: "
            "rare expensive requests weigh on it; the figure given is the one without clipping"
        )
    correlation, doubtful = lag_one(values)
    if doubtful:
        warnings.append(
            f"consecutive blocks resemble each other (lag-1 autocorrelation {correlation:+.2f} over {len(values)} blocks): the interval "
            "may be too narrow; spread the blocks over more time"
        )
    return tuple(warnings)
