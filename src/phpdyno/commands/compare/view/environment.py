"""Where a comparison was measured, and what was decided beforehand."""

from phpdyno.commands.compare.view.gather import GatheredRecords
from phpdyno.model.plan import UNIT, Plan, Settle
from phpdyno.report.scope import where_measured
from phpdyno.report.view_parts import EnvironmentRow
from phpdyno.report.words import duration, metric_words, percent

UNTIL: dict[Settle, str] = {
    "relevance": "",
    "direction": ", measured until the direction is settled",
    "never": ", measured until the budget is spent",
}


def environment(gathered: GatheredRecords) -> tuple[EnvironmentRow, ...]:
    """Machine, servers, builds and what was fixed beforehand, one fact each."""
    plan = gathered.plan
    return (*where_measured(gathered.host, (plan.control, *plan.treatments)), EnvironmentRow("decided beforehand", _decided(plan)))


def _decided(plan: Plan) -> str:
    margins = dict.fromkeys(
        f"±{percent(plan.margin_of(arm.name))} of {metric_words(plan.metric_of(arm.name), UNIT[plan.transport])}" for arm in plan.treatments
    )
    margin = f"margin {' and '.join(margins)}, " if margins else ""
    return f"{margin}confidence {percent(plan.confidence)}, budget {duration(plan.budget_s)}, seed {plan.seed}{UNTIL[plan.settle]}"
