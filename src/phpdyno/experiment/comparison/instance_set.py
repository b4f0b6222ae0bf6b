"""An instance set: one live instance of the control and of every open treatment; brought up,
checked, warmed up and proved together."""

import contextlib
import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from phpdyno.drive.driver import Response
from phpdyno.drive.requests import LengthClass
from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.experiment.common.first_requests import make_first_requests
from phpdyno.experiment.common.loaded_answers import LoadedAnswers
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters
from phpdyno.experiment.common.stage import LiveInstance, RequestFailed
from phpdyno.experiment.common.warm_up import CAP_S, Warm, compiled_since, warm_up
from phpdyno.experiment.comparison.findings import Findings
from phpdyno.experiment.comparison.logbook import Logbook
from phpdyno.experiment.comparison.schedule import draw_order
from phpdyno.experiment.comparison.state import STILL_COMPILING
from phpdyno.host.cores import Cores
from phpdyno.journal.records import IN_A_PAGE, REMARK, Answers, AnswersUnderLoad, Proved
from phpdyno.knobs.judge import not_effective, prove
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Panel
from phpdyno.model.verdict import ProofOutcome
from phpdyno.server_files.php import most_workers
from phpdyno.servers.instance import ArmFailed

WRONG_ANSWERS = "answers were not the control's"
"""The kind of incident that says so of the answers under load."""


MOST_PATIENCE = 8
"""Times as many rounds without change as a warm-up wants at first."""


class InstanceSet(Struct, frozen=True):
    """The driven instances of one block after warm-up, what each arm's worker showed, and how long
    that took."""

    control: DrivenInstance
    treatments: dict[str, DrivenInstance]
    warm: dict[str, Warm]
    took_s: float

    @property
    def driven_instances(self) -> dict[str, DrivenInstance]:
        """All driven instances by arm."""
        return {self.control.instance.arm.name: self.control, **self.treatments}


class InstanceSetStart:
    """Brings instance sets of one panel up. A treatment that fails on the way is left out and
    concluded invalid; a failed request alone is counted as if it had happened while measuring."""

    def __init__(
        self,
        panel: Panel,
        log: Logbook,
        findings: Findings,
        shared: SharedMeters,
        *,
        answer_check: AnswerCheck,
        loaded: LoadedAnswers,
        cores: Cores,
        driven: Callable[[LiveInstance], DrivenInstance],
    ) -> None:
        self.panel = panel
        self.answer_check = answer_check
        self._loaded = loaded
        self.log = log
        self._findings = findings
        self._shared = shared
        self._cores = cores
        self._make_driven = driven
        self._journaled: set[str] = set()
        self._patience = 1
        self._told: set[tuple[str, int]] = set()

    def driven(self, instance: LiveInstance) -> DrivenInstance:
        """The driven instance of an instance under the panel's load."""
        return self._make_driven(instance)

    def bring_up(self, instances: Sequence[LiveInstance]) -> InstanceSet:
        """The first instance is the control's. Raises RequestFailed when one of its requests does,
        DynoError when it cannot be measured."""
        control, *rest = instances
        block = self.log.state.next_block
        learnt = self.answer_check.learnt
        if not learnt:
            self.log.phase("learning the control's answers")
            targets = self.answer_check.learn(self.driven(control))
            self._tell_messages(control.arm.name)
            self.log.record(Answers(control.arm.name, equal=True, detail="reference", targets=targets))
            self.log.phase("warming up")
        start = time.monotonic()
        driven = self.driven(control)
        driven_instances = {each.arm.name: self.driven(each) for each in rest if each.arm.name not in self.log.state.verdicts}
        at_once = not self.answer_check.contended
        woken = [*([driven] if learnt else []), *driven_instances.values()]
        answers = {each.instance.arm.name: given for each, given in zip(woken, self.make_first_requests(woken), strict=True)}
        warm = {control.arm.name: self.warm(driven, asked=True)}
        if control.arm.name not in self.log.state.proofs:
            self.log.record(Proved(control.arm.name, warm[control.arm.name].facts, ()))
        for name in tuple(driven_instances):
            try:
                known = self._valid(control.arm.name, name)
                self._check_answers(driven_instances[name], driven, answers[name], at_once=at_once)
                if self._valid(control.arm.name, name) != known:
                    # The mask has learnt more, or the arm compresses: what counts as a valid answer
                    # changed for everybody.
                    driven = self.driven(control)
                    driven_instances = {held: self.driven(each.instance) for held, each in driven_instances.items()}
                warm[name] = self.warm(driven_instances[name], asked=True)
                self._prove(driven_instances[name].instance.arm, warm[control.arm.name], warm[name])
            except RequestFailed as failure:
                if failure.instance is not driven_instances[name].instance:
                    # The control is asked as well: its failure is its own.
                    raise
                driven_instances.pop(name)
                self._findings.count_failure(block, failure)
            except ArmFailed as failure:
                self._findings.invalidate(failure.arm, failure.what, block=block)
                driven_instances.pop(name, None)
        return InstanceSet(driven, driven_instances, warm, time.monotonic() - start)

    def _valid(self, *arms: str) -> tuple[int, list[dict[str, LengthClass]]]:
        """What valid answers look like: how often the mask has learnt, and the lengths by arm."""
        return self.answer_check.turns, [self.answer_check.lengths_of(arm) for arm in arms]

    def make_first_requests(self, driven_instances: Sequence[DrivenInstance]) -> list[list[Response]]:
        """The first answers of fresh instances, by driven instance and target, asked for in an
        order that is drawn. Raises RequestFailed when the control gives none."""
        at_once = not self.answer_check.contended
        order = draw_order(len(driven_instances), seed=self.log.plan.seed, block=self.log.state.next_block, stage=1)
        asked = make_first_requests(
            [driven_instances[place] for place in order], len(self.log.plan.workload.targets), self._cores, at_once=at_once
        )
        given_to = dict(zip(order, asked, strict=True))
        answers = [given_to[place] for place in range(len(driven_instances))]
        for driven, given in zip(driven_instances, answers, strict=True):
            if driven.instance.arm.name == self.panel.control.name:
                for index, response in enumerate(given):
                    self.answer_check.complete(driven, index, response, at_once=at_once)
        return answers

    def warm(self, driven: DrivenInstance, *, asked: bool = False) -> Warm:
        """Warm one instance up; `asked`: for its answers to every target, one request at a time.
        Raises ArmFailed when requests fail."""
        plan = self.log.plan
        self.log.tick()
        workers = max(self.panel.concurrency, most_workers(driven.instance.arm))
        warm = warm_up(
            driven,
            self._shared,
            metric=self.panel.metric,
            weights=[target.weight for target in plan.workload.targets],
            env_names=self._env_names(),
            workers=workers,
            served=asked and workers == 1,
            patience=self._patience,
        )
        if not warm.steady:
            self.log.incident(driven.instance.arm.name, "not steady", f"opcache or JIT still changed after {CAP_S:.0f} s of warm-up")
        return warm

    def recheck(self, instance_set: InstanceSet, block: int, turn: int, failed: Sequence[str]) -> None:
        """After the slots: every arm must still answer as the control; one target a block, all of
        them in turn."""
        for name, driven in instance_set.treatments.items():
            if name in failed or name in self.log.state.verdicts:
                continue
            try:
                differs = self.answer_check.still_differs(driven, instance_set.control, turn)
            except RequestFailed as failure:
                self._findings.require_database()
                self._findings.count_failure(block, failure)
                continue
            self._tell_passing(name, block)
            if differs:
                self._findings.invalidate(driven.instance.arm, f"it answers differently from the control after the block: {differs}")

    def _env_names(self) -> tuple[str, ...]:
        arms = self.log.plan.treatments
        return tuple(key.removeprefix("env.") for arm in arms for key in arm.settings if key.startswith("env."))

    def look_for_compiling(self, instance_set: InstanceSet, block: int) -> None:
        """After the slots: an arm that went on compiling in them was not warm. It is noted, and
        later warm-ups wait for longer."""
        for name, driven in instance_set.driven_instances.items():
            with contextlib.suppress(ArmFailed):
                found = compiled_since(instance_set.warm[name].facts, driven.instance.read_facts(self._env_names()))
                if found:
                    self.log.incident(name, STILL_COMPILING, f"{found} while it was measured", block=block)
                    self._patience = min(MOST_PATIENCE, 2 * self._patience)

    def take_answers(self, instance_set: InstanceSet, block: int) -> None:
        """Look at the answers of the slots since the last time: what every arm has answered is
        journaled, and an arm whose wrong answers cannot be the control's as well is invalid."""

        def ask(index: int) -> bool:
            return self.answer_check.ask_control(instance_set.control, index)

        counts = dict(self._loaded.settle(self.panel.control.name, ask))
        if not counts:
            return
        self.log.record(AnswersUnderLoad(block, counts))
        for name, count in counts.items():
            if count.wrong and (name, block) not in self._told:
                self._told.add((name, block))
                self.log.incident(name, WRONG_ANSWERS, f"{count.wrong:,} of {count.total:,}; first: {count.first}", block=block)
        for name, driven in instance_set.treatments.items():
            if name not in self.log.state.verdicts:
                self._findings.blame(driven.instance.arm, block=block)

    def _check_answers(self, driven: DrivenInstance, control: DrivenInstance, given: Sequence[Response], *, at_once: bool) -> None:
        known = self.answer_check.contended
        outcome = self.answer_check.check(driven, control, given, at_once=at_once)
        if self.answer_check.contended and not known:
            self.log.incident(driven.instance.arm.name, "first requests one at a time from now on", self.answer_check.contended)
        self._tell_passing(driven.instance.arm.name)
        if not outcome.equal:
            self._findings.require_database()
        name = driven.instance.arm.name
        if name not in self._journaled or not outcome.equal:
            self._journaled.add(name)
            self.log.record(Answers(name, equal=outcome.equal, detail=outcome.detail, targets=outcome.targets))
        if not outcome.equal:
            raise ArmFailed(driven.instance.arm, f"it answers differently from the control: {outcome.detail}")

    def _tell_messages(self, name: str) -> None:
        for words in self.answer_check.remarks():
            self.log.note(words)
            self.log.incident(name, REMARK, words)
        for words in self.answer_check.said_in_pages():
            self.log.note(f"{name}: {words}")
            self.log.incident(name, IN_A_PAGE, words)

    def _tell_passing(self, name: str, block: int | None = None) -> None:
        self._tell_messages(name)
        for words in self.answer_check.passing():
            self.log.incident(name, "one answer differed", words, block=block)

    def _prove(self, arm: Arm, control: Warm, warm: Warm) -> None:
        outcomes: tuple[ProofOutcome, ...] = prove(arm.changed, control.facts, warm.facts, self.panel.control.settings)
        idle = not_effective(outcomes)
        if arm.name not in self.log.state.proofs or idle:
            self.log.record(Proved(arm.name, warm.facts, outcomes))
        if idle:
            raise ArmFailed(arm, idle)
