"""The proof in the app's own context: is what a treatment changes of php.ini at work in requests of
the app, where its directories and its code have a say?"""

from collections.abc import Mapping, Sequence

from phpdyno.experiment.common.in_app import PREPENDED, asked_in_app, look_in_app
from phpdyno.experiment.common.stage import LiveInstance
from phpdyno.experiment.common.warm_up import Warm
from phpdyno.experiment.comparison.findings import Findings
from phpdyno.experiment.comparison.instance_set import InstanceSet
from phpdyno.experiment.comparison.logbook import Logbook
from phpdyno.journal.records import Proved
from phpdyno.knobs.in_app import judged_in_app
from phpdyno.knobs.judge import not_effective
from phpdyno.model.inside.in_app import SeenInRequest
from phpdyno.servers.instance import Instance


class InAppProof:
    """Made once for each treatment, on instances that nothing is measured on any more."""

    def __init__(self, log: Logbook, findings: Findings) -> None:
        self._log = log
        self._findings = findings
        self._done: set[str] = set()

    def prove(self, instance_set: InstanceSet) -> None:
        """Ask for each treatment of the set that was not asked yet. One whose changes are not at
        work is concluded invalid."""
        control = instance_set.control.instance
        waiting = {name: driven.instance for name, driven in instance_set.treatments.items() if self._waits(driven.instance)}
        if not waiting:
            return
        self._done.update(waiting)
        self._log.phase("looking at the settings in the app's own requests")
        names = sorted({name for each in waiting.values() for name in asked_in_app(each.arm.changed)})
        seen = {each.arm.name: self._seen(each, names, instance_set.warm) for each in (control, *waiting.values())}
        for name, instance in waiting.items():
            facts = instance_set.warm[name].facts
            outcomes = self._log.state.proofs.get(name, ())
            judged = judged_in_app(outcomes, facts.ini, seen[control.arm.name], seen[name])
            if judged != outcomes:
                self._log.record(Proved(name, facts, judged))
            if idle := not_effective(judged):
                self._findings.invalidate(instance.arm, idle)

    def _waits(self, instance: LiveInstance) -> bool:
        name = instance.arm.name
        is_open = name not in self._log.state.verdicts and name not in self._done
        return is_open and isinstance(instance, Instance) and bool(asked_in_app(instance.arm.changed))

    def _seen(self, instance: LiveInstance, names: Sequence[str], warm: Mapping[str, Warm]) -> tuple[SeenInRequest, ...]:
        return look_in_app(instance, self._log.plan.workload, names, warm[instance.arm.name].facts.ini.get(PREPENDED, ""))
