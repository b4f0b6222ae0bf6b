"""Measures one plan on one bench: its panels in turn, until every treatment has a verdict or the
budget is spent."""

import contextlib
from pathlib import Path

from phpdyno.errors import BudgetTooSmall, DynoError
from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.loaded_answers import LoadedAnswers
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters
from phpdyno.experiment.common.stage import LiveInstance, Stage
from phpdyno.experiment.comparison.findings import Findings
from phpdyno.experiment.comparison.logbook import Logbook
from phpdyno.experiment.comparison.panel import PanelRunner
from phpdyno.experiment.comparison.state import RunState
from phpdyno.host.cores import on_cores
from phpdyno.journal.records import Calibrated, Spent
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.plan import Panel
from phpdyno.servers.bench import Bench


class Runner:
    """The only measuring loop; all of it is journaled."""

    def __init__(
        self,
        state: RunState,
        bench: Stage,
        shared: SharedMeters,
        journal: JournalWriter,
        *,
        run: Path,
        progress: Progress,
        answer_check: AnswerCheck | None = None,
    ) -> None:
        """`answer_check` may have learnt the control's answers already."""
        self.state = state
        self.bench = bench
        self.log = Logbook(state, journal, progress)
        self.findings = Findings(self.log, bench.database, run / "logs")
        self.answer_check = answer_check or AnswerCheck(state.plan.workload)
        self._loaded = LoadedAnswers(self.answer_check)
        self._panels = [self._panel(panel, shared, run) for panel in state.plan.panels()]

    def _panel(self, panel: Panel, shared: SharedMeters, run: Path) -> PanelRunner:
        plan = self.state.plan

        def driven(instance: LiveInstance) -> DrivenInstance:
            return driven_instance(
                instance,
                self.bench,
                panel,
                workload=plan.workload,
                transport=plan.transport,
                lengths=self.answer_check.lengths_of(instance.arm.name),
                patterns=self.answer_check.patterns_for(instance.arm.name),
                answers=self._loaded,
                keep_conn=plan.keep_conn,
                threads=calibrated.threads if (calibrated := self.state.calibrated.get(panel.metric)) else 1,
            )

        return PanelRunner(
            panel,
            log=self.log,
            findings=self.findings,
            bench=self.bench,
            shared=shared,
            run=run,
            answer_check=self.answer_check,
            loaded=self._loaded,
            driven=driven,
        )

    def calibrate(self) -> None:
        """Measure what the plan of the blocks rests on."""
        with on_cores(self.bench.cores.helpers):
            for panel in self._panels:
                panel.calibrate()

    def _give_room(self) -> None:
        """Give nginx as many processes as the calibrations have found that it needs; an arm that
        names their number has its own."""
        workers = max((each.nginx_workers for each in self.state.calibrated.values()), default=1)
        if isinstance(self.bench, Bench):
            self.bench.nginx_workers = workers

    def forecast(self, effect: float, budget_s: float) -> Calibrated | None:
        """The blocks of the first panel that find `effect` (a fraction) soonest within a budget;
        None before it is calibrated."""
        planner = self._panels[0].planner
        return planner.forecast(planner.found, effect, budget_s) if planner.found else None

    def measure(self) -> None:
        """Calibrate all panels, say what can be decided, then blocks until every treatment has a
        verdict or the budget is spent.

        What is open then is concluded as it stands.
        """
        try:
            self.calibrate()
            with on_cores(self.bench.cores.helpers):
                self._plan()
                self._give_room()
                while going := [panel for panel in self._panels if panel.open_treatments() and panel.fits()]:
                    min(going, key=lambda panel: panel.spent_s / panel.planner.share).wave()
        finally:
            self._note_spent()
        reason = self._why_it_ends()
        for name in self.state.open_treatments():
            self.findings.conclude(name, reason=reason)

    def _plan(self) -> None:
        """Plan the blocks of all panels. Where several refuse, the one that asks for most speaks:
        with less the other would refuse next."""
        refused = []
        for panel in self._panels:
            try:
                panel.planner.plan()
            except BudgetTooSmall as refusal:
                refused.append(refusal)
        if refused:
            raise max(refused, key=lambda refusal: refusal.enough_s)

    def _why_it_ends(self) -> str:
        plan = self.state.plan
        if plan.trial:
            return "it was tried, not measured"
        if plan.fixed and all(panel.turn >= plan.fixed.blocks for panel in self._panels):
            return "all planned blocks were measured"
        return "the budget is spent"

    def _note_spent(self) -> None:
        """Note what was spent, for a resumed session. Where even this cannot be written (a full
        disk) the fault that is under way says so."""
        with contextlib.suppress(DynoError):
            self.log.record(Spent(self.log.spent_s()))
