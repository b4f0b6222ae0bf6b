"""How many times better one arm of a comparison is than another one. Pure."""

import math
from collections.abc import Mapping

from phpdyno.commands.compare.view.gather import GatheredRecords
from phpdyno.commands.compare.view.shape import Ratio
from phpdyno.commands.study.view.shape import ArmFigures, ComparisonFigures
from phpdyno.model.runs.study import Contrast, Study
from phpdyno.stats.comparison.sequence import contrast


def paired(study: Study, figures: ComparisonFigures, gathered: GatheredRecords, wanted: Contrast) -> Ratio | None:
    """How many times better the one treatment of a contrast is than the other, paired by block:
    both were measured beside the same instance of the control, and what that drew cancels out.

    The contrasts between two treatments of a comparison hold together with the comparison's
    confidence. None where the blocks that they share are too few for an interval, and where the
    control is one of the two: its ratio is the contrast then.
    """
    treatments = {each.arm: each for each in figures.arms if each.verdict != "control" and each.ratio is not None}
    if wanted.arm not in treatments or wanted.against not in treatments:
        return None
    among = [each for each in study.contrasts if each.arm in treatments and each.against in treatments]
    comparison = next(each for each in study.comparisons if each.name == figures.name)
    one, other = (_by_block(gathered, study.treatment_spec(comparison, name)) for name in (wanted.arm, wanted.against))
    found = contrast(one, other, (1.0 - study.confidence) / len(among), gathered.mixture(figures.metric))
    if found is None or found.low is None or found.high is None:
        return None
    return Ratio(math.exp(found.mean), math.exp(found.low), math.exp(found.high))


def _by_block(gathered: GatheredRecords, spec: str) -> Mapping[int, float]:
    seen = [each.observation for each in gathered.seen if each.observation.treatment == spec]
    return {each.block: each.log_ratio for each in seen if not each.excluded}


def quotient(one: ArmFigures, other: ArmFigures) -> Ratio | None:
    """The same from their ratios against the control, for arms that share too few blocks.

    Both intervals hold together with the comparison's confidence, so the quotient's does as well;
    it is wider than that of pairs. None while one of them is infinite.
    """
    exact = Ratio(1.0, 1.0, 1.0)
    upper = exact if one.verdict == "control" else one.ratio
    lower = exact if other.verdict == "control" else other.ratio
    if upper is None or lower is None:
        return None
    return Ratio(upper.ratio / lower.ratio, upper.low / lower.high, upper.high / lower.low)


def contrast_of(study: Study, figures: ComparisonFigures, gathered: GatheredRecords | None, wanted: Contrast) -> Ratio | None:
    """A contrast within one comparison that has both arms."""
    arms = {each.arm: each for each in figures.arms}
    found = paired(study, figures, gathered, wanted) if gathered else None
    return found or quotient(arms[wanted.arm], arms[wanted.against])
