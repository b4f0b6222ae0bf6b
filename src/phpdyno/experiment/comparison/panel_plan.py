"""What a panel's blocks are: planned from a calibration, within its part of the budget."""

import math
from typing import NoReturn

from msgspec.structs import replace

from phpdyno.errors import BudgetTooSmall
from phpdyno.experiment.common.limits.threads import nginx_workers_for, threads_for
from phpdyno.experiment.common.slot import SharedMeters
from phpdyno.experiment.common.stage import Stage
from phpdyno.experiment.comparison.budget import SPARE, Demand, enough_s, least_s, most_requests, planned_s
from phpdyno.experiment.comparison.calibration import Calibration, Calibrator
from phpdyno.experiment.comparison.instance_set import InstanceSet, InstanceSetStart
from phpdyno.experiment.comparison.judging.room import RoomBesidePhp
from phpdyno.experiment.comparison.logbook import Logbook
from phpdyno.experiment.comparison.planning import PanelGoal, fixed_plan, make_plan
from phpdyno.journal.records import Calibrated
from phpdyno.model.plan import Panel
from phpdyno.stats.comparison.sequence import least_blocks

DEFAULT_MARGIN = 0.01
"""Blocks are planned for this effect where the margin is 0 (an A/A that is to run to its end)."""


class PanelPlanner:
    """Calibrates one panel and plans its blocks; refuses a budget in which nothing can be
    decided."""

    def __init__(self, panel: Panel, log: Logbook, starter: InstanceSetStart, shared: SharedMeters, stage: Stage) -> None:
        self.found: Calibration | None = None
        self._panel = panel
        self._log = log
        self._starter = starter
        self._shared = shared
        self._stage = stage
        self._demand: Demand | None = None

    @property
    def share(self) -> float:
        """The panel's part of the budget: that of its open treatments among all open ones."""
        state = self._log.state
        return len(state.open_treatments(self._panel)) / max(1, len(state.open_treatments()))

    @property
    def calibrated(self) -> Calibrated | None:
        """The plan, once there is one."""
        return self._log.state.calibrated.get(self._panel.metric)

    def calibrate(self, instance_set: InstanceSet, up_s: float) -> None:
        """Measure what the plan rests on; `found` stays None where it does not fit by a first look
        at what starts and requests take: another instance set has the last word. Raises
        BudgetTooSmall where that says the same."""
        plan, arms = self._log.plan, len(instance_set.driven_instances)
        first = self._demand is None
        demand = Demand(
            metric=self._panel.metric,
            concurrency=self._panel.concurrency,
            alpha=plan.alpha,
            control=self._panel.control.name,
            request_wall_ns={name: instance_set.warm[name].request_wall_ns for name in instance_set.driven_instances},
            up_s=up_s / arms,
            warm_s=instance_set.took_s / arms,
            overhead_s=up_s + instance_set.took_s,
            slot_requests=plan.slot_requests,
            least_slot_ns=instance_set.control.driver.least_slot_ns,
        )
        self._demand = demand = demand if self._demand is None else demand.at_best(self._demand)
        budget_s, left_s = self.share * plan.budget_s, self.share * self._log.left_s()
        if least_s(demand, budget_s) > left_s and not plan.trial:
            if first:
                # One reading: a start or a request that a busy host held up.
                return
            self._refuse("not even the fewest and shortest blocks fit", demand, self._log.spent_s())
        blocks, most = demand.aa_blocks(budget_s), most_requests(demand, budget_s, left_s)
        self.found = Calibrator(
            starter=self._starter,
            shared=self._shared,
            stage=self._stage,
            budget_s=budget_s,
            aa_blocks=blocks,
            up_s=up_s,
            most_requests=most,
        ).calibrate(instance_set)

    def _refuse(self, why: str, demand: Demand, spent_s: float, *, needed_s: float = 0.0) -> NoReturn:
        """`needed_s`: what this run would have needed; more than is enough where something held its
        calibration up."""
        enough = max(enough_s(demand, spent_s=spent_s, share=self.share), math.ceil(SPARE * needed_s))
        raise BudgetTooSmall(f"this budget can decide nothing: {why}", budget_s=self._log.plan.budget_s, enough_s=enough)

    def plan(self) -> None:
        """Plan the blocks, journal and tell it. Raises BudgetTooSmall where nothing can be decided
        in what is left."""
        found, log = self.found, self._log
        if self.calibrated or not log.state.open_treatments(self._panel):
            return
        if log.plan.fixed:
            log.record(fixed_plan(log.plan.fixed, self._panel))
            return
        if found is None or self._demand is None:
            return
        margin = log.plan.margin_of(self._panel.treatments[0].name)
        plan = self.forecast(found, margin or DEFAULT_MARGIN, log.left_s(), self.share)
        least = least_blocks(log.plan.alpha, plan.mixture)
        if plan.blocks < least and not log.plan.trial:
            log.note(plan.note)
            known = replace(self._demand, request_wall_ns=found.request_wall_ns, overhead_s=found.timing.overhead_s)
            why = f"{plan.blocks} blocks fit, and no interval is finite before {least}"
            needed_s = log.spent_s() + planned_s(plan, least, share=self.share)
            self._refuse(why, known, log.spent_s() - found.took_s, needed_s=needed_s)
        plan = self._with_room(plan, found)
        log.record(plan)
        if not log.plan.trial:
            log.note(plan.note)

    def _with_room(self, plan: Calibrated, found: Calibration) -> Calibrated:
        """The plan with more threads of the generator, or processes of nginx, where the calibration
        saw one of them full and there are cores for more."""
        slots = [(cost, each.steal_fraction) for each in found.aa for cost in (each.control, each.treated)]
        room = RoomBesidePhp(self._log.plan, self._log.state.host, None)
        load = room.load(self._panel.control, slots) if self._panel.metric == "throughput" else None
        if load is None:
            return plan
        more = replace(plan, threads=threads_for([load]), nginx_workers=nginx_workers_for(load))
        if more.threads > 1:
            self._log.note(f"the generator's thread was full in the calibration: it drives on {more.threads} from here on")
        if more.nginx_workers > 1:
            self._log.note(f"nginx's process was full in the calibration: there are {more.nginx_workers} from here on")
        return more

    def forecast(self, found: Calibration, effect: float, budget_s: float, share: float = 1.0) -> Calibrated:
        """The blocks that find `effect` (a fraction) soonest within a budget, of which the panel
        gets `share`."""
        plan, panel = self._log.plan, self._panel
        return make_plan(
            PanelGoal(
                metric=panel.metric,
                effect=math.log1p(effect),
                alpha=plan.alpha,
                budget_s=budget_s,
                concurrency=panel.concurrency,
                share=share,
            ),
            slot=found.slot,
            request_wall_ns=found.request_wall_ns,
            control=panel.control.name,
            control_cpu_ns=found.control_cpu_ns,
            aa=found.aa,
            timing=found.timing,
            took_s=found.took_s,
        )
