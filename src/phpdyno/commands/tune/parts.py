"""The comparisons of one tune: each has a folder and a journal of its own, and one that was
measured before is read instead."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from phpdyno import __version__
from phpdyno.errors import DynoError
from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.experiment.common.clock import BudgetClock
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.comparison.runner import Runner
from phpdyno.experiment.comparison.state import RunState
from phpdyno.journal.reader import FILE, drop_cut_off_line, read_journal
from phpdyno.journal.records import IN_A_PAGE, REMARK, SCHEMA, Ended, Header, Incident, Planned, ReachedFor, Record
from phpdyno.journal.tune import TunePart
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Plan
from phpdyno.model.workload import Workload
from phpdyno.servers.instance import Instance
from phpdyno.session.ending import last_line
from phpdyno.session.environment import Environment
from phpdyno.session.reach_pass import look_before


class TuneChanged(DynoError):  # noqa: N818 (it names what is the matter)
    """What is tried or asked now may not stand beside what was measured before."""

    def __init__(self, what: str, *, where: str = "") -> None:
        super().__init__(what, where=where, next_step="start a new one")


class Parts:
    """Measures plans in one environment. What the control answers is learnt once for all of
    them."""

    def __init__(
        self, run: Path, environment: Environment, answer_check: AnswerCheck, *, argv: Sequence[str], clock: BudgetClock, progress: Progress
    ) -> None:
        self.taken: list[TunePart] = []
        self._run = run
        self._environment = environment
        self._answer_check = answer_check
        self._argv = tuple(argv)
        self._clock = clock
        self._progress = progress

    def begun(self, name: str) -> bool:
        """Whether a part of this name has a plan: then it is the one that counts, however much time
        is left by now."""
        return any(isinstance(record, Planned) for record in records_of_part(self._run / name))

    def ahead(self) -> bool:
        """Whether an earlier session began a part that this one has not come to yet."""
        taken = {each.name for each in self.taken}
        return any(path.parent.name not in taken and self.begun(path.parent.name) for path in self._run.glob(f"*/{FILE}"))

    def measure(self, name: str, make: Callable[[], Plan], *, some: bool = False) -> RunState:
        """The finished state of a part; `make` gives its plan. Where it was begun before, the plan
        of then counts, if it asks and tries the same; `some`: as many of these treatments as there
        was time for. Raises DynoError, Changed, KeyboardInterrupt.
        """
        place = self._run / name
        records = records_of_part(place)
        if any(isinstance(record, Planned) for record in records):
            state = RunState.replay(records)
            refuse_other_plan(state.plan, make(), where=str(place), some=some)
        else:
            state = self._begin(place, make())
        if state.open_treatments():
            self._go_on(state, name)
        self.taken.append(TunePart(name, state.spent_s, len({seen.block for seen in state.observations})))
        return state

    def remarks(self, name: str) -> tuple[str, ...]:
        """What the answers of a part showed, each once: messages of PHP, targets with one
        answer."""
        records = records_of_part(self._run / name)
        return tuple(dict.fromkeys(each.detail for each in records if isinstance(each, Incident) and each.kind in {REMARK, IN_A_PAGE}))

    def look_before(self, arm: Arm, workload: Workload) -> ReachedFor | None:
        """What an arm reaches for, told to the onlooker; None where nobody looks. Never a
        failure."""
        return look_before(self._environment.stage, arm, workload, progress=self._progress)

    def loaded_scripts(self, arm: Arm, plan: Plan) -> tuple[str, ...]:
        """Scripts of the app that an arm has cached once every target was asked for, relative to
        the app's root. Raises DynoError."""
        stage = self._environment.stage
        self._progress.phase("looking which scripts the app loads")
        instances = stage.start([arm])
        try:
            (instance,) = instances
            if not isinstance(instance, Instance):
                return ()
            (panel,) = plan.panels()
            driven = driven_instance(
                instance, stage, panel, workload=plan.workload, transport=plan.transport, lengths=self._answer_check.lengths
            )
            for target in range(len(plan.workload.targets)):
                driven.driver.fetch(target)
            return instance.read_scripts(instance.app.real_root)
        finally:
            stage.stop(instances)

    def _begin(self, place: Path, plan: Plan) -> RunState:
        # What broke off before it had a plan holds nothing.
        (place / FILE).unlink(missing_ok=True)
        (place / "logs").mkdir(parents=True, exist_ok=True)
        with JournalWriter(place / FILE) as journal:
            journal.append(Header(SCHEMA, __version__, "tune", time.strftime("%Y-%m-%dT%H:%M:%S%z"), self._argv))
            journal.append(Planned(plan))
        return RunState(plan)

    def _go_on(self, state: RunState, name: str) -> None:
        place, environment = self._run / name, self._environment
        dropped = drop_cut_off_line(place / FILE)
        start = time.monotonic()
        with (
            JournalWriter(place / FILE) as journal,
            last_line(journal, lambda outcome, detail: Ended(outcome, detail, time.monotonic() - start)),
        ):
            if state.host is not None:
                journal.append(Incident(state.next_block, "", "resumed", "an unfinished last line was dropped" if dropped else "whole"))
            journal.append(environment.preflight)
            progress = PartProgress(self._progress, name, self._clock)
            Runner(
                state, environment.stage, environment.meters, journal, run=place, progress=progress, answer_check=self._answer_check
            ).measure()
        broken = [each for each in state.plan.treatments if each.name not in state.verdicts]
        if broken:
            raise DynoError("a comparison ended without a verdict", where=str(place))


def refuse_other_plan(begun: Plan, now: Plan, *, where: str, some: bool = False) -> None:
    """Budgets and blocks follow the clock; requests and arms are those that a part began with
    (`some`: it began with a part of these treatments). Raises Changed."""
    by_name = {arm.name: arm for arm in now.treatments}
    treatments = tuple(by_name.get(arm.name) for arm in begun.treatments) if some else now.treatments
    if (begun.workload, begun.control, begun.treatments) != (now.workload, now.control, treatments):
        raise TuneChanged("what is tried or asked is not what this tune began with", where=where)


def records_of_part(place: Path) -> list[Record]:
    """The records of a part that got as far as its plan, the second line; else none."""
    path = place / FILE
    return read_journal(path) if path.is_file() and path.read_bytes().count(b"\n") > 1 else []


def spent_in_parts(run: Path) -> float:
    """Seconds that the parts of a tune took by their journals, which know of what the tune's own
    record was not told before a hard end."""
    begun = (records_of_part(path.parent) for path in run.glob(f"*/{FILE}"))
    return sum(RunState.replay(records).spent_s for records in begun if records)


class PartProgress:
    """What a part tells, with its name; time counts over the whole tune. Its own notes are those of
    a step, not of the tune."""

    def __init__(self, inner: Progress, name: str, clock: BudgetClock) -> None:
        self._inner = inner
        self._name = name
        self._clock = clock

    def phase(self, text: str) -> None:
        """A new phase of this part began."""
        self._inner.phase(f"{self._name}: {text}")

    def note(self, text: str) -> None:
        """Left out: the tune says what its stages will decide."""

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None:
        """Time went by."""
        self._inner.tick(self._clock.spent_s(), self._clock.budget_s, "")
