"""The verdict on one treatment: what its blocks, its answers and what ran beside PHP say together.

The runner records it; a report of a run that was cut short asks for the same. Pure.
"""

from collections.abc import Sequence

from msgspec import Struct, structs

from phpdyno.experiment.comparison.judging.room import RoomBesidePhp
from phpdyno.journal.records import Calibrated
from phpdyno.knobs.busy_loop import hidden_by_a_busy_loop, hidden_words
from phpdyno.knobs.judge import risks_of
from phpdyno.model.answered import AnswerCount
from phpdyno.model.arm import Arm
from phpdyno.model.facts import HostFacts, WorkerFacts
from phpdyno.model.observation import Observation
from phpdyno.model.plan import Plan
from phpdyno.model.verdict import ProofOutcome, Verdict
from phpdyno.stats.comparison.conclusion import conclude
from phpdyno.stats.comparison.wrong_answers import Blame, blame, held_to_answers


class TreatmentEvidence(Struct, frozen=True):
    """All that the verdict on the treatment `arm` rests on.

    `observations` are in the order of time, those of other treatments and excluded ones too.
    `calibrated` is the calibration of the treatment's metric; `facts` are what a worker of its
    control showed; `control` and `treated` count what both answered under load.
    """

    plan: Plan
    arm: Arm
    observations: Sequence[Observation]
    host: HostFacts | None = None
    calibrated: Calibrated | None = None
    proofs: tuple[ProofOutcome, ...] = ()
    facts: WorkerFacts | None = None
    control: AnswerCount = AnswerCount()
    treated: AnswerCount = AnswerCount()

    @property
    def blame(self) -> Blame:
        """Whether wrong answers are held against the treatment."""
        return blame(self.control, self.treated)

    def verdict(self, reason: str = "") -> Verdict:
        """What the blocks say so far; `reason` is why it is asked for."""
        plan, name = self.plan, self.arm.name
        found = conclude(
            name,
            self.observations,
            alpha=plan.alpha,
            margin=plan.margin_of(name),
            mixture=self.calibrated.mixture if self.calibrated else None,
            metric=plan.metric_of(name),
            reason=reason,
            proofs=self.proofs,
        )
        counted = [seen for seen in self.observations if seen.treatment == name and not seen.excluded]
        found = RoomBesidePhp(plan, self.host, self.calibrated).held_to(found, self.arm, counted)
        return held_to_answers(found, self.control, self.treated)

    def final(self, reason: str = "") -> Verdict:
        """The verdict as it is recorded: that nothing is seen of what a busy loop hides is no
        finding, and what is better is told with its risks."""
        found = self.verdict(reason)
        if found.kind == "equivalent" and (hidden := hidden_words(self.hidden())):
            return structs.replace(found, kind="inconclusive", reason=hidden)
        if found.kind == "improved":
            return structs.replace(found, warnings=(*found.warnings, *risks_of(self.arm.changed)))
        return found

    def hidden(self) -> dict[str, str]:
        """Why a busy loop does not show what a setting of the treatment does, by setting."""
        return hidden_by_a_busy_loop(self.arm.changed, self.facts.ini if self.facts else {})
