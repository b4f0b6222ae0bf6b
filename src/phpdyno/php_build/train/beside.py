"""An arm beside the control that says what is right: started with it, and used only once it answers
as the control does."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.model.arm import Arm
from phpdyno.model.facts import WorkerFacts
from phpdyno.model.plan import Panel
from phpdyno.model.workload import Workload
from phpdyno.servers.bench import Bench
from phpdyno.servers.instance import Instance


class WrongAnswer(DynoError):  # noqa: N818 (it names the finding)
    """An arm does not answer as the control does."""


class StartedTogether(Struct, frozen=True):
    """The driven instance of a running control, the driven instance of an arm beside it, and that
    arm's instance."""

    control: DrivenInstance
    driven: DrivenInstance
    other: Instance


class Beside:
    """Starts arms on one stage beside the control."""

    def __init__(self, bench: Bench, control: Arm, workload: Workload) -> None:
        self._bench = bench
        self._control = control
        self._workload = workload
        self._answer_check = AnswerCheck(workload)

    def look_at(self, arm: Arm) -> tuple[WorkerFacts, WorkerFacts]:
        """Facts of a worker of an arm that answers rightly, and of the control's. Raises
        WrongAnswer, ArmFailed."""
        with self.running(arm) as together:
            return together.other.read_facts(()), together.control.instance.read_facts(())

    def look_into(self, arm: Arm) -> tuple[WorkerFacts, tuple[str, ...]]:
        """Facts of a worker of an arm that has answered everything, and the scripts that it has
        cached then, relative to the app's root. Raises WrongAnswer, ArmFailed."""
        with self.running(arm) as together:
            app = together.other.app
            return together.other.read_facts(()), together.other.read_scripts(app.real_root)

    @contextmanager
    def running(self, arm: Arm) -> Iterator[StartedTogether]:
        """Both, once the arm has answered every target as the control does. Raises WrongAnswer,
        ArmFailed."""
        with self._bench.running([self._control, arm]) as (known, other), ExitStack() as closing:
            together = StartedTogether(self._driven(known, closing), self._driven(other, closing), other)
            if not self._answer_check.learnt:
                self._answer_check.learn(together.control)
            self.check(together)
            yield together

    def check(self, together: StartedTogether) -> None:
        """Ask for every target again. Raises WrongAnswer."""
        driven = together.driven
        given = [driven.driver.fetch(index) for index in range(len(self._workload.targets))]
        found = self._answer_check.check(driven, together.control, given, at_once=False)
        # What differs once may be any page's banner; of what was just made it is not believed.
        once = self._answer_check.passing()
        if once or not found.equal:
            raise _wrong(together, found.detail if not found.equal else once[0])

    def ask(self, together: StartedTogether, index: int) -> str:
        """Ask for one target; '' for the answer that the control gives, or what a page that is one
        of the app's had otherwise this once. Raises WrongAnswer, ArmFailed."""
        found = self._answer_check.differing(together.driven, together.control, index)
        if found is not None and found.lasting:
            raise _wrong(together, f"{self._workload.targets[index].label}: {found.what}")
        return found.what if found else ""

    def _driven(self, instance: Instance, closing: ExitStack) -> DrivenInstance:
        # Each answer is looked at whole, its length included.
        panel = Panel("cpu", instance.arm, (), 1)
        driven = driven_instance(instance, self._bench, panel, workload=self._workload, transport=self._bench.transport, lengths={})
        closing.callback(driven.driver.close)
        return driven


def _wrong(together: StartedTogether, what: str) -> WrongAnswer:
    return WrongAnswer(f"it does not answer as the control does: {what}", where=together.other.arm.name)
